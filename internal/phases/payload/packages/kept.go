package packages

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// keptDir is where a node has the files of packages that an upgrade has moved, as it has the old binaries: until the
// upgrade has ended it can go back to them. keptMoves says which they are: "to VERSION", the version of Kubernetes of
// the upgrade, then "NAME FROM TO FILE" of each. It is there before a package is moved.
const (
	keptDir   = node.Dir + "/kept"
	keptMoves = keptDir + "/moves"
)

// kept is a package that was moved, and the file of its old version.
type kept struct {
	Move
	file string // in keptDir
}

// oldFile is the package of a move's old version in the bundle of the version that an upgrade comes from.
func (r *Packages) oldFile(n config.Node, m Move) (bundle.Member, bool) {
	if r.Old == nil {
		return bundle.Member{}, false
	}
	old := r.Old(n)
	if old == nil {
		return bundle.Member{}, false
	}
	return memberOf(old.Manifest(), r.packagerOf(n).kind(), chosenPackage{name: m.Name, version: m.From})
}

// keep puts the files of old versions on the node, and writes down what is about to be moved. A version that the old
// bundle does not have is not kept, and does not come back.
func (r *Packages) keep(ctx context.Context, n config.Node, nd *node.Node, moves []Move) error {
	hop := r.BundleOf(n).Manifest().Kubernetes
	before, err := readKept(ctx, nd, hop)
	if err != nil {
		return err
	}
	var now []kept
	var files []bundle.Member
	for _, m := range moves {
		// The same upgrade may have moved it before, to what another build of its bundle has.
		i := slices.IndexFunc(before, func(b kept) bool { return b.Name == m.Name && b.To == m.From })
		if i >= 0 {
			now = append(now, kept{Move{m.Name, before[i].From, m.To}, before[i].file})
		} else if x, ok := r.oldFile(n, m); ok {
			now, files = append(now, kept{m, path.Base(x.Path)}), append(files, x)
		}
	}
	if len(now) == 0 {
		return nil
	}
	var list []string
	lines := []string{"to " + hop}
	for _, k := range slices.Concat(now, slices.DeleteFunc(before, func(b kept) bool {
		return slices.ContainsFunc(now, func(k kept) bool { return k.Name == b.Name })
	})) {
		lines = append(lines, strings.Join([]string{k.Name, k.From, k.To, k.file}, " "))
	}
	for _, k := range now {
		list = append(list, event.Clean(k.Name+" "+k.From))
	}
	// Those of another upgrade were not removed: it was reverted without this node.
	clear := "mkdir -p -m 700 " + keptDir + "\n"
	if len(before) == 0 {
		clear = "rm -rf " + keptDir + "\n" + clear
	}
	desc := event.M("change.packages-keep", "packages", strings.Join(list, ", "))
	if _, err := nd.Change(ctx, node.Change{Desc: desc, Script: clear}); err != nil || r.Dry {
		return err
	}
	var ups []shell.Upload
	for _, x := range files {
		ups = append(ups, uploadTo(r.Old(n), x, path.Join(keptDir, path.Base(x.Path))))
	}
	if err := nd.UploadAll(ctx, ups); err != nil {
		return err
	}
	write := "f=" + keptMoves + "\nprintf '%s\\n' " + shell.QuoteAll(lines) + " >$f.new\nmv -f $f.new $f\n" +
		"sync $f 2>/dev/null || sync\n"
	_, err = nd.Change(ctx, node.Change{Desc: desc, Script: write})
	return err
}

// readKept are the packages that a node keeps of an upgrade.
func readKept(ctx context.Context, nd *node.Node, hop string) ([]kept, error) {
	out, err := nd.Query(ctx, "cat "+keptMoves+" 2>/dev/null || true\n")
	if err != nil {
		return nil, err
	}
	head, rest, _ := strings.Cut(out, "\n")
	if head != "to "+hop {
		return nil, nil
	}
	var all []kept
	for line := range strings.Lines(rest) {
		if w := strings.Fields(line); len(w) == 4 {
			all = append(all, kept{Move{w[0], w[1], w[2]}, path.Base(w[3])})
		}
	}
	return all, nil
}

// Back has the node's package manager bring the packages that an upgrade to a version has moved to the versions that
// they had, from the files that were kept. One that has come to yet another version meanwhile stays.
func (r *Packages) Back(n config.Node, hop string, units ...string) *engine.Step {
	s := plan.Step(plan.PhaseNodes, "packages", n.Name, nil)
	s.Timeout = 30 * time.Minute
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		moved, err := r.moved(ctx, n, nd, hop)
		return len(moved) == 0, err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error { return r.back(ctx, n, nd, hop, units) })
	return s
}

