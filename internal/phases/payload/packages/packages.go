// Package packages has nodes install packages: those of their bundle, which their own package manager chooses, and
// those that deploy.yaml asks of their own repositories. Nothing that is installed is upgraded or removed.
package packages

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Packages are the steps by which nodes get their packages.
type Packages struct {
	*payload.Payload
	// Old are the bundles of the version that an upgrade comes from: the old packages are kept from them. One may be
	// nil: it is not there any more.
	Old func(config.Node) input.Bundle
}

// Send lets the node's own package manager choose from the bundle's metadata and sends just the packages that it chose.
func (r *Packages) Send(n config.Node) *engine.Step {
	s := r.packagesStep(n, "send-packages", plan.ID(plan.PhaseInfra, "claim", n.Name))
	s.Lane, s.Limit, s.Timeout = plan.LaneBulk, plan.LimitUploads, 30*time.Minute
	installed := s.Check
	s.Check = func(ctx context.Context) (bool, error) {
		if ok, err := installed(ctx); ok || err != nil {
			return ok, err
		}
		return r.packagesSent(ctx, n, r.Node(n.Name))
	}
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		b := r.BundleOf(n)
		if err := sendRepository(ctx, nd, b, r.packagerOf(n)); err != nil {
			return err
		}
		chosen, err := r.choose(ctx, n, nd)
		if err != nil {
			return err
		}
		return sendMembers(ctx, nd, b, chosen.members)
	})
	return s
}

// packagesSent says whether the repository and all that would be installed from it lie on the node: an upload is there
// whole or not at all.
func (r *Packages) packagesSent(ctx context.Context, n config.Node, nd *node.Node) (bool, error) {
	p, m := r.packagerOf(n), r.BundleOf(n).Manifest()
	var read strings.Builder
	for _, x := range p.metadata(m) {
		file := shell.Quote(inRepo(m, x))
		fmt.Fprintf(&read, "[ -f %[1]s ] && [ \"$(sha256sum <%[1]s | cut -d' ' -f1)\" = %[2]s ] && ", file,
			shell.Quote(x.SHA256))
	}
	if ok, err := holds(ctx, nd, read.String()+p.fresh()); !ok || err != nil {
		return false, err
	}
	chosen, err := r.choose(ctx, n, nd)
	if err != nil {
		return false, nil //nolint:nilerr // what is wrong with the lists shows when they are read again
	}
	conditions := []string{"true"}
	for _, x := range chosen.members {
		conditions = append(conditions, fmt.Sprintf("[ -f %[1]s ] && [ \"$(stat -c %%s %[1]s)\" = %[2]d ]",
			shell.Quote(inRepo(m, x)), x.Size))
	}
	return holds(ctx, nd, strings.Join(conditions, " && "))
}

// Install has the node's package manager install what it chose, when the steps of needs are done. Nothing that
// is installed is upgraded or removed.
func (r *Packages) Install(n config.Node, needs ...string) *engine.Step {
	s := r.packagesStep(n, "packages", append([]string{plan.ID(plan.PhaseInfra, "send-packages", n.Name)}, needs...)...)
	installed := s.Check
	s.Check = func(ctx context.Context) (bool, error) {
		if ok, err := installed(ctx); !ok || err != nil {
			return false, err
		}
		// An installation that was cut off at its end leaves what was sent.
		out, err := r.Node(n.Name).Query(ctx, r.packagerOf(n).left())
		return out == "", err
	}
	s.Verify = r.Verified(n.Name, func(ctx context.Context, _ *node.Node) (bool, error) { return installed(ctx) },
		"packages.not-installed")
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		p := r.packagerOf(n)
		if _, err := nd.Change(ctx, node.Change{Desc: event.M("change.mend-packages"), Script: p.fix()}); err != nil {
			return err
		}
		chosen, err := r.choose(ctx, n, nd)
		if err != nil {
			return err
		}
		var records []node.Record
		var pkgs []string
		for _, c := range chosen.packages {
			records = append(records, p.record(c))
			pkgs = append(pkgs, c.name)
		}
		_, err = nd.Change(ctx, node.Change{
			Desc: event.M("change.packages", "packages", strings.Join(pkgs, " ")), Records: records,
			Script: p.install(r.Packages(n, r.BundleOf(n).Manifest()), chosen.packages),
		})
		return err
	})
	return s
}

