package phases_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// dryRun plays a plan and proves that neither the machines nor the state directory nor what the API server keeps have
// changed.
func dryRun(t *testing.T, l *phasestest.Lab, plan func(phases.Env) *engine.Plan) (*book, engine.Summary) {
	t.Helper()
	state := t.TempDir()
	if err := os.CopyFS(filepath.Join(state, "s"), os.DirFS(l.StateDir())); err != nil {
		t.Fatal(err)
	}
	before, own, api := tree(t, l), files(t, l.StateDir()), l.API.Paths()
	b := &book{}
	env := l.Env(b.emit)
	env.StateDir = filepath.Join(state, "s")
	sum, err := engine.Run(t.Context(), phases.DryRun(env, plan), quick(b))
	if err != nil {
		t.Fatalf("%v %+v %v", err, sum.Failed, b.findings())
	}
	if diff := cmp.Diff(before, tree(t, l)); diff != "" {
		t.Error("a dry run changed machines:", diff)
	}
	if diff := cmp.Diff(own, files(t, l.StateDir())); diff != "" {
		t.Error("a dry run changed the state directory:", diff)
	}
	if diff := cmp.Diff(api, l.API.Paths()); diff != "" {
		t.Error("a dry run changed the cluster:", diff)
	}
	return b, sum
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		out[p] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// changes are the keys of what was announced for a host.
func changes(b *book, host string) []string {
	var out []string
	for _, c := range of[event.Change](b) {
		if c.Host == host && !slices.Contains(out, c.Desc.Key) {
			out = append(out, c.Desc.Key)
		}
	}
	slices.Sort(out)
	return out
}

func TestADryRunTellsEverythingAndChangesNothing(t *testing.T) {
	l := newLab(t, 1)
	b, sum := dryRun(t, l, phases.Deploy)
	for _, host := range []string{"m1", "w1"} {
		for _, want := range []string{"change.claim", "change.file", "change.hosts", "change.kernel", "change.start",
			"change.upload"} {
			if !slices.Contains(changes(b, host), want) {
				t.Errorf("%s: %s is not in %v", host, want, changes(b, host))
			}
		}
	}
	if len(sum.Changed) < 20 {
		t.Error(sum.Changed)
	}

	// On a cluster that is made there is nothing to do.
	l = deployed(t, workers(1))
	if b, sum = dryRun(t, l, phases.Deploy); len(sum.Changed) > 0 || len(of[event.Change](b)) > 0 {
		t.Errorf("a finished cluster would be changed: %v %+v", sum.Changed, of[event.Change](b))
	}
	// What somebody has spoilt is what would be done.
	put(t, l.Nodes["w1"].Path("/etc/kubernetes/kube-proxy.yaml"), "spoilt")
	if b, sum = dryRun(t, l, phases.Deploy); !slices.Equal(sum.Changed, []string{"bootstrap.proxy/w1"}) ||
		len(changes(b, "m1")) > 0 {
		t.Errorf("%v %v", sum.Changed, changes(b, "m1"))
	}
	deploy(t, l)

	b, _ = dryRun(t, l, purge)
	for _, want := range []string{"change.undo-services", "change.undo-files", "change.undo-directories",
		"change.forget"} {
		if !slices.Contains(changes(b, "w1"), want) {
			t.Errorf("%s is not in %v", want, changes(b, "w1"))
		}
	}
	if _, sum = dryRun(t, l, phases.Deploy); len(sum.Changed) > 0 {
		t.Errorf("the dry run of a cleanup left a mark: %v", sum.Changed)
	}
}

// dialed counts the connections to etcd.
type dialed struct {
	node.Host
	etcd *atomic.Int32
}

func (d dialed) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if strings.HasSuffix(addr, ":2379") {
		d.etcd.Add(1)
	}
	return d.Host.Dial(ctx, network, addr)
}

// An etcd that is not there yet is asked once for each question, not until a time is over: a person waits for the plan.
func TestADryRunDoesNotWaitForEtcd(t *testing.T) {
	t.Parallel()
	l := newLab(t, 0)
	var etcd atomic.Int32
	b := &book{}
	env := l.Env(b.emit)
	connect := env.Connect
	env.Connect = func(ctx context.Context, n config.Node) (node.Host, error) {
		h, err := connect(ctx, n)
		return dialed{h, &etcd}, err
	}
	if sum, err := engine.Run(t.Context(), phases.DryRun(env, phases.Deploy), quick(b)); err != nil {
		t.Fatal(err, sum)
	}
	// Six questions, each dialed once; until their time was over they dialed more than twice as often.
	if etcd.Load() > 8 {
		t.Errorf("etcd was dialed %d times", etcd.Load())
	}
}
