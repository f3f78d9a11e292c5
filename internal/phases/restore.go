package phases

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/clients"
	"github.com/eggo-k8s/eggo/internal/phases/env"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/wait"
	"github.com/eggo-k8s/eggo/internal/shell"
)

// revisionBump makes every revision of the restored store newer than what anybody has seen of the one before, and what
// is older counts as compacted: whoever watches (API servers, kubelets, controllers) is told that its view is too old
// and reads anew.
const revisionBump = 1_000_000_000

// restoring is the restore under way, as the jump host keeps it until it is proven: the same command goes on where it
// was cut off, and the same file restored again later is another restore.
type restoring struct{ SHA256, Token string }

// restore is one run of it.
type restore struct {
	*run
	snap  *SnapshotFile
	token string

	mu     sync.Mutex
	leases map[string]metav1.MicroTime // as first seen after the API came back
}

// Restore plans to make the whole etcd cluster anew from a snapshot that ReadSnapshot has proven. Every member's new
// data is made beside the old while the cluster runs; then API servers and members stop, the data change places, and
// all start. The old data stay on the nodes.
func Restore(env Env, snap *SnapshotFile) (*engine.Plan, error) {
	r := &restore{run: newRun(env), snap: snap, leases: map[string]metav1.MicroTime{}}
	under, err := r.underWay()
	if err != nil {
		return nil, err
	}
	r.token = under.Token
	if under.SHA256 != snap.SHA256 {
		r.token = strings.ToLower(rand.Text())[:10]
	}
	b := plan.New(r.options(),
		plan.Phase{ID: plan.PhasePreflight, Open: true}, plan.Phase{ID: plan.PhaseRestore},
		plan.Phase{ID: plan.PhaseCheck})
	b.Add(r.preflight(nil, r.judgeRestore)...)
	b.Add(r.prepare()...)
	b.Add(r.exchange()...)
	b.Add(r.comeBack()...)
	return b.Plan(), nil
}

func (r *restore) path() string { return filepath.Join(r.StateDir, "restore.json") }

func (r *restore) underWay() (restoring, error) {
	var u restoring
	data, err := os.ReadFile(r.path())
	if errors.Is(err, os.ErrNotExist) {
		return u, nil
	}
	if err == nil {
		if err = json.Unmarshal(data, &u); err != nil {
			err = fmt.Errorf("%s: %w", r.path(), err)
		}
	}
	if err != nil {
		return u, event.NewFault(event.ClassPreflight, "state.read", err)
	}
	return u, nil
}

// The directories of a restore beside the data directory, and the snapshot on the node.
func (r *restore) fresh() string    { return r.driver.Paths().EtcdData + ".restore-" + r.token }
func (r *restore) old() string      { return r.driver.Paths().EtcdData + ".before-" + r.token }
func (r *restore) uploaded() string { return node.Dir + "/restore-" + r.token + ".db" }

// exchanged says whether the member already has its new data.
func (r *restore) exchanged(ctx context.Context, nd *node.Node) (bool, error) {
	out, err := nd.Query(ctx, fmt.Sprintf("[ ! -d %s ] || [ -d %s ] || echo yes", r.old(), r.fresh()))
	return strings.TrimSpace(out) == "yes", err
}

// exchangedCount is how many members have.
func (r *restore) exchangedCount(ctx context.Context) (n int, err error) {
	for _, m := range r.Cluster.With(bundle.Etcd) {
		yes, err := r.exchanged(ctx, r.Node(m.Name))
		if err != nil {
			return 0, err
		}
		if yes {
			n++
		}
	}
	return n, nil
}

