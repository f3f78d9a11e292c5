package packages

import (
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/rpm"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
)

// dnf is the package manager of the rpm family: dnf, or yum where it goes by that name alone.
type dnf struct{ program string }

// dnfConf is a configuration of our own: the machine's repositories, plugins, variables, caches and history are not
// read. There is one repository, whose packages were verified against the bundle's sums when they came; weak
// dependencies are not taken, as for the bundle. module_hotfixes: a module of the machine's that is not enabled there
// would hide packages of the same names.
const dnfConf = `[main]
plugins=0
reposdir=/var/lib/eggo-node/dnf/repos
varsdir=/var/lib/eggo-node/dnf/vars
cachedir=/var/lib/eggo-node/dnf/cache
persistdir=/var/lib/eggo-node/dnf/persist
logdir=/var/lib/eggo-node/dnf/log
metadata_expire=0
install_weak_deps=0
best=0
gpgcheck=0
localpkg_gpgcheck=0
keepcache=0
clean_requirements_on_remove=0
exit_on_lock=0

[eggo]
name=the bundle
baseurl=file:///var/lib/eggo-node/repo
enabled=1
gpgcheck=0
module_hotfixes=1
skip_if_unavailable=0
`

// run is the shell function dnfx. TMPDIR is ours: /tmp may be noexec.
func (d dnf) run() string {
	return "export LC_ALL=C TMPDIR=" + node.Dir + "/dnf/tmp\ndnfx() { " + d.program + " --config " + node.Dir +
		"/dnf/dnf.conf --releasever=eggo \"$@\"; }\n"
}

func (dnf) kind() bundle.Kind { return bundle.RPM }

func (dnf) metadata(m *bundle.Manifest) []bundle.Member {
	var out []bundle.Member
	for _, x := range m.Members {
		if x.Kind == bundle.Metadata && strings.HasPrefix(m.Rel(x), "repodata/") {
			out = append(out, x)
		}
	}
	return out
}

func (dnf) setup() string {
	return "mkdir -p $D/repo/repodata $D/dnf/repos $D/dnf/vars $D/dnf/log $D/dnf/tmp\ncat >$D/dnf/dnf.conf <<'EOF'\n" +
		dnfConf + "EOF\n"
}

func (d dnf) refresh() string { return d.run() + "dnfx makecache\n" }

func (dnf) fresh() string { return "[ -e " + node.Dir + "/dnf/cache ]" }

// choose has dnf say what it would do and answers no. That it was asked is an end without success, which is
// distinguished from a failure.
func (d dnf) choose(names []string) string { return d.ask("install", names) }

func (d dnf) ask(verb string, names []string) string {
	return d.run() + "rc=0\nout=$(dnfx -v --assumeno " + verb + " " + shell.QuoteAll(names) + ` 2>&1) || rc=$?
printf '%s\n' "$out"
[ $rc -ne 0 ] || exit 0
case $out in *'Operation aborted'* | *'Exiting on user'*) exit 0 ;; esac # dnf's word, and yum's
printf '%s\n' "$out" | sed -n '/^Error/,$p' | grep -v '^(try' >&2
exit 1
`
}

func (dnf) parse(out string) (chosen []chosenPackage, others []string) { return parseResolution(out) }

func (dnf) fix() string { return node.RPM + "fixrpm\n" }

// install offers dnf nothing but what was chosen, so that it cannot come to another decision. What it begins with is
// written down first: a transaction that is cut off does not say so anywhere.
func (d dnf) install(names []string, chosen []chosenPackage) string {
	var only, begun []string
	for _, c := range chosen {
		only, begun = append(only, c.name), append(begun, rpmKey(c))
	}
	return node.RPM + node.Accounts + d.run() + "mkdir -p $D/dnf/log $D/dnf/tmp\nrpmlock\ncensus\nprintf '%s\\n' " +
		shell.QuoteAll(begun) + " >$D/dnf/begun\nsync $D/dnf/begun 2>/dev/null || sync\n" +
		"dnfx -y --setopt=eggo.includepkgs=" + shell.Quote(strings.Join(only, ",")) + " install " +
		shell.QuoteAll(names) + "\nnewcomers\n" +
		"rm -f $D/dnf/begun\n" + d.sweep()
}

