package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// revisionBump makes every revision of the restored store newer than what anybody has seen of the one before, and what
// is older counts as compacted: whoever watches (API servers, kubelets, controllers) is told that its view is too old
// and reads again.
const revisionBump = 1_000_000_000

// Restore makes the whole etcd cluster again from a snapshot.
type Restore struct {
	*Members
	snapshots *Snapshots
	payload   *payload.Payload
	snap      *SnapshotFile
	begun     Begun
	Places    Places

	leases clients.Leases // since the API came back
}

// Restore is one of a snapshot that ReadSnapshot has verified: the one under way, if that is of the same file.
func (r *Etcd) Restore(snap *SnapshotFile) (*Restore, error) {
	b, err := ReadBegun(r.StateDir)
	if err != nil {
		return nil, err
	}
	if b.SHA256 != snap.SHA256 {
		b = Begun{SHA256: snap.SHA256, Token: NewToken()}
	}
	return &Restore{Members: r.Members, snapshots: r.Snapshots, payload: r.payload, snap: snap, begun: b,
		Places: b.Places(r.Driver.Paths().EtcdData)}, nil
}

// Progress is how far a restore is that was interrupted: how many members have put their old data aside, and how many
// have their new data. Nodes that are not reached do not count.
func (r *Etcd) Progress(ctx context.Context) (touched, done int, err error) {
	begun, err := ReadBegun(r.StateDir)
	if err != nil || begun.Token == "" {
		return 0, 0, err
	}
	places := begun.Places(r.Driver.Paths().EtcdData)
	for _, n := range r.Cluster.With(bundle.Etcd) {
		nd := r.Node(n.Name)
		if nd == nil {
			continue
		}
		aside, err := places.Touched(ctx, nd)
		has, err2 := places.Exchanged(ctx, nd)
		if err = errors.Join(err, err2); err != nil {
			return 0, 0, event.AsFault(err).On(n.Name)
		}
		if aside {
			touched++
		}
		if has {
			done++
		}
	}
	return touched, done, nil
}

// exchangedCount is how many members have the data of the snapshot.
func (r *Restore) exchangedCount(ctx context.Context) (n int, err error) {
	for _, m := range r.Cluster.With(bundle.Etcd) {
		yes, err := r.Places.Exchanged(ctx, r.Node(m.Name))
		if err != nil {
			return 0, err
		}
		if yes {
			n++
		}
	}
	return n, nil
}

// Prepare sends the snapshot and makes the new data of every member while the cluster runs; what cannot be made stops
// nothing.
func (r *Restore) Prepare() []*engine.Step {
	begin := plan.Step(plan.PhaseRestore, "begin", "", plan.Checked())
	begin.Check = func(ctx context.Context) (bool, error) {
		b, err := ReadBegun(r.StateDir)
		if err != nil || b != r.begun {
			return false, err
		}
		return true, r.Keep(ctx, input.KeptRestore)
	}
	begin.Apply = func(ctx context.Context) error {
		if err := r.begun.write(r.StateDir); err != nil {
			return err
		}
		return r.Keep(ctx, input.KeptRestore)
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
			yes, err := r.Places.Made(ctx, r.Node(n.Name))
			return !yes, event.M("why.restore-made"), err
		}
		send.Apply = r.On(n.Name, r.send)
		mk := plan.Step(plan.PhaseRestore, "make", n.Name, []string{send.ID, before.ID})
		mk.Timeout = 30 * time.Minute
		mk.Check = r.Ask(n.Name, r.Places.Made)
		mk.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error { return r.makeData(ctx, n, nd) })
		steps = append(steps, send, mk)
	}
	return steps
}

// snapshotBefore saves what is there, if etcd still answers.
func (r *Restore) snapshotBefore(ctx context.Context) error {
	err := r.snapshots.Save(ctx, "")
	if err == nil || ctx.Err() != nil || wait.Dry(ctx) {
		return err
	}
	if f := event.AsFault(err); f.Code == "state.write" {
		return err
	}
	return r.Emit(event.Notice{Step: engine.StepID(ctx),
		Text: event.M("notice.no-snapshot", "cause", event.Clean(err.Error()))})
}

func (r *Restore) send(ctx context.Context, nd *node.Node) error {
	changed, err := nd.Place(ctx, shell.Upload{Path: r.Places.Snapshot, Mode: 0o600, Size: r.snap.Size,
		SHA256: r.snap.SHA256, What: filepath.Base(r.snap.Path),
		Open: func() (io.ReadSeekCloser, error) { return os.Open(r.snap.Path) }})
	if err == nil && !changed {
		return engine.ErrUnchanged
	}
	return err
}