// packagesStep is what sending and installing have in common.
func (r *Packages) packagesStep(n config.Node, what string, needs ...string) *engine.Step {
	s := plan.Step(plan.PhaseInfra, what, n.Name, needs)
	s.Timeout = 30 * time.Minute
	s.Retry = engine.Retry{Tries: 3, Delay: 5 * time.Second, MaxDelay: 30 * time.Second}
	s.When = func(context.Context) (bool, event.Msg, error) {
		return len(r.Packages(n, r.BundleOf(n).Manifest())) > 0, event.M("why.no-packages"), nil
	}
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		names := r.Packages(n, r.BundleOf(n).Manifest())
		return holds(ctx, nd, r.packagerOf(n).installed(names))
	})
	return s
}

// repoDir is where the bundle's packages and their metadata lie; a link when package-src.distpath names another place.
const repoDir = node.Dir + "/repo"

// packager is the package manager of a family of operating systems: what it is asked and told, in shell. All of it
// works on a repository of the bundle's metadata in repoDir and on no other; nothing that is installed is removed by
// it, or comes to another version but by upgrade and back.
type packager interface {
	// kind is that of the bundle's packages for it.
	kind() bundle.Kind
	// metadata are the bundle's members that the repository consists of beside its packages.
	metadata(m *bundle.Manifest) []bundle.Member
	// setup makes the directories and a configuration of our own, before the metadata come.
	setup() string
	// refresh reads the metadata that came.
	refresh() string
	// fresh is a condition: the metadata that came have been read.
	fresh() string
	// choose prints what would be installed, in the words of the package manager, which parse reads; others are
	// packages that something else would become of: an upgrade, a removal.
	choose(names []string) string
	parse(out string) (chosen []chosenPackage, others []string)
	// fix repairs what an installation that was cut off left.
	fix() string
	// install installs the named packages, for which the chosen ones lie in repoDir, and removes what was sent.
	install(names []string, chosen []chosenPackage) string
	// installed is a condition: all the named packages are there, whole.
	installed(names []string) string
	// left prints something when an installation was cut off before its very end.
	left() string
	// record is what is recorded before a package is installed.
	record(c chosenPackage) node.Record

	// versions prints NAME VERSION of each package that we have installed and that is there, versionsOf of each of
	// these.
	versions() string
	versionsOf(names []string) string
	compare(a, b string) int
	// chooseUpgrade and upgrade are choose and install for packages that are there in older versions.
	chooseUpgrade(names []string) string
	parseUpgrade(out string) (all []planned, others []string)
	upgrade(names []string, chosen []chosenPackage) string
	// chooseBack and back are the same for packages that return to old versions, from files alone.
	chooseBack(files []string) string
	back(files []string, chosen []chosenPackage) string
}

// holds asks a condition of the node.
func holds(ctx context.Context, nd *node.Node, condition string) (bool, error) {
	out, err := nd.Query(ctx, "if "+condition+"; then echo yes; fi\n")
	return strings.TrimSpace(out) == "yes", err
}

// packagerOf is the package manager of a machine that passed the preflight.
func (r *Packages) packagerOf(n config.Node) packager { return packagerFor(r.Fact(n.Name)) }

// packagerFor is the package manager of the machine's family; nil when the machine has none that we can work with.
func packagerFor(f *facts.Facts) packager {
	switch program := f.PackageManager(); program {
	case "apt-get":
		return apt{}
	case "dnf", "yum":
		return dnf{program: program}
	}
	return nil
}

// inRepo is where a member of the bundle's repository lies on the node.
func inRepo(m *bundle.Manifest, x bundle.Member) string {
	if x.Kind == bundle.Metadata {
		return path.Join(repoDir, m.Rel(x))
	}
	return path.Join(repoDir, path.Base(x.Path))
}

