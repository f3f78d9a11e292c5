package operation

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// route is where an upgrade comes from and over which versions it goes.
type route struct {
	from  string
	hops  []upgrade.Hop // none: the cluster has the newest version already
	begun upgrade.Begun // of one that is continued

	moved func(context.Context) error // saves where the bundles of from lie now; nil when they have not moved
}

// whole are all versions of the route.
func (r *route) whole() []string {
	out := []string{r.from}
	for _, h := range r.hops {
		out = append(out, h.Version)
	}
	return out
}

// copied is a deploy.yaml of the user's that an upgrade was begun with; the upgrade follows the cluster's own.
type copied struct {
	file string
	text []byte
}

// follow goes to the cluster's own deploy.yaml, which an upgrade follows. A file that says something else of the
// cluster than which bundles it is of is refused: an upgrade would not do it, and would not say so.
func (p *prepared) follow(verb request.Verb) error {
	if p.saved == nil {
		return event.NewFault(event.ClassUsage, "upgrade.no-cluster", nil, "cluster", p.cluster.Name,
			"dir", p.files.Dir())
	}
	if p.file == p.own {
		return nil
	}
	text, err := p.absolute()
	if err != nil {
		return err
	}
	own, _, err := p.files.Config()
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.read", err)
	}
	if verb == request.VerbUpgrade && !config.SameButSources(text, own, p.own) {
		return event.Advising(event.ClassUsage, "upgrade.differs",
			[]event.Call{p.call(event.Call{Verb: string(request.VerbDeploy)})}, "file", p.file, "own", p.own)
	}
	p.copy = &copied{p.file, bytes.Clone(p.text)}
	return p.useOwn(p.files)
}

// planRoute finds the way of an upgrade, before anything is made. Only the heads of bundles are read; the first
// preflight verifies them all.
func (p *prepared) planRoute(q request.Upgrade) (err error) {
	if p.route != nil {
		return nil
	}
	if err := p.follow(q.Verb()); err != nil {
		return err
	}
	r := &route{}
	if r.begun, err = upgrade.ReadBegun(p.files.Dir()); err != nil {
		return err
	}
	if r.begun.Under() {
		given, limit := q.Bundles, q.Limit // the limit of the run before may be done
		q = q.Continue(lastOptions(p.files.Journal(), request.VerbUpgrade))
		q.Bundles, q.Limit = given, limit
		p.request = q
		if err := p.deps.permits(q); err != nil {
			return err
		}
	}
	own, err := p.ownVersion(r)
	if err != nil {
		return err
	}
	given, err := p.heads(distinct(q.Bundles))
	if err != nil {
		return err
	}
	if r.begun.Under() {
		err = p.continues(r, given)
	} else {
		err = p.begins(r, own, given)
	}
	if err == nil {
		p.route = r
	}
	return err
}

// ownVersion says which version the cluster has: that of its own bundles, or where the upgrade under way began.
func (p *prepared) ownVersion(r *route) ([]head, error) {
	if r.begun.Under() {
		r.from = r.begun.From
		return nil, nil
	}
	var paths []string
	for _, b := range p.cluster.Bundles() {
		paths = append(paths, p.beside(b.Path))
	}
	own, err := p.heads(paths)
	if err != nil {
		f := event.AsFault(err)
		return nil, event.NewFault(event.ClassBundle, "upgrade.own-bundle", err, "file", f.Args["file"],
			"cluster", p.cluster.Name, "own", p.own)
	}
	if len(own) == 0 {
		return nil, event.NewFault(event.ClassBundle, "upgrade.own-bundle", nil, "file", "package-src",
			"cluster", p.cluster.Name, "own", p.own)
	}
	oldest := slices.MinFunc(own, func(a, b head) int { return a.version.compare(b.version) })
	r.from = oldest.Kubernetes
	return own, nil
}