// makeData has the member's own etcdutl make its data; the members get a new cluster's identity, so that none of the
// old can join them.
func (r *Restore) makeData(ctx context.Context, n config.Node, nd *node.Node) error {
	var initial []string
	for _, m := range r.Cluster.With(bundle.Etcd) {
		initial = append(initial, m.Name+"="+layout.PeerURL(m))
	}
	fresh := r.Places.Fresh
	_, err := nd.Change(ctx, node.Change{Desc: event.M("change.restore-make", "path", fresh), Quiet: true,
		Script: dataOf(r.payload.ProgramPath(n, "etcdutl"), r.Places.Snapshot, fresh+".part", n, initial,
			r.Cluster.EtcdToken+"-"+r.begun.Token) + fmt.Sprintf("mv %s %s\nrm -f %s\n", shell.Quote(fresh+".part"),
			shell.Quote(fresh), shell.Quote(r.Places.Snapshot))})
	return err
}

// dataOf is a script that makes the data of a member out of a snapshot, in a directory that may hold what an earlier
// attempt has left.
func dataOf(etcdutl, snapshot, dir string, n config.Node, initial []string, token string) string {
	return fmt.Sprintf(`umask 077
rm -rf --one-file-system %[1]s
%[2]s snapshot restore %[3]s --data-dir %[1]s --name %[4]s --initial-cluster %[5]s --initial-cluster-token %[6]s \
  --initial-advertise-peer-urls %[7]s --bump-revision %[8]d --mark-compacted
`, shell.Quote(dir), shell.Quote(etcdutl), shell.Quote(snapshot), shell.Quote(n.Name),
		shell.Quote(strings.Join(initial, ",")), shell.Quote(token), shell.Quote(layout.PeerURL(n)),
		int64(revisionBump))
}

// exchangeScript keeps the old data, if there are any, and has the new in their place.
const exchangeScript = `if [ ! -d %[2]s ]; then if [ -d %[1]s ]; then mv %[1]s %[2]s; else mkdir -m 700 %[2]s; fi; fi
if [ -d %[3]s ]; then mv %[3]s %[1]s; fi
sync -f %[1]s 2>/dev/null || sync
`

// Exchange stops whoever writes, puts the new data in the place of the old on every member, and starts them together.
func (r *Restore) Exchange() []*engine.Step {
	members, cps := r.Cluster.With(bundle.Etcd), r.Cluster.With(bundle.ControlPlane)
	var steps []*engine.Step
	for _, n := range cps {
		s := plan.Step(plan.PhaseRestore, "stop", n.Name, plan.IDs(plan.PhaseRestore, "make", members))
		s.Timeout = 10 * time.Minute // static pods stop one after another, an API server with what it works on
		s.When = func(ctx context.Context) (bool, event.Msg, error) {
			done, err := r.exchangedCount(ctx)
			return done < len(members), event.M("why.restore-exchanged"), err
		}
		s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
			return r.Driver.Stopped(ctx, nd, driver.APIServer)
		})
		s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
			_, err := nd.Change(ctx, node.Change{Desc: event.M("change.restore-stop"),
				Script: r.Driver.Stop(driver.Scheduler, driver.ControllerManager, driver.APIServer)})
			return err
		})
		steps = append(steps, s)
	}
	for _, n := range members {
		s := plan.Step(plan.PhaseRestore, "exchange", n.Name, plan.IDs(plan.PhaseRestore, "stop", cps))
		s.Check = r.Ask(n.Name, r.Places.Exchanged)
		s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
			p := r.Places
			_, err := nd.Change(ctx, node.Change{Desc: event.M("change.restore-exchange", "path", p.Old),
				Script: r.Driver.Stop(driver.Etcd) + fmt.Sprintf(exchangeScript, shell.Quote(p.Data),
					shell.Quote(p.Old), shell.Quote(p.Fresh))})
			return err
		})
		steps = append(steps, s)
	}
	for _, n := range members {
		steps = append(steps, r.starts("etcd", n, plan.IDs(plan.PhaseRestore, "exchange", members), driver.Etcd))
	}
	health := plan.Step(plan.PhaseRestore, "health", "", plan.IDs(plan.PhaseRestore, "etcd", members))
	health.Verify, health.Timeout = r.restored, 30*time.Second
	health.Retry = engine.Retry{Tries: 60, Delay: time.Second, MaxDelay: 3 * time.Second, Polls: true}
	return append(steps, health)
}

