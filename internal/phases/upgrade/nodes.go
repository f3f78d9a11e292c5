package upgrade

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade/drain"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// The bounds of a turn beside that of its drain.
const (
	workLimit  = 45 * time.Minute // for all of it: components wait for those of the other nodes of the batch
	readyLimit = 5 * time.Minute  // for the node to be Ready in the new version
	backLimit  = 3 * time.Minute  // for its pods to be back elsewhere
	actLimit   = 90 * time.Second // for the controller manager and the scheduler to act
)

// Kubelets brings the nodes with a kubelet to a hop's version, each in a turn of its own: closed to pods and emptied,
// then the container runtime, the kubelet and kube-proxy, as far as they differ, then opened again. A kubelet must not
// be newer than an API server: the caller has the turns wait for those.
type Kubelets struct {
	*clients.Clients // of a run with the hop's bundles
	Driver           driver.Driver
	// Runtime is the step that starts a node's container runtime: its Check and its Apply are used.
	Runtime func(config.Node) *engine.Step
	// Moves are how packages are moved before the runtime is started; nil leaves them alone.
	Moves *Moves

	// Before publishes again what the driver had for all nodes before the hop; nil does nothing. What a turn publishes
	// for its node is for no other one: that may not have the image, and its own kube-proxy is of before.
	Before func(context.Context) error

	// Last is done when the node is open again; of the step the same is used, nil does nothing. Reports is the
	// container runtime that the Node is to name; "" is any. Both are of nodes that are changed to another runtime.
	Last    func(config.Node) *engine.Step
	Reports string

	// Ready bounds the wait for a node to be Ready in the version, Back that for its pods to be ready elsewhere, Acting
	// that for those who see to both.
	Ready, Back, Acting time.Duration

	options Options
	drains  drain.Drain
	closing sync.Mutex // one node at a time looks whether another can take its pods, and is closed

	publishing sync.Mutex
	published  int // turns that need what they have published
}

// NewKubelets are the turns with the driver of the hop's bundles, and the step by which a node's container runtime is
// started with them (runtimes.Runtimes.Start).
func NewKubelets(c *clients.Clients, d driver.Driver, runtime func(config.Node) *engine.Step, o Options) *Kubelets {
	late := func(pods, limit, why string) *event.Fault {
		return event.NewFault(event.ClassFailed, "upgrade.drain-timeout", nil, "pods", pods, "limit", limit, "why", why)
	}
	return &Kubelets{Clients: c, Driver: d, Runtime: runtime, options: o,
		Ready: readyLimit, Back: backLimit, Acting: actLimit,
		drains: drain.Drain{Clients: c, Limit: o.Drain, Force: o.Force, Late: late}}
}

// Steps are nodes.packages/NAME for a load balancer without a kubelet whose packages are moved, and nodes.turn/NAME for
// each node with one, ahead of it nodes.window/NAME if there is a maintenance window, when the
// steps of needs are done: control planes one after another, then workers in as many rows as a batch has nodes. A
// worker waits for the one before it in its row and for no other: one that fails blocks its own row alone and keeps
// that row's place, so that never more nodes are away than a batch has. Nodes outside of the run's limit make rows of
// their own, for those of the limit need not wait for them.
func (k *Kubelets) Steps(needs []string) []*engine.Step {
	limited := func(n config.Node) bool { return len(k.Limit) == 0 || slices.Contains(k.Limit, n.Name) }
	var steps []*engine.Step
	for _, inside := range []bool{true, false} {
		row := needs
		var workers []config.Node
		for _, n := range inventory.Kubelets(k.Cluster) {
			switch {
			case limited(n) != inside:
			case n.Has(bundle.ControlPlane):
				steps = append(steps, k.turnSteps(n, row)...)
				row = []string{steps[len(steps)-1].ID}
			default:
				workers = append(workers, n)
			}
		}
		steps = append(steps, k.balancerSteps(row, func(n config.Node) bool { return limited(n) == inside })...)
		rows := make([][]string, max(1, k.options.Batch))
		for i, n := range workers {
			at := i % len(rows)
			if rows[at] == nil {
				rows[at] = row
			}
			steps = append(steps, k.turnSteps(n, rows[at])...)
			rows[at] = []string{steps[len(steps)-1].ID}
		}
	}
	return steps
}