// prepare sends the snapshot and makes the new data of every member while the cluster runs; what cannot be made stops
// nothing.
func (r *restore) prepare() []*engine.Step {
	begin := plan.Step(plan.PhaseRestore, "begin", "", plan.Verdict())
	begin.Check = func(ctx context.Context) (bool, error) {
		u, err := r.underWay()
		if err != nil || u != (restoring{r.snap.SHA256, r.token}) {
			return false, err
		}
		return true, r.Keep(ctx, env.KeptRestore)
	}
	begin.Apply = func(ctx context.Context) error {
		data, err := json.Marshal(restoring{r.snap.SHA256, r.token})
		if err == nil {
			err = renameio.WriteFile(r.path(), data, 0o600)
		}
		if err != nil {
			return event.NewFault(event.ClassFailed, "state.write", err)
		}
		return r.Keep(ctx, env.KeptRestore)
	}
	before := plan.Step(plan.PhaseRestore, "before", "", []string{begin.ID})
	before.Timeout = 30 * time.Minute
	before.When = func(ctx context.Context) (bool, event.Msg, error) {
		n, err := r.exchangedCount(ctx)
		return n == 0, event.M("why.restore-exchanged"), err
	}
	before.Apply = r.snapshotBefore
	steps := []*engine.Step{begin, before}
	for _, n := range r.Cluster.With(bundle.Etcd) {
		send := plan.Step(plan.PhaseRestore, "send", n.Name, []string{begin.ID})
		send.Lane, send.Limit, send.Timeout = plan.LaneBulk, plan.LimitUploads, 30*time.Minute
		send.Retry = engine.Retry{Tries: 5, Delay: 2 * time.Second, MaxDelay: 30 * time.Second}
		send.When = func(ctx context.Context) (bool, event.Msg, error) {
			yes, err := r.made(ctx, r.Node(n.Name))
			return !yes, event.M("why.restore-made"), err
		}
		send.Apply = r.On(n.Name, r.send)
		mk := plan.Step(plan.PhaseRestore, "make", n.Name, []string{send.ID, before.ID})
		mk.Timeout = 30 * time.Minute
		mk.Check = r.Ask(n.Name, r.made)
		mk.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error { return r.makeData(ctx, n, nd) })
		steps = append(steps, send, mk)
	}
	return steps
}

// snapshotBefore saves what is there, if etcd still answers.
func (r *restore) snapshotBefore(ctx context.Context) error {
	err := r.snapshotAny(ctx, "")
	if err == nil || ctx.Err() != nil || wait.Dry(ctx) {
		return err
	}
	if f := event.AsFault(err); f.Code == "state.write" {
		return err
	}
	return r.Emit(event.Notice{Step: engine.StepID(ctx),
		Text: event.M("notice.no-snapshot", "cause", event.Clean(err.Error()))})
}

// made says whether the member's new data are beside the old, or in their place.
func (r *restore) made(ctx context.Context, nd *node.Node) (bool, error) {
	out, err := nd.Query(ctx, fmt.Sprintf("[ -d %s ] || [ -d %s ] && echo yes || true", r.fresh(), r.old()))
	return strings.TrimSpace(out) == "yes", err
}

func (r *restore) send(ctx context.Context, nd *node.Node) error {
	changed, err := nd.Place(ctx, shell.Upload{Path: r.uploaded(), Mode: 0o600, Size: r.snap.Size,
		SHA256: r.snap.SHA256, What: filepath.Base(r.snap.Path),
		Open: func() (io.ReadSeekCloser, error) { return os.Open(r.snap.Path) }})
	if err == nil && !changed {
		return engine.ErrUnchanged
	}
	return err
}

// makeData has the member's own etcdutl make its data; the members get a new cluster's identity, so that none of the
// old can join them.
func (r *restore) makeData(ctx context.Context, n config.Node, nd *node.Node) error {
	var initial []string
	for _, m := range r.Cluster.With(bundle.Etcd) {
		initial = append(initial, m.Name+"="+layout.HTTPSURL(m.IP.String(), 2380))
	}
	part := r.fresh() + ".part"
	_, err := nd.Change(ctx, node.Change{Desc: event.M("change.restore-make", "path", r.fresh()), Quiet: true,
		Script: fmt.Sprintf(`umask 077
rm -rf --one-file-system %[1]s
%[2]s snapshot restore %[3]s --data-dir %[1]s --name %[4]s --initial-cluster %[5]s --initial-cluster-token %[6]s --initial-advertise-peer-urls %[7]s --bump-revision %[8]d --mark-compacted
mv %[1]s %[9]s
rm -f %[3]s
`, part, node.Quote(r.ProgramPath(n, "etcdutl")), r.uploaded(), node.Quote(n.Name),
			node.Quote(strings.Join(initial, ",")), node.Quote(r.Cluster.EtcdToken+"-"+r.token),
			node.Quote(layout.HTTPSURL(n.IP.String(), 2380)), int64(revisionBump), r.fresh())})
	return err
}