// starts is the step that starts components which stand still; their files are as they were. Nobody waits for them: a
// member alone cannot be ready.
func (r *Restore) starts(what string, n config.Node, needs []string, cs ...driver.Component) *engine.Step {
	s := plan.Step(plan.PhaseRestore, what, n.Name, needs)
	var names []string
	for _, c := range cs {
		names = append(names, string(c))
	}
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		if wait.Dry(ctx) { // what runs now will have been stopped
			return false, nil
		}
		return r.Driver.Runs(ctx, nd, cs...)
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		_, err := nd.Change(ctx, node.Change{Desc: event.M("change.start", "unit", strings.Join(names, " ")),
			Script: r.Driver.Resume(cs...)})
		return err
	})
	return s
}

// restored: every member answers, and with the restored data.
func (r *Restore) restored(ctx context.Context) error {
	if err := r.Health(ctx); err != nil {
		return err
	}
	first := r.Cluster.With(bundle.Etcd)[0]
	c, err := r.EtcdClient(ctx, []string{layout.ClientURL(first)}, r.Node(first.Name))
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

// ComeBack starts the control planes, waits for them by apiReady, and for every kubelet to be heard of again.
func (r *Restore) ComeBack(apiReady func(context.Context) error) []*engine.Step {
	cps := r.Cluster.With(bundle.ControlPlane)
	var steps []*engine.Step
	for _, n := range cps {
		steps = append(steps, r.starts("apiserver", n, []string{plan.ID(plan.PhaseRestore, "health", "")},
			driver.APIServer))
	}
	ready := plan.Step(plan.PhaseRestore, "ready", "", plan.IDs(plan.PhaseRestore, "apiserver", cps))
	ready.Verify, ready.Timeout = apiReady, 30*time.Second
	ready.Retry = engine.Retry{Tries: 120, Delay: 500 * time.Millisecond, MaxDelay: 2 * time.Second, Polls: true}
	steps = append(steps, ready)
	last := []string{ready.ID}
	for _, n := range cps {
		s := r.starts("controllers", n, []string{ready.ID}, driver.ControllerManager, driver.Scheduler)
		steps, last = append(steps, s), append(last, s.ID)
	}
	for _, n := range inventory.Kubelets(r.Cluster) {
		s := plan.Step(plan.PhaseRestore, "kubelet", n.Name, []string{ready.ID})
		s.When = r.whenThere(n)
		s.Check = func(ctx context.Context) (bool, error) { return r.registered(ctx, n) }
		s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
			_, err := nd.Change(ctx, node.Change{Desc: event.M("change.start", "unit", string(driver.Kubelet)),
				Script: r.Driver.Restart(driver.Kubelet)})
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

func (r *Restore) whenThere(n config.Node) func(context.Context) (bool, event.Msg, error) {
	return func(context.Context) (bool, event.Msg, error) {
		return r.Node(n.Name) != nil, event.M("why.restore-gone"), nil
	}
}

// registered: the snapshot has the Node object. A kubelet makes it at its start alone.
func (r *Restore) registered(ctx context.Context, n config.Node) (bool, error) {
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
func (r *Restore) heard(ctx context.Context, n config.Node) error {
	obj, err := r.API().CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if err != nil {
		return clients.Fault(err)
	}
	if renewed, err := r.leases.Renewed(ctx, r.API(), n.Name); err != nil {
		return err
	} else if !renewed {
		return wait.Again("check.node-not-ready", "why", "no new lease yet").On(n.Name)
	}
	if why := clients.NotReady(*obj); why != "" {
		return wait.Again("check.node-not-ready", "why", event.Clean(why)).On(n.Name)
	}
	return nil
}

// end forgets the restore and says where the old data are.
func (r *Restore) end(ctx context.Context) error {
	if wait.Dry(ctx) {
		return engine.ErrUnchanged
	}
	for _, n := range r.Cluster.With(bundle.Etcd) {
		if err := r.Emit(event.Notice{Host: n.Name, Step: engine.StepID(ctx),
			Text: event.M("notice.restore-old", "path", r.Places.Old)}); err != nil {
			return err
		}
	}
	if err := forgetBegun(r.StateDir); err != nil {
		return err
	}
	return r.Keep(ctx, input.KeptRestore)
}