// turnSteps are those of one node; the last is the turn.
func (k *Kubelets) turnSteps(n config.Node, needs []string) []*engine.Step {
	s := plan.Step(plan.PhaseNodes, "turn", n.Name, needs)
	s.Timeout = k.options.Drain + workLimit
	s.Retry = engine.Retry{Tries: 2, Delay: 2 * time.Second}
	s.Check = func(ctx context.Context) (bool, error) { return k.done(ctx, n) }
	s.Apply = func(ctx context.Context) error { return k.turn(ctx, n) }
	return k.options.Window.Ahead(k.Env, s)
}

// done says whether the node has had its turn: all of it runs as it is to, it is Ready in the version, and a run before
// this one has not left it closed.
func (k *Kubelets) done(ctx context.Context, n config.Node) (bool, error) {
	o, err := k.object(ctx, n)
	if err != nil || drain.Ours(o) || k.notReady(n, o) != nil {
		return false, err
	}
	differs, err := k.differs(ctx, n)
	if err != nil || differs || k.Last == nil {
		return !differs, err
	}
	return k.Last(n).Check(ctx)
}

// part of a node's turn.
type part struct {
	check func(context.Context) (bool, error)
	apply func(context.Context) error
}

// parts are those of a turn in their order.
func (k *Kubelets) parts(n config.Node) []part {
	out := []part{partOf(k.Runtime(n))}
	if k.Moves != nil {
		out = []part{k.Moves.part(k.Env, n, k.Runtime)}
	}
	for _, c := range []driver.Component{driver.Kubelet, driver.Proxy} {
		w := k.Driver.Start(c, n, nil)
		for _, b := range w.Before {
			out = append(out, part{b.Check, b.Apply})
		}
		if c == driver.Proxy && k.Before != nil {
			w.Apply = k.meanwhile(w.Apply)
		}
		out = append(out, part{w.Check, w.Apply})
	}
	return out
}

// beforeLimit bounds what publishes again what was there before; a run that is aborted does it too.
const beforeLimit = 30 * time.Second

// meanwhile is work that publishes something for all nodes. When no turn needs that any more, what was there before is
// published again.
func (k *Kubelets) meanwhile(apply func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		k.publishing.Lock()
		k.published++
		k.publishing.Unlock()
		err := apply(ctx)
		k.publishing.Lock()
		defer k.publishing.Unlock()
		if k.published--; k.published > 0 {
			return err
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beforeLimit)
		defer cancel()
		if failed := k.Before(ctx); failed != nil {
			return errors.Join(err, k.Emit(event.Notice{Step: engine.StepID(ctx),
				Text: event.M("notice.upgrade-published", "cause", event.Clean(failed.Error()))}))
		}
		return err
	}
}

// differs says whether something of the node does not run as it is to.
func (k *Kubelets) differs(ctx context.Context, n config.Node) (bool, error) {
	return differ(ctx, k.parts(n))
}

func differ(ctx context.Context, parts []part) (bool, error) {
	for _, p := range parts {
		if ok, err := p.check(ctx); !ok || err != nil {
			return err == nil, err
		}
	}
	return false, nil
}

// turn is the turn of one node. One that was cut off when all was started is neither emptied nor restarted again.
func (k *Kubelets) turn(ctx context.Context, n config.Node) error {
	o, err := k.object(ctx, n)
	if err != nil {
		return err
	}
	k.drains.Adopt(o)
	differs, err := k.differs(ctx, n)
	if err != nil {
		return err
	}
	var before replicas
	if differs {
		before, err = k.empty(ctx, o)
		serves := err != nil // as before: nothing of the node was changed
		if err == nil {
			err = startParts(ctx, k.parts(n))
			// The same of another node is not well, or what comes before was reverted; the old kubelet still runs.
			serves = err != nil && k.Last == nil &&
				slices.Contains([]string{"rolling.stopped", "upgrade.packages-reverted"}, event.AsFault(err).Code)
		}
		if serves && ctx.Err() == nil {
			err = errors.Join(err, k.drains.Uncordon(ctx, n.Name))
		}
		if err != nil {
			return err
		}
	}
	if err := k.awaitReady(ctx, n); err != nil {
		if k.Dry { // what would come after the wait
			err = errors.Join(err, k.last(ctx, n))
		}
		return err
	}
	if err := k.drains.Uncordon(ctx, n.Name); err != nil {
		return err
	}
	if err := k.awaitBack(ctx, n, before); err != nil {
		return err
	}
	return k.last(ctx, n)
}