// exchange stops whoever writes, puts the new data in the place of the old on every member, and starts them together.
func (r *restore) exchange() []*engine.Step {
	members, cps := r.Cluster.With(bundle.Etcd), r.Cluster.With(bundle.ControlPlane)
	var steps []*engine.Step
	for _, n := range cps {
		s := plan.Step(plan.PhaseRestore, "stop", n.Name, plan.IDs(plan.PhaseRestore, "make", members))
		s.When = func(ctx context.Context) (bool, event.Msg, error) {
			done, err := r.exchangedCount(ctx)
			return done < len(members), event.M("why.restore-exchanged"), err
		}
		s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
			out, err := nd.Query(ctx, "systemctl is-active kube-apiserver.service || true")
			return strings.TrimSpace(out) == "inactive", err
		})
		s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
			_, err := nd.Change(ctx, node.Change{Desc: event.M("change.restore-stop"),
				Script: "systemctl stop kube-scheduler.service kube-controller-manager.service " +
					"kube-apiserver.service\n"})
			return err
		})
		steps = append(steps, s)
	}
	for _, n := range members {
		s := plan.Step(plan.PhaseRestore, "exchange", n.Name, plan.IDs(plan.PhaseRestore, "stop", cps))
		s.Check = r.Ask(n.Name, r.exchanged)
		s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
			_, err := nd.Change(ctx, node.Change{Desc: event.M("change.restore-exchange", "path", r.old()),
				Script: fmt.Sprintf(`systemctl stop etcd.service
if [ ! -d %[2]s ]; then if [ -d %[1]s ]; then mv %[1]s %[2]s; else mkdir -m 700 %[2]s; fi; fi
if [ -d %[3]s ]; then mv %[3]s %[1]s; fi
sync -f %[1]s 2>/dev/null || sync
`, r.driver.Paths().EtcdData, r.old(), r.fresh())})
			return err
		})
		steps = append(steps, s)
	}
	for _, n := range members {
		steps = append(steps, r.starts("etcd", n, plan.IDs(plan.PhaseRestore, "exchange", members), "etcd.service"))
	}
	health := plan.Step(plan.PhaseRestore, "health", "", plan.IDs(plan.PhaseRestore, "etcd", members))
	health.Verify, health.Timeout = r.restored, 30*time.Second
	health.Retry = engine.Retry{Tries: 60, Delay: time.Second, MaxDelay: 3 * time.Second}
	return append(steps, health)
}

// starts units of ours that stand still; their files are as they were. etcd's notify answers only once there is a
// leader, which a member alone cannot have, so nobody waits for it.
func (r *restore) starts(what string, n config.Node, needs []string, units ...string) *engine.Step {
	s := plan.Step(plan.PhaseRestore, what, n.Name, needs)
	names := strings.Join(units, " ")
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		if wait.Dry(ctx) { // what runs now will have been stopped
			return false, nil
		}
		out, err := nd.Query(ctx, "for u in "+names+"; do systemctl is-active $u || true; done\n")
		return strings.Count(out, "active\n") == len(units) && !strings.Contains(out, "inactive"), err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		_, err := nd.Change(ctx, node.Change{Desc: event.M("change.start", "unit", names),
			Script: "systemctl start --no-block " + names + "\n"})
		return err
	})
	return s
}

// restored: every member answers, and with the restored data.
func (r *restore) restored(ctx context.Context) error {
	if err := r.etcdHealth(ctx); err != nil {
		return err
	}
	first := r.Cluster.With(bundle.Etcd)[0]
	c, err := r.EtcdClient(ctx, []string{"https://" + first.IP.String() + ":2379"}, r.Node(first.Name))
	if err != nil {
		return err
	}
	defer c.Close()
	got, err := c.Get(ctx, "health")
	if err != nil {
		return wait.Again("etcd.unhealthy", "log", "").On(first.Name)
	}
	if got.Header.Revision < r.snap.Revision+revisionBump {
		return event.NewFault(event.ClassFailed, "restore.not-restored", nil, "revision",
			strconv.FormatInt(got.Header.Revision, 10)).On(first.Name)
	}
	return nil
}

