package packages

import (
	"fmt"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/shell"
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

func (apt) install(names []string, chosen []chosenPackage) string {
	var come []string
	for _, c := range chosen {
		come = append(come, c.name)
	}
	return aptget + node.Accounts + "census " + shell.QuoteAll(come) +
		"\nmkdir -p $D/apt/state/lists/partial $D/apt/cache/archives/partial $D/apt/tmp\ndpkgw --configure -a || :\n" +
		"aptget install -y --no-remove " + shell.QuoteAll(names) + "\nnewcomers\n" +
		// An apt that was killed leaves links to what it installed among its temporary files.
		"rm -rf " + repoDir + "/*.deb $D/apt/cache $D/apt/state $D/apt/tmp/*\n"
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

// parseSimulation reads apt-get -s: "Inst NAME [OLD] (NEW ORIGIN [ARCH])"; with an old version it would be an upgrade.
func parseSimulation(out string) (chosen []chosenPackage, upgrades []string) {
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
		// The same version again is one whose installation was cut off and that dpkg wants to install again.
		if old != "" && old != w[0] {
			upgrades = append(upgrades, name)
			continue
		}
		name, _, _ = strings.Cut(name, ":")
		chosen = append(chosen, chosenPackage{name: name, version: w[0], arch: strings.Trim(w[len(w)-1], "[]")})
	}
	return chosen, upgrades
}