func (dnf) installed(names []string) string {
	cond := "[ ! -e " + node.Dir + "/dnf/begun ]"
	for _, n := range names {
		q := shell.Quote(n)
		cond += " && { rpm -q --quiet " + q + " || rpm -q --quiet --whatprovides " + q + "; } >/dev/null 2>&1"
	}
	return cond
}

func (dnf) left() string {
	return "find " + repoDir + "/ " + node.Dir +
		"/dnf -name '*.rpm' -o -path '*/dnf/cache' -o -path '*/dnf/persist' -o -path '*/dnf/begun' 2>/dev/null | " +
		"head -n 1 || true"
}

func (dnf) record(c chosenPackage) node.Record {
	return node.Record{Kind: "rpm", Key: rpmKey(c), Was: "absent"}
}

// rpmKey names a package to rpm: two of one name may be there for two architectures.
func rpmKey(c chosenPackage) string { return c.name + "." + c.arch }

func (dnf) versions() string {
	return "p=$(" + ours("rpm") + ")\n[ -z \"$p\" ] || " + rpmVersions("$p")
}

func (dnf) versionsOf(names []string) string { return rpmVersions(shell.QuoteAll(names)) }

func rpmVersions(names string) string {
	return "rpm -q --qf '%{NAME} %{EPOCHNUM}:%{VERSION}-%{RELEASE}\\n' " + names + " || true\n"
}

func (dnf) compare(a, b string) int { return rpm.Compare(rpm.ParseEVR(a), rpm.ParseEVR(b)) }

func (d dnf) chooseUpgrade(names []string) string { return d.ask("upgrade", names) }

func (dnf) parseUpgrade(out string) (all []planned, others []string) { return parseTransaction(out) }

// upgrade does not write down what it begins with: fix would remove that, and a package that is there in both versions
// is left to the next upgrade.
func (d dnf) upgrade(names []string, chosen []chosenPackage) string {
	return d.replace("upgrade", names, chosen)
}

// fromFiles asks no repository beside them.
const fromFiles = "'--disablerepo=*' downgrade"

func (d dnf) chooseBack(files []string) string { return d.ask(fromFiles, files) }

func (d dnf) back(files []string, chosen []chosenPackage) string {
	return d.replace(fromFiles, files, chosen)
}

// replace has packages take the place of their other versions.
func (d dnf) replace(verb string, names []string, chosen []chosenPackage) string {
	var only []string
	for _, c := range chosen {
		only = append(only, c.name)
	}
	return node.RPM + node.Accounts + d.run() + "mkdir -p $D/dnf/log $D/dnf/tmp\nrpmlock\ncensus\n" +
		"dnfx -y --setopt=eggo.includepkgs=" + shell.Quote(strings.Join(only, ",")) + " " + verb + " " +
		shell.QuoteAll(names) + "\nnewcomers\n" + d.sweep()
}

// sweep removes what was sent.
func (dnf) sweep() string {
	return "rm -rf $D/repo/*.rpm* " + node.Together + "* $D/dnf/cache $D/dnf/persist $D/dnf/log $D/dnf/tmp/*\n"
}

// parseResolution reads what dnf -v and yum tell while they resolve: "---> Package NAME.ARCH EVR will be installed", or
// what else will become of a package: that it is upgraded, erased, obsoleted.
func parseResolution(out string) (chosen []chosenPackage, others []string) {
	for line := range strings.Lines(out) {
		c, what, ok := parsePackage(line)
		switch {
		case !ok:
		case what == "installed" && !slices.Contains(chosen, c):
			chosen = append(chosen, c)
		case what != "installed" && !slices.Contains(others, c.name):
			others = append(others, c.name)
		}
	}
	return chosen, others
}

// parsePackage reads one line of that.
func parsePackage(line string) (c chosenPackage, what string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "---> Package ")
	if !ok {
		return c, "", false
	}
	w := strings.Fields(rest)
	if len(w) < 4 || w[2] != "will" || w[3] != "be" {
		return c, "", false
	}
	dot := strings.LastIndexByte(w[0], '.')
	if dot <= 0 || dot == len(w[0])-1 {
		return c, "", false
	}
	c = chosenPackage{name: w[0][:dot], version: strings.TrimPrefix(w[1], "0:"), arch: w[0][dot+1:]}
	return c, strings.Join(w[4:], " "), true
}