// begins makes the route of an upgrade that begins.
func (p *prepared) begins(r *route, own, given []head) (err error) {
	if len(given) == 0 {
		return event.NewFault(event.ClassUsage, "upgrade.no-bundles", nil, "cluster", p.cluster.Name,
			"version", r.from)
	}
	from, _ := parseVersion(r.from)
	newer := newerThan(from, given)
	for _, h := range given {
		is := h.version.compare(from)
		has := slices.ContainsFunc(own, func(o head) bool { return bytes.Equal(o.sums, h.sums) })
		switch {
		case is < 0:
			// The chain of an upgrade that has ended says what the cluster has: it was given again.
			if len(newer) > 0 || !slices.ContainsFunc(given, func(h head) bool { return h.version == from }) {
				return event.NewFault(event.ClassUsage, "upgrade.older", nil, "file", h.path, "version", h.Kubernetes,
					"cluster", p.cluster.Name, "is", r.from)
			}
		case is == 0 && !has && len(newer) == 0:
			return event.NewFault(event.ClassUsage, "upgrade.same", nil, "file", h.path, "version", h.Kubernetes,
				"cluster", p.cluster.Name, "own", p.own)
		}
	}
	r.hops, err = hops(p.cluster, from, own, newer)
	return err
}

// continues makes the route of an upgrade that is under way. Bundles that are given have to be of its versions; where
// they lie, and who built them, may have changed. Those of versions that it has reached do not count.
func (p *prepared) continues(r *route, given []head) error {
	r.hops = r.begun.Hops
	if len(given) == 0 {
		return nil
	}
	from, _ := parseVersion(r.from)
	newer := newerThan(from, given)
	is, want := map[string]bool{}, map[string]bool{}
	for _, h := range newer {
		is[h.Kubernetes] = true
	}
	for _, h := range r.hops {
		want[h.Version] = true
	}
	p.ownMoved(r, given)
	if len(newer) == 0 && r.moved != nil {
		return nil
	}
	if !maps.Equal(is, want) {
		return event.Advising(event.ClassUsage, "upgrade.other", p.continuing(), "cluster", p.cluster.Name,
			"from", r.from, "to", r.hops[len(r.hops)-1].Version, "versions",
			strings.Join(slices.Sorted(maps.Keys(want)), ", "))
	}
	hops, err := hops(p.cluster, from, p.likeNow(r.hops[0].Source), newer)
	if err != nil {
		return err
	}
	for i, h := range hops {
		if !sameBundles(h.Source, r.hops[i].Source) {
			r.hops = hops
		}
	}
	r.begun.Hops = r.hops
	return nil
}

func newerThan(from version, given []head) []head {
	return slices.DeleteFunc(slices.Clone(given), func(h head) bool { return h.version.compare(from) <= 0 })
}

