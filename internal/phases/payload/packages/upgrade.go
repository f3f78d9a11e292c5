package packages

import (
	"context"
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

// Move is a package that comes from one version to another.
type Move struct{ Name, From, To string }

// String is how it is told.
func (m Move) String() string { return event.Clean(m.Name + " " + m.From + " → " + m.To) }

// Told is how packages are told that come to other versions.
func Told(moves []Move) string {
	var out []string
	for _, m := range moves {
		out = append(out, m.String())
	}
	return strings.Join(out, ", ")
}

// names are those of the packages.
func names(moves []Move) []string {
	var out []string
	for _, m := range moves {
		out = append(out, m.Name)
	}
	return out
}

// planned is a package of a transaction, with the version that it takes the place of; "" when it comes new.
type planned struct {
	chosenPackage
	old string
}

// Upgrade has the node's package manager bring the packages that we have installed to the versions of the bundle, where
// these are newer. What was there before us, and what others have installed, stays. The files of the old versions are
// kept on the node before. The services of units are taken for changed then, no matter who starts them.
func (r *Packages) Upgrade(n config.Node, units ...string) *engine.Step {
	s := plan.Step(plan.PhaseNodes, "packages", n.Name, nil)
	s.Timeout = 30 * time.Minute
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		moves, err := r.moves(ctx, n, nd)
		return len(moves) == 0, err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error { return r.upgrade(ctx, n, nd, units) })
	return s
}

// moves are the packages that an upgrade brings to another version.
func (r *Packages) moves(ctx context.Context, n config.Node, nd *node.Node) ([]Move, error) {
	p := r.packagerOf(n)
	if p == nil {
		return nil, nil
	}
	is, err := installedVersions(ctx, nd, p.versions())
	if err != nil {
		return nil, err
	}
	moves := newer(p, r.BundleOf(n).Manifest(), is)
	before, err := readKept(ctx, nd, r.BundleOf(n).Manifest().Kubernetes)
	for _, k := range before {
		if is[k.Name] == "" { // it was being moved when that was cut off
			moves = append(moves, k.Move)
		}
	}
	return moves, err
}

// installedVersions are the versions of packages by their names, as a script prints them.
func installedVersions(ctx context.Context, nd *node.Node, script string) (map[string]string, error) {
	out, err := nd.Query(ctx, script)
	if err != nil {
		return nil, err
	}
	is := map[string]string{}
	for line := range strings.Lines(out) {
		if w := strings.Fields(line); len(w) == 2 {
			is[w[0]] = w[1]
		}
	}
	return is, nil
}

// newer are the packages that a bundle has in newer versions than these.
func newer(p packager, m *bundle.Manifest, is map[string]string) []Move {
	var moves []Move
	for name, from := range is {
		to := from
		for _, x := range m.Members {
			if x.Kind == p.kind() && x.Name == name && p.compare(x.Version, to) > 0 {
				to = x.Version
			}
		}
		if to != from {
			moves = append(moves, Move{name, from, to})
		}
	}
	slices.SortFunc(moves, func(a, b Move) int { return strings.Compare(a.Name, b.Name) })
	return moves
}

func (r *Packages) upgrade(ctx context.Context, n config.Node, nd *node.Node, units []string) error {
	p := r.packagerOf(n)
	if _, err := nd.Change(ctx, node.Change{Desc: event.M("change.mend-packages"), Script: p.fix()}); err != nil {
		return err
	}
	moves, err := r.moves(ctx, n, nd)
	if err != nil || len(moves) == 0 {
		return err
	}
	if r.Dry { // what else comes would have to be asked of what was not sent
		if err := r.keep(ctx, n, nd, moves); err != nil {
			return err
		}
		_, err := nd.Change(ctx, node.Change{Desc: event.M("change.packages-upgrade", "packages", Told(moves))})
		return err
	}
	b := r.BundleOf(n)
	if err := sendRepository(ctx, nd, b, p); err != nil {
		return err
	}
	chosen, records, err := r.chooseUpgrade(ctx, n, nd, names(moves))
	if err != nil {
		return err
	}
	if err := sendMembers(ctx, nd, b, chosen.members); err != nil {
		return err
	}
	if err := r.keep(ctx, n, nd, moves); err != nil {
		return err
	}
	if _, err = nd.Change(ctx, node.Change{Records: records,
		Script: stale(units) + p.upgrade(names(moves), chosen.packages),
		Desc:   event.M("change.packages-upgrade", "packages", Told(moves))}); err != nil {
		return err
	}
	if moves, err = r.moves(ctx, n, nd); err != nil || len(moves) == 0 {
		return err
	}
	return notMoved(n, moves[0])
}

