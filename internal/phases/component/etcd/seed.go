package etcd

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
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
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Seed is the snapshot that the members of a cluster begin with whose machines are new. The control host keeps it
// until the cluster is up, so that a deploy that was interrupted continues with it and with no other.
type Seed struct {
	Path   string `json:"path"` // on the control host, absolute
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
	Token  string `json:"token"`
	// Placed: all members have it. From then on a member without data is one that has lost them, and joins those that
	// have it.
	Placed bool `json:"placed,omitempty"`
}

// ReadSeed reads that of the cluster with this directory; without a token there is none.
func ReadSeed(stateDir string) (Seed, error) {
	var s Seed
	return s, input.ReadUnderWay(stateDir, input.SeedName, &s)
}

// Write keeps it.
func (s Seed) Write(stateDir string) error { return input.WriteUnderWay(stateDir, input.SeedName, s) }

// SetSeed has the members begin with what ReadSeed gave. One that cannot be read is the fault of the run: without it
// the cluster would begin with nothing.
func (r *Etcd) SetSeed(s Seed, err error) { r.seed, r.unread = s, err }

// Seeded says whether the members begin with a snapshot, be it one that cannot be read.
func (r *Etcd) Seeded() bool { return r.seed.Token != "" || r.unread != nil }

// mark on a node says that its data are those of the seed.
func (r *Etcd) mark() string { return r.Driver.Paths().EtcdData + ".seed-" + r.seed.Token }

// unseeded refuses members that have data of something else, and does what resolve does. Members that had the data and
// of which none has it any more are machines that were reinstalled: they begin with it again, under another token, so
// that nothing that is left of the first try is taken for a part of it.
func (r *Etcd) unseeded(ctx context.Context) error {
	for _, n := range r.Cluster.With(bundle.Etcd) {
		if err := r.Foreign(ctx, n, r.Node(n.Name)); err != nil {
			return err
		}
	}
	if err := r.resolve(ctx); err != nil || !r.forming() || !r.seed.Placed {
		return err
	}
	s := r.seed
	s.Token, s.Placed = NewToken(), false
	if !wait.Dry(ctx) {
		if err := s.Write(r.StateDir); err != nil {
			return err
		}
		if err := r.Keep(ctx, input.KeptSeed); err != nil {
			return err
		}
	}
	r.seed = s
	return nil
}

// NewToken is one by which what belongs together is known.
func NewToken() string { return strings.ToLower(rand.Text())[:10] }

// Foreign is the fault of a node with data of etcd that are not those of the snapshot, or why the snapshot is unknown.
func (r *Etcd) Foreign(ctx context.Context, n config.Node, nd *node.Node) error {
	if r.unread != nil {
		return r.unread
	}
	data, err := r.hasData(ctx, nd)
	if err != nil {
		return event.AsFault(err).On(n.Name)
	}
	ours, err := holds(ctx, nd, "[ -e %s ]", r.mark())
	if err != nil {
		return event.AsFault(err).On(n.Name)
	}
	if data && !ours {
		at := r.Driver.Paths().EtcdData
		return event.NewFault(event.ClassFailed, "etcd.seed-data", nil, "path", at).On(n.Name)
	}
	return nil
}

// seeds are the steps that give every member its data. None starts before all have them: they are one cluster.
func (r *Etcd) seeds(needs []string) []*engine.Step {
	members := r.Cluster.With(bundle.Etcd)
	var out []*engine.Step
	for _, n := range members {
		s := plan.Step(plan.PhaseEtcd, "seed", n.Name, needs)
		s.Lane, s.Limit, s.Timeout = plan.LaneBulk, plan.LimitUploads, time.Hour
		s.Retry = engine.Retry{Tries: 3, Delay: 2 * time.Second, MaxDelay: 30 * time.Second}
		s.When = func(context.Context) (bool, event.Msg, error) {
			return !r.seed.Placed, event.M("why.seed-placed"), nil
		}
		s.Check = r.Ask(n.Name, r.hasData)
		s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error { return r.sow(ctx, n, nd) })
		out = append(out, s)
	}
	placed := plan.Step(plan.PhaseEtcd, "seeded", "", plan.StepIDs(out))
	placed.Apply = func(ctx context.Context) error {
		if r.seed.Placed || wait.Dry(ctx) {
			return engine.ErrUnchanged
		}
		s := r.seed
		s.Placed = true
		if err := s.Write(r.StateDir); err != nil {
			return err
		}
		return r.Keep(ctx, input.KeptSeed)
	}
	return append(out, placed)
}

