package phases

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

const repoDir = node.Dir + "/repo"

// apt runs apt-get on the bundle's repository alone: the machine's own sources, lists and configuration of them are not looked at, and
// its own package state stays apt's. The sandbox user could not read our 0700 directory. TMPDIR is ours: /tmp may be noexec.
const apt = `export DEBIAN_FRONTEND=noninteractive LC_ALL=C NEEDRESTART_MODE=l NEEDRESTART_SUSPEND=1 TMPDIR=/var/lib/eggo-node/apt/tmp
aptget() {
  apt-get -o Dir::Etc::SourceList=/var/lib/eggo-node/apt/sources.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State=/var/lib/eggo-node/apt/state -o Dir::State::status=/var/lib/dpkg/status \
    -o Dir::Cache=/var/lib/eggo-node/apt/cache -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::AllowInsecureRepositories=true -o APT::Get::AllowUnauthenticated=true \
    -o APT::Install-Recommends=false -o APT::Install-Suggests=false -o APT::Get::Upgrade=false -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 \
    -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@"
}
`

// packagesStep is what sending and installing have in common.
func (r *run) packagesStep(n config.Node, what string, needs ...string) *engine.Step {
	s := step(phaseInfra, what, n.Name, needs)
	s.Timeout = 30 * time.Minute
	s.Retry = engine.Retry{Tries: 3, Delay: 5 * time.Second, MaxDelay: 30 * time.Second}
	s.When = func(context.Context) (bool, event.Msg, error) {
		return len(r.packages(n, r.bundleOf(n).Manifest())) > 0, event.M("why.no-packages"), nil
	}
	s.Check = r.asks(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		names := r.packages(n, r.bundleOf(n).Manifest())
		out, err := nd.Query(ctx, "dpkg-query -W -f '${db:Status-Status}\\n' "+quoteAll(names)+" 2>/dev/null | sort | uniq -c | awk '{print $1, $2}' || true\n")
		return strings.TrimSpace(out) == fmt.Sprintf("%d installed", len(names)), err
	})
	return s
}

// sendPackages lets the node's own package manager choose from the bundle's metadata and sends just the packages that it chose.
func (r *run) sendPackages(n config.Node) *engine.Step {
	s := r.packagesStep(n, "send-packages", id(phaseInfra, "claim", n.Name))
	s.Lane, s.Limit = laneBulk, LimitUploads
	installed := s.Check
	s.Check = func(ctx context.Context) (bool, error) {
		if ok, err := installed(ctx); ok || err != nil {
			return ok, err
		}
		return r.packagesSent(ctx, n, r.node(n.Name))
	}
	s.Apply = r.onNode(n.Name, func(ctx context.Context, nd *node.Node) error {
		b := r.bundleOf(n)
		if err := r.sendRepository(ctx, nd, b); err != nil {
			return err
		}
		chosen, err := r.choose(ctx, n, nd)
		if err != nil {
			return err
		}
		for _, m := range chosen {
			open := func() (io.ReadSeekCloser, error) { return b.Open(m.Path) }
			if _, err := nd.Upload(ctx, node.Upload{Path: path.Join(repoDir, path.Base(m.Path)), Mode: 0o644, Size: m.Size, SHA256: m.SHA256, Open: open, What: path.Base(m.Path)}); err != nil {
				return err
			}
		}
		return nil
	})
	return s
}