// distinct are the paths without those that are said twice.
func distinct(paths []string) []string {
	var out []string
	for _, p := range paths {
		if p = filepath.Clean(p); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// beside is a path of the operation's deploy.yaml.
func (p *prepared) beside(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(p.file), path)
}

// continuing are the operations that an upgrade under way leaves: it goes to its end, or back.
func (p *prepared) continuing() []event.Call {
	return []event.Call{
		{Verb: "upgrade", Cluster: p.cluster.Name}, {Verb: "upgrade --back", Cluster: p.cluster.Name},
	}
}

// guard refuses, before anything is made, what an upgrade that is under way does not allow: nodes of two versions are
// a state that only it knows how to leave. A snapshot is always allowed, and so is a restore; and a cleanup of all. A
// node that is lost for good would keep the upgrade from its end and from the way back, so nodes can be deleted with
// force; preflight sees to it that control planes and members of etcd are lost.
func (p *prepared) guard() error {
	switch q := p.request.(type) {
	case request.Upgrade:
		return p.planRoute(q)
	case request.Back:
		return p.planBack()
	case request.Snapshot, request.Restore:
		return nil
	case request.Cleanup:
		if len(q.Nodes)+len(q.Limit) == 0 {
			return nil
		}
	case request.Delete:
		if q.Force && p.removable(q.Names) {
			return nil
		}
	}
	b, err := upgrade.ReadBegun(p.files.Dir())
	if err != nil || !b.Under() {
		return err
	}
	return event.Advising(event.ClassUsage, "upgrade.unfinished", p.continuing(), "cluster", p.cluster.Name,
		"from", b.From, "to", b.Hops[0].Version)
}

// removable says whether the cluster can do without these nodes.
func (p *prepared) removable(named []string) bool {
	if p.saved == nil {
		return false
	}
	_, err := Removable(p.saved, named)
	return err == nil
}

// planBack finds the upgrade that is reverted.
func (p *prepared) planBack() (err error) {
	if p.route != nil {
		return nil
	}
	if err := p.follow(request.VerbBack); err != nil {
		return err
	}
	b, err := upgrade.ReadBegun(p.files.Dir())
	if err != nil {
		return err
	}
	if !b.Under() {
		return event.NewFault(event.ClassUsage, "upgrade.none", nil, "cluster", p.cluster.Name)
	}
	if b.OnlyForward() {
		can, err := p.restorable(b)
		if err != nil {
			return err
		}
		if !can {
			return event.Advising(event.ClassUsage, "upgrade.only-forward", p.continuing()[:1],
				"cluster", p.cluster.Name, "from", b.From, "to", b.Hops[0].Version)
		}
		restore := event.Call{Verb: "etcd restore", Cluster: p.cluster.Name, Snapshot: b.Snapshot}
		return event.Advising(event.ClassUsage, "upgrade.no-way-back", []event.Call{p.continuing()[0], restore,
			p.continuing()[1]},
			"cluster", p.cluster.Name, "from", b.From, "to", b.Hops[0].Version)
	}
	p.route = &route{from: b.From, hops: b.Hops, begun: b}
	return nil
}

// upgrade brings the cluster to the newest version of its route.
func (p *prepared) upgrade() (*work, error) {
	if err := p.guard(); err != nil {
		return nil, err
	}
	q := p.request.(request.Upgrade) // with the options of before
	if err := p.setLimit(q.Limit); err != nil {
		return nil, err
	}
	r := p.route
	if len(r.hops) == 0 {
		same := func(e phases.Env) *engine.Plan { return phases.Same(e, r.from) }
		return &work{plan: p.limited(same), next: func() []event.Msg {
			return append([]event.Msg{event.M("next.upgraded-already", "cluster", p.cluster.Name, "version", r.from)},
				p.copyLines(p.cluster.Source)...)
		}}, nil
	}
	o := upgrade.Options{
		From: r.from, Hops: r.hops, Drain: q.Drain, Force: q.Force, Soak: q.Soak, Probe: q.Probe, Packages: q.Packages,
		Begun: r.begun, Reached: p.reached,
	}
	var err error
	if o.Batch, err = request.Workers(q.Batch, len(p.workers())); err != nil {
		return nil, err
	}
	if o.Window.From, o.Window.To, err = request.ParseWindow(q.Window); err != nil {
		return nil, err
	}
	last := r.hops[len(r.hops)-1]
	return &work{plan: p.limited(func(e phases.Env) *engine.Plan {
		e.Accepted = nil // deploy.yaml is the cluster's own already, and reached replaces it
		if !e.Dry {
			e.Accepted = r.moved
		}
		return phases.Upgrade(e, o)
	}), next: func() []event.Msg {
		if b, err := upgrade.ReadBegun(p.files.Dir()); err == nil && b.Under() {
			return []event.Msg{event.Calling("next.upgrade-rest", p.continuing()[0], "cluster", p.cluster.Name,
				"version", b.Hops[0].Version)}
		}
		return append([]event.Msg{event.M("next.upgraded", "cluster", p.cluster.Name, "version", last.Version)},
			p.copyLines(last.Source)...)
	}}, nil
}

// workers are the nodes that are no control planes.
func (p *prepared) workers() []config.Node {
	return slices.DeleteFunc(p.cluster.With(bundle.Worker), func(n config.Node) bool {
		return n.Has(bundle.ControlPlane)
	})
}

// reached has the cluster's own deploy.yaml name the bundles of a hop.
func (p *prepared) reached(ctx context.Context, h upgrade.Hop) error {
	text, path, err := p.files.Config()
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.read", err)
	}
	out, problems, err := config.SetSources(text, path, h.Source)
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return err
	}
	return p.files.SaveConfig(ctx, out)
}

