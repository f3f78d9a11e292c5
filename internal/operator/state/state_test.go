package state

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/testkit/operatortest"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// tree returns the regular files below a directory, by their path in it.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, _ := filepath.Rel(dir, at)
		data, err := os.ReadFile(at)
		out[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// counted is a client that counts the writes to Secrets by name.
type counted struct{ writes map[string]int }

func (c *counted) client() client.WithWatch {
	c.writes = map[string]int{}
	count := func(o client.Object) {
		if _, is := o.(*corev1.Secret); is {
			c.writes[o.GetName()]++
		}
	}
	return fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			count(o)
			return w.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			count(o)
			return w.Update(ctx, o, opts...)
		},
	}).Build()
}

// does runs a request to its end.
func does(t *testing.T, q request.Request, d operation.Deps) operation.Result {
	t.Helper()
	h, err := operation.Start(t.Context(), q, d)
	if err != nil {
		t.Fatal(err)
	}
	res, err := h.Wait(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", q.Verb(), err)
	}
	return res
}

// needless reports whether a file of a cluster's directory is not needed by a later run.
func needless(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return slices.Contains([]string{"runs", "format", "lock", "snapshots", "backups", "deploy.yaml.cleaned"}, first)
}

// A directory that is filled from the Secrets is the one that was persisted: a second deploy from it changes nothing,
// and a cleanup from it leaves nothing.
func TestStore(t *testing.T) {
	m := operatortest.NewMachines(t, phasestest.Shape{Masters: 1, Workers: 1})
	counts := &counted{}
	c, claim, disk := counts.client(), t.TempDir(), t.TempDir()
	deps := func() operation.Deps {
		return m.Deps(New(Options{Client: c, Namespace: "ns", Root: m.Root(), Snapshots: claim, Runs: disk}))
	}
	away := func() {
		if err := os.RemoveAll(m.Lab.StateDir()); err != nil {
			t.Fatal(err)
		}
	}
	away()
	deploy := request.Deploy{Common: request.Common{
		Source: request.Source{File: "/spec/deploy.yaml", Text: m.Lab.DeployYAML()}}}
	if res := does(t, deploy, deps()); res.Outcome != event.Changed {
		t.Fatalf("%+v", res)
	}
	had := tree(t, m.Lab.StateDir())
	maps.DeleteFunc(had, func(name, _ string) bool { return needless(name) })
	for _, name := range []string{"pki/ca.key", "admin.conf", "deploy.yaml", "owner.json"} {
		if had[name] == "" {
			t.Error("the deploy has not written", name)
		}
	}
	away()
	if _, err := New(Options{Client: c, Namespace: "ns", Root: m.Root()}).Read(t.Context(), "sim"); err != nil {
		t.Fatal(err)
	}
	has := tree(t, m.Lab.StateDir())
	for name, text := range had {
		if has[name] != text {
			t.Errorf("%s: had %d bytes, and has %d", name, len(text), len(has[name]))
		}
	}
	for name := range has {
		info, err := os.Stat(filepath.Join(m.Lab.StateDir(), name))
		if err != nil || !needless(name) && (had[name] == "" || info.Mode().Perm() != 0o600) {
			t.Error("not as it was:", name, info, err)
		}
	}
	away()
	before := maps.Clone(counts.writes)
	if res := does(t, deploy, deps()); res.Changed != 0 {
		t.Errorf("the second deploy: %+v", res)
	}
	for _, p := range parts() { // the mark of the lock; progress also has the number of the run
		want := map[v1.StatePart]int{v1.StateProgress: 2}[p.name]
		if n := counts.writes[p.secret("sim")] - before[p.secret("sim")]; n != max(want, 1) {
			t.Errorf("%s was written %d times", p.name, n)
		}
	}
	away()
	does(t, request.Snapshot{Common: request.OfCluster("sim")}, deps())
	away()
	does(t, request.Cleanup{Common: request.OfCluster("sim")}, deps())
	if found, err := filepath.Glob(filepath.Join(claim, "sim", "snapshots", "*.db")); err != nil || len(found) == 0 {
		t.Error("snapshots on the claim:", found, err)
	}
	logs, err := filepath.Glob(filepath.Join(disk, "sim", "runs", "*", "events.jsonl"))
	if err != nil || len(logs) != 4 {
		t.Error("logs on the disk:", logs, err)
	}
	left := map[string]int{}
	for _, p := range v1.StateParts() {
		name := v1.StateSecret("sim", p)
		s := &corev1.Secret{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, s); err != nil {
			t.Fatal(err)
		}
		left[name] = size(s.Data)
	}
	if left["sim-state-pki"]+left["sim-state-config"]+left["sim-state-progress"] != 0 {
		t.Errorf("after a cleanup: %v", left)
	}
}