// packagesSent says whether the repository and all that would be installed from it lie on the node: an upload is there whole or not at all.
func (r *run) packagesSent(ctx context.Context, n config.Node, nd *node.Node) (bool, error) {
	there := func(path, test string) (bool, error) {
		out, err := nd.Query(ctx, "if [ -f "+node.Quote(path)+" ] && "+test+"; then echo yes; fi")
		return strings.TrimSpace(out) == "yes", err
	}
	lists := "[ \"$(sha256sum <" + repoDir + "/Packages | cut -d' ' -f1)\" = " + node.Quote(metadata(r.bundleOf(n)).SHA256) + " ] && [ -n \"$(find " + node.Dir + "/apt/state/lists -name '*Packages')\" ]"
	if ok, err := there(repoDir+"/Packages", lists); !ok || err != nil {
		return false, err
	}
	chosen, err := r.choose(ctx, n, nd)
	if err != nil {
		return false, nil //nolint:nilerr // what is wrong with the lists shows when they are read anew
	}
	for _, m := range chosen {
		file := path.Join(repoDir, path.Base(m.Path))
		if ok, err := there(file, fmt.Sprintf("[ \"$(stat -c %%s %s)\" = %d ]", node.Quote(file), m.Size)); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// installPackages has the node's package manager install what it chose. Nothing that is installed is upgraded or removed.
func (r *run) installPackages(n config.Node) *engine.Step {
	s := r.packagesStep(n, "packages", id(phaseInfra, "send-packages", n.Name))
	installed := s.Check
	s.Check = func(ctx context.Context) (bool, error) {
		if ok, err := installed(ctx); !ok || err != nil {
			return false, err
		}
		// An installation that was cut off at its end leaves what was sent.
		out, err := r.node(n.Name).Query(ctx, "find "+repoDir+" "+node.Dir+"/apt -name '*.deb' -o -path '*/apt/state' -o -path '*/apt/cache' 2>/dev/null | head -n 1 || true")
		return out == "", err
	}
	s.Verify = r.asksVerify(n.Name, func(ctx context.Context, _ *node.Node) (bool, error) { return installed(ctx) }, "packages.not-installed")
	s.Apply = r.onNode(n.Name, func(ctx context.Context, nd *node.Node) error {
		if _, err := nd.Change(ctx, node.Change{Desc: event.M("change.mend-packages"), Script: "export DEBIAN_FRONTEND=noninteractive LC_ALL=C\nmend\n"}); err != nil {
			return err
		}
		chosen, err := r.choose(ctx, n, nd)
		if err != nil {
			return err
		}
		var records []node.Record
		var pkgs []string
		for _, m := range chosen {
			records = append(records, node.Record{Kind: "package", Key: m.Name, Was: "absent"})
			pkgs = append(pkgs, m.Name)
		}
		_, err = nd.Change(ctx, node.Change{
			Desc: event.M("change.packages", "packages", strings.Join(pkgs, " ")), Records: records,
			Script: apt + "mkdir -p $D/apt/state/lists/partial $D/apt/cache/archives/partial $D/apt/tmp\ndpkgw --configure -a || :\naptget install -y --no-remove " + quoteAll(r.packages(n, r.bundleOf(n).Manifest())) + "\n" +
				// An apt that was killed leaves links to what it installed among its temporary files.
				"rm -rf " + repoDir + "/*.deb $D/apt/cache $D/apt/state $D/apt/tmp/*\n",
		})
		return err
	})
	return s
}

// choose asks the node's package manager what it would install, and finds that in the bundle.
func (r *run) choose(ctx context.Context, n config.Node, nd *node.Node) ([]bundle.Member, error) {
	b := r.bundleOf(n)
	out, err := nd.Query(ctx, apt+"aptget -s install --no-remove "+quoteAll(r.packages(n, b.Manifest())))
	if err != nil {
		f := event.AsFault(err)
		if f.Code == "node.command-failed" {
			return nil, event.NewFault(event.ClassFailed, "packages.unsolvable", nil, "apt", f.Cause).On(n.Name)
		}
		return nil, err
	}
	chosen, upgrades := parseSimulation(out)
	if len(upgrades) > 0 {
		return nil, event.NewFault(event.ClassFailed, "packages.would-upgrade", nil, "packages", strings.Join(upgrades, ", ")).On(n.Name)
	}
	var members []bundle.Member
	for _, c := range chosen {
		m, ok := memberOf(b.Manifest(), c)
		if !ok {
			return nil, event.NewFault(event.ClassBundle, "packages.not-in-bundle", nil, "package", c.name, "version", c.version).On(n.Name)
		}
		members = append(members, m)
	}
	return members, nil
}

// sendRepository puts the metadata and an apt configuration of its own beside it.
func (r *run) sendRepository(ctx context.Context, nd *node.Node, b Bundle) error {
	meta := metadata(b)
	if _, err := nd.Change(ctx, node.Change{Desc: event.M("change.repository"),
		Script: "mkdir -p $D/repo $D/apt/state/lists/partial $D/apt/cache/archives/partial $D/apt/tmp\nprintf 'deb [trusted=yes] file:%s ./\\n' $D/repo >$D/apt/sources.list\n"}); err != nil {
		return err
	}
	open := func() (io.ReadSeekCloser, error) { return b.Open(meta.Path) }
	if _, err := nd.Upload(ctx, node.Upload{Path: repoDir + "/Packages", Mode: 0o644, Size: meta.Size, SHA256: meta.SHA256, Open: open, What: "Packages"}); err != nil {
		return err
	}
	_, err := nd.Change(ctx, node.Change{Desc: event.M("change.apt-lists"), Quiet: true, Script: apt + "aptget update -q\n"})
	return err
}

// metadata is the bundle's list of packages.
func metadata(b Bundle) bundle.Member {
	m := b.Manifest()
	meta, _ := m.Member(m.Layout.Place(bundle.Metadata, "Packages"))
	return meta
}

type chosenPackage struct{ name, version, arch string }

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
		// The same version again is one whose installation was cut off and that dpkg wants anew.
		if old != "" && old != w[0] {
			upgrades = append(upgrades, name)
			continue
		}
		name, _, _ = strings.Cut(name, ":")
		chosen = append(chosen, chosenPackage{name: name, version: w[0], arch: strings.Trim(w[len(w)-1], "[]")})
	}
	return chosen, upgrades
}

func memberOf(m *bundle.Manifest, c chosenPackage) (bundle.Member, bool) {
	for _, x := range m.Members {
		if x.Kind == bundle.Deb && x.Name == c.name && x.Version == c.version {
			return x, true
		}
	}
	return bundle.Member{}, false
}

func quoteAll(names []string) string {
	var q []string
	for _, n := range names {
		q = append(q, node.Quote(n))
	}
	return strings.Join(q, " ")
}
