package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/exitcode"
	"github.com/eggo-k8s/eggo/internal/testkit/operatortest"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// world is a namespace with an Operation, and the machines of the cluster "sim".
type world struct {
	*operatortest.Machines
	client client.WithWatch
	logins string
	claim  string
	out    *output
}

// output is stdout, which several goroutines may read and write.
type output struct {
	mu sync.Mutex
	bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.String()
}

func newWorld(t *testing.T, shape phasestest.Shape, between interceptor.Funcs) *world {
	t.Helper()
	w := &world{Machines: operatortest.NewMachines(t, shape), client: operatortest.Client(t, between),
		logins: t.TempDir(), claim: t.TempDir(), out: &output{}}
	w.away(t)
	return w
}

// away throws the directory of the cluster away, as the end of a pod does.
func (w *world) away(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(w.Lab.StateDir()); err != nil {
		t.Fatal(err)
	}
}

// asks makes an Operation, with a request and a deploy.yaml where they are not nil.
func (w *world) asks(t *testing.T, name string, spec v1.OperationSpec, q request.Request, yaml []byte) {
	t.Helper()
	spec.ClusterRef.Name = "sim"
	op := &v1.Operation{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)},
		Spec: spec}
	in := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: v1.InputSecret(name)},
		Data: map[string][]byte{}}
	if q != nil {
		text, err := request.Encode(q)
		if err != nil {
			t.Fatal(err)
		}
		in.Data[v1.InputRequest] = text
	}
	if yaml != nil {
		in.Data[v1.InputConfig] = yaml
	}
	for _, o := range []client.Object{op, in} {
		if err := w.client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) options(name string) Options {
	return Options{Client: w.client, Namespace: "ns", Operation: name, Pod: name + "-pod", State: w.Root(),
		Logins: w.logins, Snapshots: w.claim, Backups: w.claim, Deps: w.Deps(nil), Out: w.out}
}

// runs does an Operation in a new pod, and returns its error and its status.
func (w *world) runs(t *testing.T, name string) (v1.OperationStatus, error) {
	t.Helper()
	w.away(t)
	err := Run(t.Context(), w.options(name))
	return w.status(t, name), err
}

func (w *world) status(t *testing.T, name string) v1.OperationStatus {
	t.Helper()
	op := &v1.Operation{}
	if err := w.client.Get(context.Background(), client.ObjectKey{Namespace: "ns", Name: name}, op); err != nil {
		t.Fatal(err)
	}
	return op.Status
}

func code(err error) string {
	if f := event.AsFault(err); f != nil {
		return f.Code
	}
	return ""
}

// succeeds does an Operation, which must succeed.
func (w *world) succeeds(t *testing.T, name string) v1.OperationStatus {
	t.Helper()
	st, err := w.runs(t, name)
	if err != nil || st.Phase != v1.PhaseSucceeded || st.ExitCode == nil || *st.ExitCode != 0 || st.ExitClass != "OK" ||
		st.Failure != nil || st.Step != "" || st.RunID == "" || st.PodName != name+"-pod" || st.Attempts != 1 ||
		st.StartTime == nil || st.FinishTime == nil || st.Progress == nil || st.Progress.Done != st.Progress.Total ||
		len(st.Progress.NotDone) > 0 || st.LogSecretRef == nil || st.LogSecretRef.Name != name+"-log" {
		text, _ := json.MarshalIndent(st, "", " ")
		t.Fatalf("%s: %v\n%s", name, err, text)
	}
	return st
}

// changed returns how many steps of the last run of stdout have changed something.
func (w *world) changed(t *testing.T) (n int) {
	t.Helper()
	for line := range strings.Lines(w.out.String()) {
		r, err := event.Decode([]byte(line))
		if err != nil {
			t.Fatal(err, line)
		}
		if e, is := r.Event.(event.RunEnded); is {
			n = e.Changed
		}
	}
	return n
}