// Every part that a run persists has a Secret, but for snapshots.
func TestParts(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../phases/node/input/kept.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		v, is := n.(*ast.ValueSpec)
		if !is {
			return true
		}
		name, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		found++
		if _, known := partOf(input.Kept(name)); known == (name == string(input.KeptSnapshots)) {
			t.Errorf("%s has a Secret: %v", name, known)
		}
		return true
	})
	if found < 11 {
		t.Errorf("only %d parts were found", found)
	}
}

// opened returns the files of the cluster "c", whose lock is held.
func opened(t *testing.T, o Options) operation.Files {
	t.Helper()
	o.Namespace = "ns"
	if o.Root == "" {
		o.Root = t.TempDir()
	}
	f, err := New(o).Open(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	l, err := f.Lock(t.Context(), journal.Holder{Program: "eggops", Host: "pod"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Unlock() })
	return f
}

func put(t *testing.T, f operation.Files, name, text string) {
	t.Helper()
	at := filepath.Join(f.Dir(), name)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func code(err error) string {
	if f := event.AsFault(err); f != nil {
		return f.Code
	}
	return ""
}

func secretOf(t *testing.T, c client.Client, part string) *corev1.Secret {
	t.Helper()
	s := &corev1.Secret{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "c-state-" + part}, s); err != nil {
		t.Fatal(err)
	}
	return s
}

// Who has the lock next reads what was persisted, and who had it before writes nothing more.
func TestPersist_AnotherHolder(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	first := opened(t, Options{Client: c})
	put(t, first, "known_hosts", "one")
	if err := first.Persist(t.Context(), input.KeptKnownHosts); err != nil {
		t.Fatal(err)
	}
	s := secretOf(t, c, "access")
	if string(s.Data["known_hosts"]) != "one" || s.Type != v1.SecretTypeState || s.Labels[v1.LabelCluster] != "c" ||
		!slices.Contains(s.Finalizers, v1.FinalizerState) || len(s.OwnerReferences) > 0 {
		t.Errorf("%+v", s)
	}
	free := free("ns", "c") // the first process hangs, and its Lease is over
	if err := c.Delete(t.Context(), free); err != nil {
		t.Fatal(err)
	}
	second := opened(t, Options{Client: c})
	put(t, first, "known_hosts", "stale")
	if err := first.Persist(t.Context(), input.KeptKnownHosts); code(err) != "state.conflict" {
		t.Error(err)
	}
	if got := tree(t, second.Dir())["known_hosts"]; got != "one" {
		t.Error(got)
	}
	put(t, second, "known_hosts", "two")
	if err := second.Persist(t.Context(), input.KeptKnownHosts); err != nil {
		t.Error(err)
	}
	if got := string(secretOf(t, c, "access").Data["known_hosts"]); got != "two" {
		t.Error(got)
	}
}

// What others do to a Secret meanwhile.
func TestPersist_ChangedByOthers(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.Secret)
		code   string
	}{
		"a label": {change: func(s *corev1.Secret) { s.Labels["team"] = "a" }},
		"the data": {change: func(s *corev1.Secret) { s.Data = map[string][]byte{"admin.conf": []byte("theirs")} },
			code: "state.conflict"},
		"our write": {change: func(s *corev1.Secret) { s.Data = map[string][]byte{"known_hosts": []byte("ours")} }},
		"removed":   {change: nil, code: "state.conflict"},
	} {
		c := fake.NewClientBuilder().Build()
		f := opened(t, Options{Client: c})
		s := secretOf(t, c, "access")
		if tc.change != nil {
			tc.change(s)
		} else {
			s.Finalizers = nil
		}
		if err := c.Update(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if tc.change == nil {
			if err := c.Delete(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		put(t, f, "known_hosts", "ours")
		if err := f.Persist(t.Context(), input.KeptKnownHosts); code(err) != tc.code {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if tc.code == "" {
			s := secretOf(t, c, "access")
			if string(s.Data["known_hosts"]) != "ours" || name == "a label" && s.Labels["team"] != "a" {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
}

// What is too large is refused before a machine is changed: a deploy.yaml by the certificates that it would take.
func TestTooLarge(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	f := opened(t, Options{Client: c})
	put(t, f, "known_hosts", strings.Repeat("x", Limit))
	if err := f.Persist(t.Context(), input.KeptKnownHosts); code(err) != "state.too-large" {
		t.Error(err)
	}
	if n := size(secretOf(t, c, "access").Data); n != 0 {
		t.Error(n)
	}
	many := string(deployYAML(t, 3000))
	if err := f.SaveConfig(t.Context(), []byte(many)); code(err) != "state.too-large" {
		t.Error(err)
	}
	if _, _, err := f.Config(); !os.IsNotExist(err) {
		t.Error("deploy.yaml was written", err)
	}
	if err := f.SaveConfig(t.Context(), deployYAML(t, 1000)); err != nil {
		t.Error(err)
	}
	if err := f.Persist(t.Context(), input.KeptSnapshots); code(err) != "state.no-snapshots" {
		t.Error(err)
	}
}

// deployYAML returns a deploy.yaml with that many workers.
func deployYAML(t *testing.T, workers int) []byte {
	t.Helper()
	var b strings.Builder
	b.WriteString("cluster-id: c\nusername: root\nprivate-key-path: /k\nmasters:\n" +
		"- {name: m1, ip: 10.0.0.1, port: 22, arch: amd64}\nnodes:\n")
	for i := range workers {
		b.WriteString("- {name: w" + strconv.Itoa(i) + ", ip: 10.1." + strconv.Itoa(i/250) + "." +
			strconv.Itoa(i%250+1) + ", port: 22, arch: amd64}\n")
	}
	b.WriteString("network: {podcidr: 10.128.0.0/9, plugin: flannel}\npackage-src: {type: tar.gz, x86src: /b.tar.gz}\n")
	return []byte(b.String())
}

// A Secret that is not what this package writes is refused, and nothing is written.
func TestFill_Refused(t *testing.T) {
	ours := func(change func(*corev1.Secret)) *corev1.Secret {
		s := empty("ns", "c", parts()[0])
		change(s)
		return s
	}
	for name, tc := range map[string]struct {
		secret *corev1.Secret
		code   string
	}{
		"hostile archive": {ours(func(s *corev1.Secret) {
			s.Data = map[string][]byte{"pki.tgz": []byte("no")}
		}), "state.damaged"},
		"another type":    {ours(func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque }), "state.damaged"},
		"another cluster": {ours(func(s *corev1.Secret) { s.Labels[v1.LabelCluster] = "d" }), "state.damaged"},
		"newer": {ours(func(s *corev1.Secret) {
			s.Annotations = map[string]string{formatAnnotation: "2"}
		}), "state.newer-format"},
	} {
		c := fake.NewClientBuilder().WithObjects(tc.secret).Build()
		root := t.TempDir()
		if _, err := New(Options{Client: c, Namespace: "ns", Root: root}).Open(t.Context(), "c"); code(err) != tc.code {
			t.Errorf("%s: %v", name, err)
		}
		if got := tree(t, root); len(got) != 1 { // the format of the directory
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, err := New(Options{Root: t.TempDir()}).Open(t.Context(), "../c"); code(err) != "journal.bad-cluster" {
		t.Error(err)
	}
}

// A copy and a reader see what the Secrets have, and change nothing.
func TestCopy(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	f := opened(t, Options{Client: c})
	put(t, f, "admin.conf", "conf")
	if err := f.Persist(t.Context(), input.KeptAdminConf); err != nil {
		t.Fatal(err)
	}
	s := New(Options{Client: c, Namespace: "ns", Root: t.TempDir()})
	other, err := s.Copy(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	if got := tree(t, other.Dir())["admin.conf"]; got != "conf" {
		t.Error(got)
	}
	if !strings.HasPrefix(other.Dir(), s.Root+"/") {
		t.Error("the copy is not in memory:", other.Dir())
	}
	if known, err := s.Known(t.Context()); err != nil || len(known) != 1 {
		t.Error(known, err)
	}
	put(t, other, "admin.conf", "other")
	if err := other.Persist(t.Context(), input.KeptAdminConf); err != nil {
		t.Error(err)
	}
	if got := string(secretOf(t, c, "access").Data["admin.conf"]); got != "conf" {
		t.Error(got)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}

func TestRemove(t *testing.T) {
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "d-state-pki"}}
	c := fake.NewClientBuilder().WithObjects(theirs).Build()
	for range 2 {
		if err := Ensure(t.Context(), c, "ns", "c"); err != nil {
			t.Fatal(err)
		}
	}
	var list corev1.SecretList
	if err := c.List(t.Context(), &list); err != nil || len(list.Items) != 5 {
		t.Fatal(len(list.Items), err)
	}
	if err := c.Delete(t.Context(), secretOf(t, c, "pki")); err != nil {
		t.Fatal(err)
	}
	secretOf(t, c, "pki") // the finalizer holds it
	for range 2 {
		if err := Remove(t.Context(), c, "ns", "c"); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.List(t.Context(), &list); err != nil || len(list.Items) != 1 {
		t.Error(len(list.Items), err)
	}
	if err := Remove(t.Context(), c, "ns", "d"); code(err) != "state.secret-write" {
		t.Error("a Secret that is not ours:", err)
	}
}
