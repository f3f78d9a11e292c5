package packages

import (
	"fmt"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/deb"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
)

// apt is the package manager of Debian's family.
type apt struct{}

// aptget runs apt-get on the bundle's repository alone: the machine's own sources, lists and configuration of them are
// not read, and its own package state stays apt's. The sandbox user could not read our 0700 directory. TMPDIR is
// ours: /tmp may be noexec.
const aptget = `export DEBIAN_FRONTEND=noninteractive LC_ALL=C NEEDRESTART_MODE=l NEEDRESTART_SUSPEND=1 TMPDIR=/var/lib/eggo-node/apt/tmp
aptget() {
  apt-get -o Dir::Etc::SourceList=/var/lib/eggo-node/apt/sources.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State=/var/lib/eggo-node/apt/state -o Dir::State::status=/var/lib/dpkg/status \
    -o Dir::Cache=/var/lib/eggo-node/apt/cache -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::AllowInsecureRepositories=true -o APT::Get::AllowUnauthenticated=true \
    -o APT::Install-Recommends=false -o APT::Install-Suggests=false -o APT::Get::Upgrade=false -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 \
    -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@"
}
`

func (apt) kind() bundle.Kind { return bundle.Deb }

func (apt) metadata(m *bundle.Manifest) []bundle.Member {
	if meta, ok := m.Member(m.Layout.Place(bundle.Metadata, "Packages")); ok {
		return []bundle.Member{meta}
	}
	return nil
}

func (apt) setup() string {
	return "mkdir -p $D/repo $D/apt/state/lists/partial $D/apt/cache/archives/partial $D/apt/tmp\nprintf 'deb " +
		"[trusted=yes] file:%s ./\\n' $D/repo >$D/apt/sources.list\n"
}

func (apt) refresh() string { return aptget + "aptget update -q\n" }

func (apt) fresh() string {
	return "[ -n \"$(find " + node.Dir + "/apt/state/lists -name '*Packages')\" ]"
}

func (apt) choose(names []string) string {
	return aptget + "aptget -s install --no-remove " + shell.QuoteAll(names)
}

func (apt) parse(out string) (chosen []chosenPackage, upgrades []string) { return parseSimulation(out) }

func (apt) fix() string { return "export DEBIAN_FRONTEND=noninteractive LC_ALL=C\nfixdpkg\n" }

func (a apt) install(names []string, chosen []chosenPackage) string {
	return a.transaction("install -y --no-remove "+shell.QuoteAll(names), chosen)
}

// transaction has apt-get work on the chosen packages, and removes what was sent.
func (apt) transaction(work string, chosen []chosenPackage) string {
	var come []string
	for _, c := range chosen {
		come = append(come, c.name)
	}
	return aptget + node.Accounts + "census " + shell.QuoteAll(come) +
		"\nmkdir -p $D/apt/state/lists/partial $D/apt/cache/archives/partial $D/apt/tmp\ndpkgw --configure -a || :\n" +
		"aptget " + work + "\nnewcomers\n" +
		// An apt that was killed leaves links to what it installed among its temporary files.
		"rm -rf " + repoDir + "/*.deb* " + node.Together + "* $D/apt/cache $D/apt/state $D/apt/tmp/*\n"
}

func (apt) installed(names []string) string {
	return fmt.Sprintf("[ \"$(dpkg-query -W -f '${db:Status-Status}\\n' %s 2>/dev/null | sort | uniq -c | awk "+
		"'{print $1, $2}')\" = '%d installed' ]", shell.QuoteAll(names), len(names))
}

func (apt) left() string {
	return "find " + repoDir + "/ " + node.Dir +
		"/apt -name '*.deb' -o -path '*/apt/state' -o -path '*/apt/cache' 2>/dev/null | head -n 1 || true"
}

func (apt) record(c chosenPackage) node.Record {
	return node.Record{Kind: "package", Key: c.name, Was: "absent"}
}

func (apt) versions() string {
	return "p=$(" + ours("package") + ")\n[ -z \"$p\" ] || " + aptVersions("$p")
}

func (apt) versionsOf(names []string) string { return aptVersions(shell.QuoteAll(names)) }

func aptVersions(names string) string {
	return "dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\\n' " + names + " 2>/dev/null |\n" +
		"  sed -n 's/^installed //p'\n"
}

func (apt) compare(a, b string) int { return deb.Compare(a, b) }

// newest upgrades what is there; install alone has it stay, see aptget.
const newest = "-o APT::Get::Upgrade=true install --no-remove "

func (apt) chooseUpgrade(names []string) string {
	return aptget + "aptget -s " + newest + shell.QuoteAll(names)
}

func (apt) parseUpgrade(out string) (all []planned, others []string) { return simulation(out), nil }

func (a apt) upgrade(names []string, chosen []chosenPackage) string {
	return a.transaction("-y "+newest+shell.QuoteAll(names), chosen)
}

// returning installs files though newer versions are there; nothing leaves for them.
const returning = "-o APT::Get::Upgrade=true --allow-downgrades install --no-remove "

func (apt) chooseBack(files []string) string {
	return aptget + "mkdir -p " + node.Dir + "/apt/tmp\naptget -s " + returning + shell.QuoteAll(files)
}

func (a apt) back(files []string, chosen []chosenPackage) string {
	return a.transaction("-y "+returning+shell.QuoteAll(files), chosen)
}

// parseSimulation reads what an installation would do; what has an old version would be upgraded.
func parseSimulation(out string) (chosen []chosenPackage, upgrades []string) {
	for _, p := range simulation(out) {
		// The same version again is one whose installation was cut off and that dpkg wants to install again.
		if p.old != "" && p.old != p.version {
			upgrades = append(upgrades, p.name)
			continue
		}
		chosen = append(chosen, p.chosenPackage)
	}
	return chosen, upgrades
}

// simulation reads apt-get -s: "Inst NAME [OLD] (NEW ORIGIN [ARCH])".
func simulation(out string) (all []planned) {
	for line := range strings.Lines(out) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "Inst ")
		if !ok {
			continue
		}
		name, rest, _ := strings.Cut(rest, " ")
		old := ""
		if strings.HasPrefix(rest, "[") {
			old, rest, _ = strings.Cut(rest[1:], "] ")
		}
		inside, _, _ := strings.Cut(strings.TrimPrefix(rest, "("), ")")
		w := strings.Fields(inside)
		if len(w) == 0 {
			continue
		}
		name, _, _ = strings.Cut(name, ":")
		all = append(all, planned{chosenPackage{name: name, version: w[0], arch: strings.Trim(w[len(w)-1], "[]")}, old})
	}
	return all
}