// The whole life of a cluster, each run in a pod of its own: what one leaves is in objects alone.
func TestRun(t *testing.T) {
	w := newWorld(t, phasestest.Shape{Masters: 1, Workers: 2}, interceptor.Funcs{})
	password := filepath.Join(w.logins, "pool", "password")
	if err := os.Mkdir(filepath.Dir(password), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(password, []byte(operatorPassword+"\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	all := append(w.Lab.DeployYAML(), "eggo: {sudo-password-from: 'file:"+password+"'}\n"...)
	fewer := []byte(strings.Replace(string(all), "- {name: w2, ip: 192.0.2.22, port: 22, arch: amd64}\n", "", 1))
	w.asks(t, "plan", v1.OperationSpec{Verb: v1.VerbPlan}, nil, fewer)
	st, err := w.runs(t, "plan")
	if err != nil || st.Phase != v1.PhaseSucceeded || len(st.Changes) == 0 || int(st.ChangesTotal) < len(st.Changes) ||
		st.PlanDigest == "" || len(st.Changes) > mostChanges {
		t.Fatalf("%+v %v", st, err)
	}
	digest := st.PlanDigest
	w.asks(t, "plan2", v1.OperationSpec{Verb: v1.VerbPlan}, request.Deploy{}, fewer)
	if st, err = w.runs(t, "plan2"); err != nil || st.PlanDigest != digest {
		t.Fatalf("another plan: %+v %v", st, err)
	}
	w.asks(t, "preflight", v1.OperationSpec{Verb: v1.VerbPreflight}, nil, fewer)
	if st, err = w.runs(t, "preflight"); err != nil || st.Phase != v1.PhaseSucceeded {
		t.Fatalf("%+v %v", st, err)
	}

	w.asks(t, "deploy", v1.OperationSpec{Verb: v1.VerbDeploy}, nil, fewer)
	w.succeeds(t, "deploy")
	conf := &corev1.Secret{}
	key := client.ObjectKey{Namespace: "ns", Name: "sim-kubeconfig"}
	err = w.client.Get(t.Context(), key, conf)
	if err != nil || !strings.Contains(string(conf.Data["value"]), "clusters") {
		t.Fatal(err, conf)
	}
	line, err := os.ReadFile(w.Lab.Nodes["m1"].Path("/var/lib/eggo-node/owner"))
	o := node.ParseOwner(line)
	if err != nil || o.Kind != node.OwnerMeta || !strings.Contains(o.Place, "namespace ns ") {
		t.Errorf("the owner of the cluster: %+v %v", o, err)
	}
	by := w.LockedBy("m1")
	if !strings.HasPrefix(by, "ns@deploy-pod pid ") || !strings.Contains(by, "eggops deploy sim") {
		t.Error(by)
	}
	w.asks(t, "again", v1.OperationSpec{Verb: v1.VerbDeploy}, nil, fewer)
	if w.succeeds(t, "again"); w.changed(t) != 0 {
		t.Error("a second deploy has changed", w.changed(t))
	}
	if err := w.Lab.Use(all); err != nil {
		t.Fatal(err)
	}
	join := request.Join{Nodes: []config.Node{{Name: "w2", IP: netip.MustParseAddr("192.0.2.22"), Port: 22,
		Arch: "amd64", Roles: []bundle.Role{bundle.Worker}}}}
	w.asks(t, "join", v1.OperationSpec{Verb: v1.VerbJoin}, join, nil)
	w.succeeds(t, "join")
	if _, err := os.Stat(w.Lab.Nodes["w2"].Path("/etc/kubernetes")); err != nil {
		t.Error("w2 has not joined:", err)
	}
	w.asks(t, "delete", v1.OperationSpec{Verb: v1.VerbDelete, Args: &v1.OperationArgs{Nodes: []string{"w2"}}}, nil, nil)
	w.succeeds(t, "delete")
	if !testing.Short() {
		w.asks(t, "renew", v1.OperationSpec{Verb: v1.VerbRenew}, nil, nil)
		w.succeeds(t, "renew")
	}
	w.asks(t, "snapshot", v1.OperationSpec{Verb: v1.VerbSnapshot}, nil, nil)
	w.succeeds(t, "snapshot")
	if found, _ := filepath.Glob(filepath.Join(w.claim, "sim", "snapshots", "*.db")); len(found) != 1 {
		t.Error(found)
	}
	w.asks(t, "cleanup", v1.OperationSpec{Verb: v1.VerbCleanup}, nil, nil)
	w.succeeds(t, "cleanup")
	if err := w.client.Get(t.Context(), key, conf); err != nil || len(conf.Data) > 0 {
		t.Error("the kubeconfig of a cluster that is gone:", err, len(conf.Data))
	}
	before := len(w.out.String())
	if _, err := w.runs(t, "deploy"); err != nil || len(w.out.String()) != before {
		t.Error("an Operation that has succeeded was repeated", err)
	}
	w.noSecrets(t)
}

// noSecrets looks for private keys, tokens and the secrets of the test in all that is not a Secret.
func (w *world) noSecrets(t *testing.T) {
	t.Helper()
	texts := map[string]string{"stdout": w.out.String()}
	var ops v1.OperationList
	var secrets corev1.SecretList
	for _, list := range []client.ObjectList{&ops, &secrets} {
		if err := w.client.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	for _, op := range ops.Items {
		text, err := json.Marshal(op)
		if err != nil {
			t.Fatal(err)
		}
		texts["Operation "+op.Name] = string(text)
	}
	logs := 0
	for _, s := range secrets.Items {
		if len(s.Data[LogKey]) > 0 {
			logs++
			texts["Secret "+s.Name] = unzipped(t, s.Data[LogKey])
		}
	}
	if logs == 0 || len(ops.Items) == 0 {
		t.Error("nothing was looked at")
	}
	for name, text := range texts {
		for _, wrong := range []string{"PRIVATE KEY", "client-key-data", operatorPassword} {
			if at := strings.Index(text, wrong); at >= 0 {
				t.Errorf("%s has %q: %s", name, wrong, text[max(0, at-200):min(len(text), at+50)])
			}
		}
	}
}

const operatorPassword = "correct horse battery"

func unzipped(t *testing.T, data []byte) string {
	t.Helper()
	r, err := gunzip(data)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A step that fails is in the status with its code, its sentence and what to do; the next run continues.
func TestRun_Failure(t *testing.T) {
	w := newWorld(t, phasestest.Shape{Masters: 1, Workers: 1}, interceptor.Funcs{})
	sick := w.Lab.Nodes["w1"].State("broken/kubelet.service")
	if err := os.MkdirAll(filepath.Dir(sick), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(sick, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.asks(t, "deploy", v1.OperationSpec{Verb: v1.VerbDeploy}, nil, w.Lab.DeployYAML())
	st, err := w.runs(t, "deploy")
	if err == nil || st.Phase != v1.PhaseRunning || *st.ExitCode != int32(exitcode.Of(err)) ||
		st.ExitClass != "Failed" || st.Failure == nil || !strings.Contains(st.Failure.Step, "w1") ||
		st.Failure.Machine != "w1" || st.Failure.Code == "" || st.Failure.Message == "" ||
		st.Failure.Next == "" || st.Step != st.Failure.Step ||
		len(st.Progress.Failures) == 0 || !slices.Contains(st.Progress.NotDone, "w1") {
		text, _ := json.MarshalIndent(st, "", " ")
		t.Fatalf("%v\n%s", err, text)
	}
	if err := os.Remove(sick); err != nil {
		t.Fatal(err)
	}
	if st, err = w.runs(t, "deploy"); err != nil || st.Phase != v1.PhaseSucceeded || st.Attempts != 2 ||
		st.Failure != nil {
		t.Errorf("%+v %v", st, err)
	}
}

// What is wrong before a run begins is in the status, and nothing was begun.
func TestRun_Refused(t *testing.T) {
	w := newWorld(t, phasestest.Shape{Masters: 1}, interceptor.Funcs{})
	other := bytes.Replace(w.Lab.DeployYAML(), []byte("cluster-id: sim"), []byte("cluster-id: other"), 1)
	hooked := request.Deploy{Common: request.Common{Hooks: request.Hooks{Before: []string{"/bin/true"}}}}
	for name, tc := range map[string]struct {
		spec v1.OperationSpec
		q    request.Request
		yaml []byte
		code string
		exit int32
	}{
		"of-another-cluster": {v1.OperationSpec{Verb: v1.VerbDeploy}, nil, other, "operation.input", 2},
		"another-verb":       {v1.OperationSpec{Verb: v1.VerbDelete}, request.Renew{}, nil, "operation.input", 2},
		"no-request":         {v1.OperationSpec{Verb: v1.VerbUpgrade}, nil, nil, "operation.input", 2},
		"no-cluster":         {v1.OperationSpec{Verb: v1.VerbRenew}, nil, nil, "usage.not-installed", 2},
		"hooks":              {v1.OperationSpec{Verb: v1.VerbDeploy}, hooked, w.Lab.DeployYAML(), "usage.no-control-host", 2},
		"bad-config": {v1.OperationSpec{Verb: v1.VerbDeploy}, nil, []byte("cluster-id: sim\nnonsense: 1\n"),
			"config.no-masters", 2},
		"older-state": {v1.OperationSpec{Verb: v1.VerbDeploy, Fence: 7}, nil, w.Lab.DeployYAML(),
			"operation.older-state", 5},
		"stopped": {v1.OperationSpec{Verb: v1.VerbDeploy, Stop: v1.StopSteps}, nil, w.Lab.DeployYAML(),
			"operation.stopped", 2},
	} {
		t.Run(name, func(t *testing.T) {
			w.asks(t, name, tc.spec, tc.q, tc.yaml)
			st, err := w.runs(t, name)
			if err == nil || st.Failure == nil || st.Failure.Code != tc.code || *st.ExitCode != tc.exit ||
				st.Failure.Message == "" || st.RunID != "" || st.Phase.Ended() != (name == "stopped") ||
				st.LogSecretRef != nil {
				t.Errorf("%+v %+v %v", st, st.Failure, err)
			}
		})
	}
	if w.out.String() != "" {
		t.Error(w.out.String())
	}
	if err := Run(t.Context(), w.options("missing")); code(err) != "operation.unread" {
		t.Error(err)
	}
}

// Another run holds the lock: it is waited for, the status names it, and the exit code makes the Job try again.
func TestRun_Locked(t *testing.T) {
	w := newWorld(t, phasestest.Shape{Masters: 1}, interceptor.Funcs{})
	w.asks(t, "deploy", v1.OperationSpec{Verb: v1.VerbDeploy}, nil, w.Lab.DeployYAML())
	other := lease("other")
	if err := w.client.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	st, err := w.runs(t, "deploy")
	if exitcode.Of(err) != exitcode.Locked || st.Phase != v1.PhaseRunning || st.ExitClass != "Locked" ||
		!strings.Contains(st.Failure.Message, "eggops upgrade") {
		t.Errorf("%+v %v", st.Failure, err)
	}
	o := w.options("deploy")
	o.Wait = time.Hour
	go func() {
		until(t, "the status names the holder", func() bool {
			f := w.status(t, "deploy").Failure
			return f != nil && strings.Contains(f.Message, "eggops upgrade") && w.status(t, "deploy").Attempts == 2
		})
		_ = w.client.Delete(context.Background(), other)
	}()
	if err := Run(t.Context(), o); err != nil {
		t.Error(err)
	}
	if st := w.status(t, "deploy"); st.Phase != v1.PhaseSucceeded || st.Failure != nil {
		t.Errorf("%+v", st)
	}
}