// sow sends the snapshot to a member, tells its driver the others, and has its own etcdutl make its data. The mark
// comes before the data have their name, and each try begins from nothing.
func (r *Etcd) sow(ctx context.Context, n config.Node, nd *node.Node) error {
	at := Begun{Token: r.seed.Token}.Places(r.Driver.Paths().EtcdData)
	if _, err := nd.Place(ctx, shell.Upload{Path: at.Snapshot, Mode: 0o600, Size: r.seed.Size, SHA256: r.seed.SHA256,
		What: filepath.Base(r.seed.Path),
		Open: func() (io.ReadSeekCloser, error) { return os.Open(r.seed.Path) }}); err != nil {
		return err
	}
	peers := r.peers()
	if err := r.Driver.Form(ctx, n, nd, driver.Formation{State: "new", Members: peers}); err != nil {
		return err
	}
	var initial []string
	for name, url := range peers {
		initial = append(initial, name+"="+url)
	}
	slices.Sort(initial)
	_, err := nd.Change(ctx, node.Change{Desc: event.M("change.restore-make", "path", at.Data), Quiet: true,
		Script: dataOf(r.payload.ProgramPath(n, "etcdutl"), at.Snapshot, at.Fresh+".part", n, initial,
			r.Cluster.EtcdToken+"-"+r.seed.Token) + fmt.Sprintf(`rmdir %[1]s 2>/dev/null || :
touch %[2]s
mv -T %[3]s %[1]s
rm -f %[4]s
`, shell.Quote(at.Data), shell.Quote(r.mark()), shell.Quote(at.Fresh+".part"), shell.Quote(at.Snapshot))})
	return err
}

// marked says of a member that joins those that began with the snapshot that its data will be theirs.
func (r *Etcd) marked(ctx context.Context, nd *node.Node) error {
	_, err := nd.Put(ctx, []node.File{layout.RootFile(r.mark(), nil)})
	return err
}

// Strangers is the step that removes from a cluster that began with a snapshot the Nodes of the machines that were
// before, and the pods on them: nobody is left who could confirm the end of these.
func (r *Etcd) Strangers(needs []string) *engine.Step {
	s := plan.Step(plan.PhaseBootstrap, "strangers", "", needs)
	s.Retry, s.Timeout = wait.Patience(), time.Minute
	s.Apply = r.removeStrangers
	return s
}

func (r *Etcd) removeStrangers(ctx context.Context) error {
	if wait.Dry(ctx) {
		return engine.ErrUnchanged
	}
	list, err := r.API().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return clients.Fault(err)
	}
	changed := false
	for _, o := range list.Items {
		if slices.ContainsFunc(r.Cluster.Nodes, func(n config.Node) bool { return n.Name == o.Name }) {
			continue
		}
		changed = true
		if err := r.Emit(event.Change{Step: engine.StepID(ctx),
			Desc: event.M("change.delete-node", "name", event.Clean(o.Name))}); err != nil {
			return err
		}
		pods, err := r.API().CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + o.Name})
		if err != nil {
			return clients.Fault(err)
		}
		for _, p := range pods.Items {
			now := int64(0)
			if err := r.API().CoreV1().Pods(p.Namespace).Delete(ctx, p.Name,
				metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil && !apierrors.IsNotFound(err) {
				return clients.Fault(err)
			}
		}
		if err := r.API().CoreV1().Nodes().Delete(ctx, o.Name, metav1.DeleteOptions{}); err != nil &&
			!apierrors.IsNotFound(err) {
			return clients.Fault(err)
		}
	}
	if !changed {
		return engine.ErrUnchanged
	}
	return nil
}

// Grown is the step that ends the beginning with a snapshot, when the steps of needs have proven the cluster.
func (r *Etcd) Grown(needs []string) *engine.Step {
	s := plan.Step(plan.PhaseCheck, "seeded", "", needs)
	s.Apply = func(ctx context.Context) error {
		if wait.Dry(ctx) {
			return engine.ErrUnchanged
		}
		if err := input.ForgetUnderWay(r.StateDir, input.SeedName); err != nil {
			return err
		}
		return r.Keep(ctx, input.KeptSeed)
	}
	return s
}