// copyLines say which lines of the user's deploy.yaml name other bundles than the cluster's own. Nobody but the user
// changes that file.
func (p *prepared) copyLines(src config.PackageSource) []event.Msg {
	if p.copy == nil {
		return nil
	}
	var out []event.Msg
	for _, l := range config.SourceLines(p.copy.text, p.copy.file, src) {
		key := "next.source-line"
		switch {
		case l.Value == "":
			key += ".gone"
		case l.Line == 0:
			key += ".new"
		}
		out = append(out, event.M(key,
			"file", p.copy.file, "line", strconv.Itoa(l.Line), "key", l.Key, "value", l.Value))
	}
	return out
}

// back takes the upgrade under way back.
func (p *prepared) back() (*work, error) {
	if err := p.guard(); err != nil {
		return nil, err
	}
	q := p.request.(request.Back)
	o := upgrade.Options{Begun: p.route.begun, Drain: cmp.Or(q.Drain, request.DrainTimeout), Force: q.Force}
	var err error
	if o.Batch, err = request.Workers(q.Batch, len(p.workers())); err != nil {
		return nil, err
	}
	return &work{plan: func(e phases.Env) *engine.Plan {
		e.Accepted = nil
		return phases.Back(e, o)
	}, next: func() []event.Msg {
		if b, err := upgrade.ReadBegun(p.files.Dir()); err == nil && b.Under() {
			return []event.Msg{event.Calling("next.upgrade-back-rest", p.continuing()[1], "cluster", p.cluster.Name,
				"version", p.route.from)}
		}
		return []event.Msg{event.M("next.upgrade-back", "cluster", p.cluster.Name, "version", p.route.from)}
	}}, nil
}

// restored is called when etcd is what it was when the snapshot was taken. Of the snapshot from before a hop the
// upgrade can be reverted again: "upgrade --back" brings the kubelets and then the control planes to the old version.
// It is as committed as before when it goes forward: the new API servers have run without emulation since the restore,
// and kubelets may have the new version, under which none may run as the old one.
// Of any other snapshot nothing is known, and nothing changes.
func (p *prepared) restored(ctx context.Context, snapshot string) error {
	b, err := upgrade.ReadBegun(p.files.Dir())
	if err != nil || !b.Committed || !sameFile(b.Snapshot, snapshot) {
		return err
	}
	if can, err := p.restorable(b); err != nil || !can {
		return err
	}
	b.Restored = true
	if err := b.Write(p.files.Dir()); err != nil {
		return err
	}
	return p.files.Persist(ctx, phases.KeptUpgrade)
}

// restorable says whether a restore of the snapshot of before the hop makes the way back free. It does not when etcd
// has come to another minor, whose data the old one does not read, and when the cluster's own deploy.yaml names the
// bundles of the hop already: all nodes are there, and only the last steps are missing.
func (p *prepared) restorable(b upgrade.Begun) (bool, error) {
	if b.Snapshot == "" || b.OneWay || maps.Equal(p.cluster.Source.Bundles, b.Hops[0].Source.Bundles) {
		return false, nil
	}
	was, err := p.etcdMinors(p.cluster.Bundles())
	if err != nil {
		return false, err
	}
	is, err := p.etcdMinors((&config.Cluster{Source: b.Hops[0].Source}).Bundles())
	return slices.Equal(was, is), err
}

// etcdMinors are those of the members of bundles, each once.
func (p *prepared) etcdMinors(bundles []config.BundleSource) ([]string, error) {
	var out []string
	for _, b := range bundles {
		heads, err := p.heads([]string{p.beside(b.Path)})
		if err != nil {
			return nil, err
		}
		for _, n := range p.cluster.With(bundle.Etcd) {
			if m := heads[0]; n.Arch == m.Arch {
				if v, ok := parseVersion(p.cluster.EtcdVersion(n, m.Manifest)); ok {
					out = append(out, minorOf(v))
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}
