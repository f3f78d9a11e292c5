package etcd_test

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases/component/etcd"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/testkit/eventtest"
)

// step is the one of a name.
func step(t *testing.T, steps []*engine.Step, id string) *engine.Step {
	t.Helper()
	i := slices.IndexFunc(steps, func(s *engine.Step) bool { return s.ID == id })
	if i < 0 {
		t.Fatal("no step", id)
	}
	return steps[i]
}

// The same file restored again is the restore that was begun, until that has ended.
func TestARestoreContinuesWhereItWasInterrupted(t *testing.T) {
	f := newFake(t, "e1")
	var kept []input.Kept
	f.env.Persist = func(_ context.Context, what input.Kept) error { kept = append(kept, what); return nil }
	of := func(sum string) (*etcd.Restore, *engine.Step) {
		t.Helper()
		r, err := f.Restore(&etcd.SnapshotFile{SHA256: sum})
		if err != nil {
			t.Fatal(err)
		}
		return r, step(t, r.Prepare(), "restore.begin")
	}
	first, begin := of("a")
	if done, err := begin.Check(t.Context()); done || err != nil {
		t.Fatal("begun before it was:", err)
	}
	if err := begin.Apply(t.Context()); err != nil || !slices.Equal(kept, []input.Kept{input.KeptRestore}) {
		t.Fatal(err, kept)
	}
	again, begin := of("a")
	if done, err := begin.Check(t.Context()); !done || err != nil || again.Places != first.Places {
		t.Error("it begins again:", again.Places, first.Places, err)
	}
	other, begin := of("b")
	if done, err := begin.Check(t.Context()); done || err != nil || other.Places == first.Places {
		t.Error("another file continues it", err)
	}
	end := step(t, again.ComeBack(nil), "check.restored")
	for range 2 {
		if err := end.Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := etcd.ReadBegun(f.env.StateDir); err != nil || b.Token != "" {
		t.Error("it is still under way:", b, err)
	}
	if got := f.notices(); !slices.Contains(got, "notice.restore-old") {
		t.Errorf("told %q", got)
	}
	if err := os.WriteFile(filepath.Join(f.env.StateDir, "restore.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := f.Restore(&etcd.SnapshotFile{})
	eventtest.Fault(t, err, "state.read", "restore.json")
}

func TestHowFarARestoreIsCountsTheMembersThatAreReached(t *testing.T) {
	f := newFake(t, "e1 e2 e3 e4")
	f.says = func(name, script string) string {
		if name == "e1" || name == "e2" && !strings.Contains(script, "restore-") {
			return "yes\n"
		}
		return ""
	}
	f.SetNode("e4", nil)
	if touched, done, err := f.Progress(t.Context()); touched != 0 || done != 0 || err != nil {
		t.Error("none is under way:", touched, done, err)
	}
	r, err := f.Restore(&etcd.SnapshotFile{SHA256: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if err := step(t, r.Prepare(), "restore.begin").Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if touched, done, err := f.Progress(t.Context()); touched != 2 || done != 1 || err != nil {
		t.Errorf("%d touched, %d done, %v", touched, done, err)
	}
}

// A member that answers with the old data was not restored, whatever it says of its health.
func TestARestoreIsVerifiedByItsRevision(t *testing.T) {
	f := newFake(t, "e1 e2")
	r, err := f.Restore(&etcd.SnapshotFile{Revision: 7})
	if err != nil {
		t.Fatal(err)
	}
	health := step(t, r.Exchange(), "restore.health")
	f.revision = 1_000_000_006
	got := eventtest.Fault(t, health.Verify(t.Context()), "restore.not-restored", "")
	if got.Node != "e1" || got.Args["revision"] != "1000000006" || got.Retry {
		t.Errorf("%+v", got)
	}
	f.revision++
	if err := health.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	f.sick["e2"] = true
	if got := eventtest.Fault(t, health.Verify(t.Context()), "etcd.unhealthy", ""); got.Node != "e2" {
		t.Errorf("%+v", got)
	}
}

// answering has an API server that answers paths with documents, and 404 where there is none.
func answering(t *testing.T, f *fake, docs map[string]string) {
	t.Helper()
	pair := f.PKI().Nodes["e1"].APIServer
	cert, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		f.mu.Lock()
		doc, ok := docs[q.URL.Path]
		f.mu.Unlock()
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			doc = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
		}
		_, _ = io.WriteString(w, doc)
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(s.Close)
	f.api = s.Listener.Addr()
	if err := f.ConnectAPI(); err != nil {
		t.Fatal(err)
	}
}

// What the snapshot says of a node is history: it may say that the node is ready.
func TestANodeIsHeardOfWhenItsLeaseIsRenewed(t *testing.T) {
	f := newFake(t, "e1")
	const object, lease = "/api/v1/nodes/e1", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/e1"
	docs := map[string]string{}
	set := func(path, doc string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		docs[path] = doc
	}
	renewed := func(at string) string { return `{"spec": {"renewTime": "2026-01-01T00:00:` + at + `.000000Z"}}` }
	ready := func(is string) string {
		return `{"status": {"conditions": [{"type": "Ready", "status": "` + is + `", "reason": "Why"}]}}`
	}
	answering(t, f, docs)
	r, err := f.Restore(&etcd.SnapshotFile{})
	if err != nil {
		t.Fatal(err)
	}
	steps := r.ComeBack(nil)
	kubelet, heard := step(t, steps, "restore.kubelet/e1"), step(t, steps, "check.heard/e1")
	if done, err := kubelet.Check(t.Context()); done || err != nil {
		t.Error("the kubelet need not make its Node again", err)
	}
	set(object, ready("True"))
	set(lease, renewed("01"))
	if done, err := kubelet.Check(t.Context()); !done || err != nil {
		t.Error("the Node is there", err)
	}
	for range 2 {
		if got := eventtest.Fault(t, heard.Verify(t.Context()), "check.node-not-ready", ""); !got.Retry ||
			got.Args["why"] != "no new lease yet" {
			t.Errorf("%+v", got)
		}
	}
	set(lease, renewed("02"))
	set(object, ready("False"))
	if got := eventtest.Fault(t, heard.Verify(t.Context()), "check.node-not-ready", ""); got.Args["why"] != "Why: " {
		t.Errorf("%+v", got)
	}
	set(object, ready("True"))
	if err := heard.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// host is this machine's, for scripts that only ask.
type host struct{ node.Host }

func (host) Run(ctx context.Context, c shell.Command) (shell.Result, error) {
	out, err := exec.CommandContext(ctx, "sh", "-c", c.Script).Output()
	return shell.Result{Stdout: out}, err
}

func TestHowFarAMemberIsShowsInItsDirectories(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's here")
	nd, p := node.New(host{}, nil), etcd.Begun{Token: "x"}.Places(filepath.Join(dir, "data"))
	for i, c := range []struct {
		dirs []string
		want string
	}{
		{nil, ""}, {[]string{p.Data}, ""}, {[]string{p.Data, p.Fresh}, "made"},
		{[]string{p.Old, p.Fresh}, "made touched"}, {[]string{p.Old, p.Data}, "made touched exchanged"},
		{[]string{p.Old}, "made touched exchanged"},
	} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		for _, d := range c.dirs {
			if err := os.MkdirAll(d, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, q := range []struct {
			name string
			ask  func(context.Context, *node.Node) (bool, error)
		}{{"made", p.Made}, {"touched", p.Touched}, {"exchanged", p.Exchanged}} {
			yes, err := q.ask(t.Context(), nd)
			if err != nil {
				t.Fatal(err)
			}
			if yes {
				got = append(got, q.name)
			}
		}
		if is := strings.Join(got, " "); is != c.want {
			t.Errorf("%d: %q, want %q", i, is, c.want)
		}
	}
}