// last does what is done when the node is open again.
func (k *Kubelets) last(ctx context.Context, n config.Node) error {
	if k.Last == nil {
		return nil
	}
	s := k.Last(n)
	return startParts(ctx, []part{{s.Check, s.Apply}})
}

// empty closes the node and evicts its pods, unless they have nowhere to go, or nobody is there who could end them.
func (k *Kubelets) empty(ctx context.Context, o *corev1.Node) (replicas, error) {
	pods, err := k.drains.Evictable(ctx, o.Name)
	if err != nil {
		return nil, err
	}
	if len(pods) > 0 {
		if err := k.acting(ctx); err != nil {
			return nil, err
		}
	}
	k.closing.Lock()
	if engine.Stopping(ctx) { // nothing of the node was changed
		k.closing.Unlock()
		return nil, engine.ErrStopped
	}
	why, err := k.stays(ctx, o)
	if err == nil && why.Key == "" {
		err = k.drains.Cordon(ctx, o)
	}
	k.closing.Unlock()
	switch {
	case err != nil:
		return nil, err
	case why.Key != "" && len(pods) == 0:
		return nil, nil
	case why.Key != "":
		return nil, k.Emit(event.Notice{Host: o.Name, Step: engine.StepID(ctx), Text: why})
	}
	before, err := k.replicasOf(ctx, pods)
	if err != nil {
		return nil, err
	}
	return before, k.drains.Evict(ctx, o.Name)
}

// stays says why the pods of a node stay on it; "" when they go.
func (k *Kubelets) stays(ctx context.Context, o *corev1.Node) (event.Msg, error) {
	if why := clients.NotReady(*o); why != "" {
		return event.M("notice.upgrade-not-ready", "node", o.Name, "why", event.Clean(why)), nil
	}
	list, err := k.API().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return event.Msg{}, clients.Fault(err)
	}
	if slices.ContainsFunc(list.Items, func(is corev1.Node) bool { return is.Name != o.Name && takesPods(is) }) {
		return event.Msg{}, nil
	}
	return event.M("notice.upgrade-alone", "node", o.Name), nil
}

// takesPods says whether pods without words of their own can come to a node.
func takesPods(o corev1.Node) bool {
	keeps := func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }
	return !o.Spec.Unschedulable && clients.NotReady(o) == "" && !slices.ContainsFunc(o.Spec.Taints, keeps)
}

// startParts has those that differ run as they are to.
func startParts(ctx context.Context, parts []part) error {
	for _, p := range parts {
		ok, err := p.check(ctx)
		if err == nil && !ok {
			err = p.apply(ctx)
		}
		if err != nil && !errors.Is(err, engine.ErrUnchanged) {
			return err
		}
	}
	return nil
}

// awaitReady waits until the node is Ready in the version.
func (k *Kubelets) awaitReady(ctx context.Context, n config.Node) error {
	var last *event.Fault
	err := wait.Until(ctx, k.Ready, func(ctx context.Context) error {
		o, err := k.object(ctx, n)
		if err != nil {
			return err
		}
		if last = k.notReady(n, o); last != nil {
			return last
		}
		return nil
	})
	if err == nil || last == nil || ctx.Err() != nil || k.Dry {
		return err
	}
	last.Args["log"] = k.Driver.Log(ctx, k.Node(n.Name), driver.Kubelet)
	return last
}

// notReady is the fault of a node that is not Ready in the version of its bundle; nil when it is.
func (k *Kubelets) notReady(n config.Node, o *corev1.Node) *event.Fault {
	why := event.Clean(clients.NotReady(*o))
	want := k.BundleOf(n).Manifest().Kubernetes
	if is := o.Status.NodeInfo.KubeletVersion; why == "" && is != want {
		why = "kubelet " + event.Clean(is)
	}
	is := o.Status.NodeInfo.ContainerRuntimeVersion
	if why == "" && k.Reports != "" && !strings.HasPrefix(strings.ToLower(is), k.Reports+"://") {
		why = "container runtime " + event.Clean(is)
	}
	if why == "" {
		return nil
	}
	return event.NewFault(event.ClassFailed, "upgrade.node-not-ready", nil, "version", want, "why", why).On(n.Name)
}

// object is the Node of a node.
func (k *Kubelets) object(ctx context.Context, n config.Node) (*corev1.Node, error) {
	o, err := k.API().CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if err != nil {
		return nil, clients.Fault(err)
	}
	return o, nil
}