// choice is what a package manager would install, in its words and in the bundle's.
type choice struct {
	packages []chosenPackage
	members  []bundle.Member
}

// diskSays says whether it is the disk that keeps a package manager from choosing, and not what there is to choose
// from.
func diskSays(cause string) bool {
	return strings.Contains(cause, "No space left on device") || strings.Contains(cause, "Read-only file system")
}

// choose asks the node's package manager what it would install, and finds that in the bundle.
func (r *Packages) choose(ctx context.Context, n config.Node, nd *node.Node) (choice, error) {
	b, p := r.BundleOf(n), r.packagerOf(n)
	out, err := nd.Query(ctx, p.choose(r.Packages(n, b.Manifest())))
	if err != nil {
		return choice{}, unsolvable(n, err)
	}
	chosen, others := p.parse(out)
	if len(others) > 0 {
		return choice{}, event.NewFault(event.ClassFailed, "packages.would-upgrade", nil, "packages",
			event.Clean(strings.Join(others, ", "))).On(n.Name)
	}
	got := choice{packages: chosen}
	for _, c := range chosen {
		m, ok := memberOf(b.Manifest(), p.kind(), c)
		if !ok {
			return choice{}, event.NewFault(event.ClassBundle, "packages.not-in-bundle", nil, "package",
				event.Clean(c.name), "version", event.Clean(c.version)).On(n.Name)
		}
		got.members = append(got.members, m)
	}
	return got, nil
}

// unsolvable is the fault of a package manager that cannot choose.
func unsolvable(n config.Node, err error) error {
	f := event.AsFault(err)
	if f.Code == "node.command-failed" && !diskSays(f.Cause) {
		return event.NewFault(event.ClassFailed, "packages.unsolvable", nil, "apt", f.Cause).On(n.Name)
	}
	return err
}

// sendRepository puts the metadata and a configuration of the package manager's own on the node, and has it read them.
func sendRepository(ctx context.Context, nd *node.Node, b input.Bundle, p packager) error {
	if _, err := nd.Change(ctx, node.Change{Desc: event.M("change.repository"), Script: p.setup()}); err != nil {
		return err
	}
	if err := sendMembers(ctx, nd, b, p.metadata(b.Manifest())); err != nil {
		return err
	}
	_, err := nd.Change(ctx, node.Change{Desc: event.M("change.apt-lists"), Quiet: true, Script: p.refresh()})
	return err
}

// sendMembers uploads members of the bundle to their places in the repository.
func sendMembers(ctx context.Context, nd *node.Node, b input.Bundle, members []bundle.Member) error {
	var ups []shell.Upload
	for _, x := range members {
		ups = append(ups, uploadTo(b, x, inRepo(b.Manifest(), x)))
	}
	return nd.UploadAll(ctx, ups)
}

// uploadTo is the upload of a bundle's member.
func uploadTo(b input.Bundle, x bundle.Member, at string) shell.Upload {
	return shell.Upload{Path: at, Mode: 0o644, Size: x.Size, SHA256: x.SHA256, What: path.Base(x.Path),
		Open: func() (io.ReadSeekCloser, error) { return b.Open(x.Path) }}
}

// chosenPackage is one that a package manager would install; version with the epoch where it has one.
type chosenPackage struct{ name, version, arch string }

// memberOf finds a chosen package in the bundle. Of an rpm its architecture stands in the file's name alone, and an
// epoch of 0 is none.
func memberOf(m *bundle.Manifest, kind bundle.Kind, c chosenPackage) (bundle.Member, bool) {
	for _, x := range m.Members {
		if x.Kind != kind || x.Name != c.name || strings.TrimPrefix(x.Version, "0:") != strings.TrimPrefix(c.version,
			"0:") {
			continue
		}
		if kind != bundle.RPM || c.arch == "" || strings.HasSuffix(x.Path, "."+c.arch+".rpm") {
			return x, true
		}
	}
	return bundle.Member{}, false
}
