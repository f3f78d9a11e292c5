package operation

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Questions asks all that the run of a request would want to know, for the run has nobody to ask, and logs in to every
// node once: keys and passphrases are asked for, and wrong passwords come to light, before anything begins. Nothing is
// locked or changed. confirm, if it is not nil, is called last.
//
// Where nobody is at the Asker and nothing has to be confirmed, the nodes are left to the run.
func Questions(
	ctx context.Context, q request.Request, d Deps, confirm func(context.Context, *Scope) error,
) (request.Answers, error) {
	typed := ask.Remember(d.Asker, nil)
	if d.Asker != nil {
		d.Asker = typed
	}
	p, err := prepare(ctx, q, d)
	if err != nil {
		return request.Answers{}, err
	}
	defer func() { p.close() }()
	policy, err := p.policy()
	if err != nil {
		return request.Answers{}, err
	}
	if d.Asker != nil && !d.Unattended || policy == remote.Ask || confirm != nil {
		if err := p.ask(ctx, confirm); err != nil {
			return request.Answers{}, err
		}
	}
	out := request.Answers{Secrets: typed.Secrets(), HostKeys: "strict"} // all questions were asked
	if policy == remote.AcceptNew {
		out.HostKeys = "accept-new"
	}
	return out, nil
}

// ask asks what is asked after deploy.yaml is read.
func (p *prepared) ask(ctx context.Context, confirm func(context.Context, *Scope) error) (err error) {
	if p.files, err = p.deps.Store.Open(ctx, p.cluster.Name); err != nil {
		return err
	}
	if err := p.files.Free(ctx); err != nil { // it would be found out after all the questions
		return err
	}
	if err := p.loadOwn(p.files); err != nil {
		return err
	}
	targets, err := p.targets()
	if err != nil {
		return err
	}
	if p.installs() {
		if err := p.bundles.Check(ctx, p.installed()); err != nil {
			return err
		}
	}
	if err := p.logIn(ctx); err != nil || confirm == nil {
		return err
	}
	return confirm(ctx, &Scope{p, targets})
}

// targets makes the operation's cluster the nodes that the request talks to, and gives those that it removes, cleans up
// or restores. What the cluster cannot be without is refused here already.
func (p *prepared) targets() ([]config.Node, error) {
	if err := p.guard(); err != nil {
		return nil, err
	}
	switch q := p.request.(type) {
	case request.Delete:
		return p.removed(q)
	case request.Cleanup:
		if err := p.cleaned(q); err != nil {
			return nil, err
		}
	case request.Snapshot, request.Backup:
		p.only(p.cluster.With(bundle.Etcd))
	}
	return p.cluster.Nodes, nil
}

// installs says whether the request installs from bundles.
func (p *prepared) installs() bool {
	switch p.request.Verb() {
	case request.VerbDeploy, request.VerbJoin, request.VerbDelete, request.VerbRenew,
		request.VerbUpgrade, request.VerbBack:
		return true
	}
	return false
}

// installed are the bundles that the request installs from.
func (p *prepared) installed() []config.BundleSource {
	out := p.cluster.Bundles()
	if p.request.Verb() != request.VerbUpgrade || p.route == nil {
		return out
	}
	for _, h := range p.route.hops {
		out = append(out, (&config.Cluster{Source: h.Source}).Bundles()...)
	}
	return out
}

// logIn logs in to every node that the run talks to, and to those that are to join. A node that cannot be reached is
// the run's to report.
func (p *prepared) logIn(ctx context.Context) error {
	nodes := slices.Clone(p.cluster.Nodes)
	if j, is := p.request.(request.Join); is {
		for _, n := range j.Nodes {
			if slices.ContainsFunc(p.cluster.Nodes, func(o config.Node) bool { return o.IP == n.IP }) {
				continue // an interrupted join is repeated: it is among the cluster's already
			}
			n.Name, n.Port = cmp.Or(n.Name, n.IP.String()), cmp.Or(n.Port, 22)
			nodes = append(nodes, n)
		}
	}
	var done atomic.Int64
	tell := func() { ask.Tell(ctx, p.deps.Asker, greeting(int(done.Load()), len(nodes))) }
	tell()
	faults := make(chan *event.Fault, len(nodes))
	var all sync.WaitGroup
	for _, n := range nodes {
		all.Go(func() {
			_, err := p.connect(ctx, n)
			done.Add(1)
			tell()
			if err != nil {
				faults <- event.AsFault(err)
			}
		})
	}
	all.Wait()
	close(faults)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	auth, first := 0, (*event.Fault)(nil)
	for f := range faults {
		if answersMissing(f) {
			return f
		}
		if f.Class == event.ClassAuth {
			auth++
			first = f
		}
	}
	if auth == len(nodes) && auth > 0 { // a password that is wrong everywhere
		return first
	}
	return nil
}

// greeting reports to how many nodes the login is over.
func greeting(done, total int) ask.Progress {
	what := event.M("launch.greet", "done", strconv.Itoa(done), "total", strconv.Itoa(total))
	return ask.Progress{What: what, Done: done, Total: total}
}

// answersMissing says whether a login failed for an answer that somebody could give.
func answersMissing(f *event.Fault) bool {
	return strings.HasPrefix(f.Code, "ssh.hostkey") && f.Code != "ssh.hostkey-changed" ||
		strings.HasPrefix(f.Code, "ssh.key-") || f.Code == "ssh.no-credentials"
}

// Scope is what a request is about, for who has to confirm it.
type Scope struct {
	p       *prepared
	targets []config.Node
}

// Cluster as deploy.yaml says.
func (s *Scope) Cluster() *config.Cluster { return s.p.cluster }

// Targets are the nodes that the request removes, cleans up or restores.
func (s *Scope) Targets() []config.Node { return s.targets }

// Versions are those that an upgrade goes over, the cluster's own first and alone if there is nothing to do; those of
// an upgrade that is reverted are where it began and where it goes. Other requests have none.
func (s *Scope) Versions() []string {
	if s.p.route == nil {
		return nil
	}
	return s.p.route.whole()
}

// Inventory reads from every target what a cleanup would remove, over the connections that are there. It ends with ctx.
func (s *Scope) Inventory(ctx context.Context, purge bool) iter.Seq[NodeInventory] {
	return s.p.inventory(ctx, purge)
}