// moved are the packages that an upgrade has moved, or broken while it did, and that can go back.
func (r *Packages) moved(ctx context.Context, n config.Node, nd *node.Node, hop string) ([]kept, error) {
	p := r.packagerOf(n)
	if p == nil {
		return nil, nil
	}
	all, err := readKept(ctx, nd, hop)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	is, err := installedVersions(ctx, nd, p.versions())
	return slices.DeleteFunc(all, func(k kept) bool {
		return is[k.Name] != "" && is[k.Name] != k.To
	}), err
}

func (r *Packages) back(ctx context.Context, n config.Node, nd *node.Node, hop string, units []string) error {
	p := r.packagerOf(n)
	if _, err := nd.Change(ctx, node.Change{Desc: event.M("change.mend-packages"), Script: p.fix()}); err != nil {
		return err
	}
	all, err := r.moved(ctx, n, nd, hop)
	if err != nil || len(all) == 0 {
		return err
	}
	var moves []Move
	var files []string
	for _, k := range all {
		moves, files = append(moves, Move{k.Name, k.To, k.From}), append(files, path.Join(keptDir, k.file))
	}
	desc := event.M("change.packages-back", "packages", Told(moves))
	if r.Dry {
		_, err := nd.Change(ctx, node.Change{Desc: desc})
		return err
	}
	if _, err := nd.Change(ctx, node.Change{Desc: event.M("change.repository"), Script: p.setup()}); err != nil {
		return err
	}
	out, err := nd.Query(ctx, p.chooseBack(files))
	if err != nil {
		return unsolvable(n, err)
	}
	planned, others := p.parseUpgrade(out)
	if err := onlyThese(n, planned, others, names(moves)); err != nil {
		return err
	}
	var chosen []chosenPackage
	for _, c := range planned {
		chosen = append(chosen, c.chosenPackage)
	}
	if _, err := nd.Change(ctx, node.Change{Desc: desc, Script: stale(units) + p.back(files, chosen)}); err != nil {
		return err
	}
	if all, err = r.moved(ctx, n, nd, hop); err != nil || len(all) == 0 {
		return err
	}
	return notMoved(n, Move{all[0].Name, all[0].To, all[0].From})
}

// Forget removes the files of old versions, when there is no way back any more or the node has gone it.
func (r *Packages) Forget(n config.Node, needs []string) *engine.Step {
	s := plan.Step(plan.PhaseCheck, "old-packages", n.Name, needs)
	s.Retry = engine.Retry{Tries: 2, Delay: 2 * time.Second}
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		return holds(ctx, nd, "[ ! -e "+keptDir+" ]")
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		_, err := nd.Change(ctx, node.Change{Desc: event.M("change.remove", "path", keptDir),
			Script: "rm -rf " + keptDir + "\n"})
		return err
	})
	return s
}

// Found are packages of a node with their versions: those that we have installed, and others that it needs.
type Found struct{ Ours, Theirs map[string]string }

// Find asks a node for its packages.
func (r *Packages) Find(ctx context.Context, n config.Node) (Found, error) {
	nd, f, b := r.Node(n.Name), r.Fact(n.Name), r.BundleOf(n)
	if nd == nil || f == nil || b == nil || packagerFor(f) == nil {
		return Found{}, nil
	}
	p := packagerFor(f)
	ours, err := installedVersions(ctx, nd, p.versions())
	if err != nil {
		return Found{}, err
	}
	theirs := map[string]string{}
	if wanted := r.Packages(n, b.Manifest()); len(wanted) > 0 {
		if theirs, err = installedVersions(ctx, nd, p.versionsOf(wanted)); err != nil {
			return Found{}, err
		}
	}
	maps.DeleteFunc(theirs, func(name, _ string) bool { return ours[name] != "" })
	return Found{ours, theirs}, nil
}

// Listing is what an upgrade would do with the packages of a node.
type Listing struct {
	Moves  []Move // of ours
	Stuck  []Move // those of Moves that do not come back: the old version is not in the old bundle
	Theirs []Move // that we have not installed, and that the bundle has in a newer version
}

// List says what an upgrade to the bundle would do with a node's packages, and brings what was found to it.
func (r *Packages) List(n config.Node, found Found) Listing {
	b := r.BundleOf(n)
	if b == nil || found.Ours == nil {
		return Listing{}
	}
	p := r.packagerOf(n)
	l := Listing{Moves: newer(p, b.Manifest(), found.Ours), Theirs: newer(p, b.Manifest(), found.Theirs)}
	for _, m := range l.Moves {
		if _, ok := r.oldFile(n, m); !ok {
			l.Stuck = append(l.Stuck, m)
		}
		found.Ours[m.Name] = m.To
	}
	return l
}