// notMoved is the fault of a package that is not where it was brought.
func notMoved(n config.Node, m Move) error {
	return event.NewFault(event.ClassFailed, "packages.not-upgraded", nil, "package", event.Clean(m.Name), "is",
		event.Clean(m.From), "want", event.Clean(m.To)).On(n.Name)
}

// stale has the services of units taken for changed.
func stale(units []string) string {
	var files []string
	for _, u := range units {
		files = append(files, "$D/applied/"+shell.Quote(u), "$D/applied/"+shell.Quote(u+".file"))
	}
	if len(files) == 0 {
		return ""
	}
	return "rm -f " + strings.Join(files, " ") + "\n"
}

// chooseUpgrade asks the node's package manager what it would do, and finds that in the bundle. Packages that come with
// it are recorded; none that is not ours may change.
func (r *Packages) chooseUpgrade(ctx context.Context, n config.Node, nd *node.Node, names []string) (choice,
	[]node.Record, error) {
	b, p := r.BundleOf(n), r.packagerOf(n)
	out, err := nd.Query(ctx, p.chooseUpgrade(names))
	if err != nil {
		return choice{}, nil, unsolvable(n, err)
	}
	all, others := p.parseUpgrade(out)
	if err := onlyThese(n, all, others, names); err != nil {
		return choice{}, nil, err
	}
	var got choice
	var records []node.Record
	for _, c := range all {
		if c.old == "" {
			records = append(records, p.record(c.chosenPackage))
		}
		m, ok := memberOf(b.Manifest(), p.kind(), c.chosenPackage)
		if !ok {
			return choice{}, nil, event.NewFault(event.ClassBundle, "packages.not-in-bundle", nil, "package",
				event.Clean(c.name), "version", event.Clean(c.version)).On(n.Name)
		}
		got.packages, got.members = append(got.packages, c.chosenPackage), append(got.members, m)
	}
	return got, records, nil
}

// onlyThese is the fault of a transaction in which other packages than these would get another version.
func onlyThese(n config.Node, all []planned, others, names []string) error {
	for _, c := range all {
		if c.old != "" && !slices.Contains(names, c.name) {
			others = append(others, c.name)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return event.NewFault(event.ClassFailed, "packages.would-upgrade", nil, "packages",
		event.Clean(strings.Join(others, ", "))).On(n.Name)
}

// ours is a script that prints the keys of a kind in the node's record.
func ours(kind string) string {
	return "awk -F'\\t' '$1==\"" + kind + "\" {print $2}' " + node.Dir + "/record 2>/dev/null || true"
}

// parseTransaction reads what dnf -v and yum tell of an upgrade: "---> Package NAME.ARCH EVR will be an upgrade" (yum:
// an update) of the new one beside "will be upgraded" of the old, "will be installed" of what it needs; of the way back
// "will be a downgrade" beside "will be downgraded" (yum: erased).
func parseTransaction(out string) (all []planned, others []string) {
	for line := range strings.Lines(out) {
		c, what, ok := parsePackage(line)
		if !ok {
			continue
		}
		p := planned{chosenPackage: c}
		switch what {
		case "upgraded", "updated", "downgraded": // the old one
			continue
		case "an upgrade", "an update", "a downgrade":
			p.old = "?"
		case "installed":
		default:
			if !slices.Contains(others, c.name) {
				others = append(others, c.name)
			}
			continue
		}
		all = append(all, p)
	}
	return all, slices.DeleteFunc(others, func(name string) bool { // yum has the old one of a downgrade erased
		return slices.ContainsFunc(all, func(p planned) bool { return p.name == name && p.old != "" })
	})
}