// comeBack starts the control planes and waits for every kubelet to be heard of again.
func (r *restore) comeBack() []*engine.Step {
	cps := r.Cluster.With(bundle.ControlPlane)
	var steps []*engine.Step
	for _, n := range cps {
		steps = append(steps, r.starts("apiserver", n, []string{plan.ID(plan.PhaseRestore, "health", "")},
			"kube-apiserver.service"))
	}
	ready := plan.Step(plan.PhaseRestore, "ready", "", plan.IDs(plan.PhaseRestore, "apiserver", cps))
	ready.Verify, ready.Timeout = r.control.Ready, 30*time.Second
	ready.Retry = engine.Retry{Tries: 120, Delay: 500 * time.Millisecond, MaxDelay: 2 * time.Second}
	steps = append(steps, ready)
	last := []string{ready.ID}
	for _, n := range cps {
		s := r.starts("controllers", n, []string{ready.ID}, "kube-controller-manager.service", "kube-scheduler.service")
		steps, last = append(steps, s), append(last, s.ID)
	}
	for _, n := range nodes.Kubelets(r.Cluster) {
		s := plan.Step(plan.PhaseRestore, "kubelet", n.Name, []string{ready.ID})
		s.When = r.whenThere(n)
		s.Check = func(ctx context.Context) (bool, error) { return r.registered(ctx, n) }
		s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
			_, err := nd.Change(ctx, node.Change{Desc: event.M("change.start", "unit", "kubelet.service"),
				Script: "systemctl restart kubelet.service\n"})
			return err
		})
		heard := plan.Step(plan.PhaseCheck, "heard", n.Name, []string{s.ID})
		heard.When = r.whenThere(n)
		heard.Verify = func(ctx context.Context) error { return r.heard(ctx, n) }
		heard.Retry, heard.Timeout = wait.Patience(), 30*time.Second
		steps, last = append(steps, s, heard), append(last, heard.ID)
	}
	end := plan.Step(plan.PhaseCheck, "restored", "", last)
	end.Apply = r.end
	return append(steps, end)
}

func (r *restore) whenThere(n config.Node) func(context.Context) (bool, event.Msg, error) {
	return func(context.Context) (bool, event.Msg, error) {
		return r.Node(n.Name) != nil, event.M("why.restore-gone"), nil
	}
}

// registered: the snapshot has the Node object. A kubelet makes it at its start alone.
func (r *restore) registered(ctx context.Context, n config.Node) (bool, error) {
	_, err := r.API().CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, clients.Fault(err)
	}
	return true, nil
}

// heard: the node is Ready, and its kubelet has renewed its lease since the API is back: what the snapshot says of it
// is history.
func (r *restore) heard(ctx context.Context, n config.Node) error {
	obj, err := r.API().CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if err != nil {
		return clients.Fault(err)
	}
	lease, err := r.API().CoordinationV1().Leases("kube-node-lease").Get(ctx, n.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease, err = &coordinationv1.Lease{}, nil
	}
	if err != nil {
		return clients.Fault(err)
	}
	var renewed metav1.MicroTime
	if lease.Spec.RenewTime != nil {
		renewed = *lease.Spec.RenewTime
	}
	r.mu.Lock()
	first, seen := r.leases[n.Name]
	if !seen {
		r.leases[n.Name], first = renewed, renewed
	}
	r.mu.Unlock()
	if renewed.Equal(&first) {
		return wait.Again("check.node-not-ready", "why", "no new lease yet").On(n.Name)
	}
	if why := clients.NotReady(*obj); why != "" {
		return wait.Again("check.node-not-ready", "why", event.Clean(why)).On(n.Name)
	}
	return nil
}

// end forgets the restore and says where the old data are.
func (r *restore) end(ctx context.Context) error {
	if wait.Dry(ctx) {
		return engine.ErrUnchanged
	}
	for _, n := range r.Cluster.With(bundle.Etcd) {
		if err := r.Emit(event.Notice{Host: n.Name, Step: engine.StepID(ctx),
			Text: event.M("notice.restore-old", "path", r.old())}); err != nil {
			return err
		}
	}
	if err := os.Remove(r.path()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return r.Keep(ctx, env.KeptRestore)
}
