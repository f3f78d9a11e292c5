package runs

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/clusterspec"
)

const threeNodes = `cluster-id: one
username: root
masters: [{name: m1, ip: 192.0.2.1, port: 22, arch: amd64}]
nodes: [{name: w1, ip: 192.0.2.2, port: 22, arch: amd64}, {name: w2, ip: 192.0.2.3, port: 22, arch: amd64}]
etcds: [{name: m1, ip: 192.0.2.1, port: 22, arch: amd64}]
package-src: {type: tar.gz, x86src: /no/such/bundle.tar.gz}
`

func runner(t *testing.T) *Runner {
	t.Helper()
	return New(Options{Root: t.TempDir(), Data: t.TempDir()})
}

// install makes a cluster as a run leaves it.
func install(t *testing.T, r *Runner) {
	t.Helper()
	files, err := r.store.Open(t.Context(), "one")
	if err == nil {
		err = files.SaveConfig(t.Context(), []byte(threeNodes))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// logged has a run of a cluster with these events.
func logged(t *testing.T, r *Runner, verb string, events ...event.Event) string {
	t.Helper()
	j, err := journal.Open(r.o.Root, "one")
	if err != nil {
		t.Fatal(err)
	}
	log, err := j.NewRun(verb, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	bus := event.NewBus(time.Now, log)
	for _, e := range events {
		if err := bus.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return log.ID()
}

func record(k manager.Kind, w *Wanted, p Parameters, runs ...string) manager.Record {
	r := manager.Record{Name: "one", Operation: &manager.Operation{Kind: k, Runs: runs}}
	if w != nil {
		r.Wanted, _ = json.Marshal(w)
	}
	r.Operation.Request, _ = json.Marshal(p)
	return r
}

// What an operation comes to is found out from the cluster's own deploy.yaml: nodes join, then others are removed, then
// there is nothing to do.
func TestWhatIsNext(t *testing.T) {
	r := runner(t)
	install(t, r)
	have, err := r.Nodes(t.Context(), "one")
	if err != nil || len(have) != 3 {
		t.Fatal(have, err)
	}
	w3 := clusterspec.Node{Name: "w3", Address: "192.0.2.9", Roles: []string{clusterspec.Worker}}
	other := &Wanted{Nodes: append(append([]clusterspec.Node{}, have[:2]...), w3)}
	less := &Wanted{Nodes: have[:2]}
	for _, c := range []struct {
		rec  manager.Record
		want string
	}{
		{record(manager.Update, other, Parameters{Nodes: true}), "join"},
		{record(manager.Update, less, Parameters{Nodes: true}, "r1"), "delete"},
		{record(manager.Update, &Wanted{Nodes: have}, Parameters{Nodes: true}, "r1"), ""},
		{record(manager.Update, &Wanted{Nodes: have}, Parameters{Nodes: true}), "deploy"},
		{record(manager.Update, nil, Parameters{}), "deploy"},
		{record(manager.Create, nil, Parameters{}), "deploy"},
		{record(manager.Create, &Wanted{Deploy: threeNodes}, Parameters{}), "deploy"},
		{record(manager.Create, nil, Parameters{}, "r1"), ""},
		{record(manager.Renew, nil, Parameters{}), "certs renew"},
		{record(manager.Snapshot, nil, Parameters{}), "etcd snapshot"},
		{record(manager.Restore, nil, Parameters{Snapshot: "/s"}), "etcd restore"},
		{record(manager.Upgrade, nil, Parameters{Bundles: []string{"/b"}, Drain: time.Minute, Soak: time.Hour}),
			"upgrade"},
		{record(manager.Back, nil, Parameters{}), "upgrade --back"},
		{record(manager.Delete, nil, Parameters{Purge: true}), "cleanup"},
	} {
		q, err := r.next(t.Context(), c.rec)
		got := ""
		if q != nil {
			got = q.Call().Verb
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %q (%v), want %q", c.rec.Operation.Kind, got, err, c.want)
		}
	}
	d, _ := r.next(t.Context(), record(manager.Update, less, Parameters{Nodes: true}))
	if d.(request.Delete).Names[0] != "w2" {
		t.Errorf("%+v", d)
	}
	_, err = r.next(t.Context(), record(manager.Update, other, Parameters{Nodes: true}, "1", "2", "3", "4"))
	if f := event.AsFault(err); f == nil || f.Code != "manager.endless" {
		t.Error(err)
	}
	for _, nodes := range [][]clusterspec.Node{have, other.Nodes, less.Nodes} {
		if _, err := r.Planned(t.Context(), "one", nodes); err != nil {
			t.Error(err)
		}
	}
	if q, err := New(r.o).next(t.Context(), manager.Record{Name: "none", Operation: &manager.Operation{
		Kind: manager.Delete}}); q != nil || err != nil { // nothing was ever changed
		t.Error(q, err)
	}
	if err := r.Removed("one"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(r.Dir("one")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A creation begins with the deploy.yaml that is wanted. When a run has touched a node, it is continued by that of the
// cluster, which has the nodes that joined since, and not those that left.
func TestACreationIsContinued(t *testing.T) {
	r := runner(t)
	w := &Wanted{Deploy: strings.Replace(threeNodes, "w2", "w9", 1)}
	for _, k := range []manager.Kind{manager.Create, manager.Update} {
		q, err := r.next(t.Context(), record(k, w, Parameters{}))
		if err != nil || q.Base().Source.File != r.File("one") {
			t.Fatalf("%s: %+v %v", k, q, err)
		}
		if text, err := os.ReadFile(r.File("one")); err != nil || string(text) != w.Deploy {
			t.Errorf("%v %s", err, text)
		}
	}
	install(t, r)
	q, err := r.next(t.Context(), record(manager.Create, w, Parameters{}))
	if err != nil || q.Base().Source.Cluster != "one" {
		t.Errorf("%+v %v", q, err)
	}
	// A join or a removal that failed is continued by what is missing still.
	have, err := r.Nodes(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	for want, nodes := range map[string][]clusterspec.Node{"deploy": have, "delete": have[:2]} {
		w.Nodes = nodes
		q, err := r.next(t.Context(), record(manager.Update, w, Parameters{Nodes: true}))
		if err != nil || q.Call().Verb != want || q.Base().Source.Cluster != "one" {
			t.Errorf("%s: %+v %v", want, q, err)
		}
	}
}

// The host keys of a request are accepted by the runs that have to do with its machines, and by no other.
func TestAcceptedHostKeys(t *testing.T) {
	const key = "ssh-ed25519 AAAA"
	w := Wanted{Nodes: []clusterspec.Node{{Name: "w3", Address: "192.0.2.9", HostKeys: []string{key}}},
		LoadBalancer: &clusterspec.Balancer{Name: "lb", Address: "2001:db8::5", Port: 2222, HostKeys: []string{key}}}
	want := map[string][]string{"192.0.2.9:22": {key}, "[2001:db8::5]:2222": {key}}
	for _, c := range []struct {
		kind manager.Kind
		p    Parameters
		want map[string][]string
	}{
		{manager.Create, Parameters{}, want},
		{manager.Update, Parameters{Nodes: true}, want},
		{manager.Restore, Parameters{Seeded: true}, want},
		{manager.Update, Parameters{}, nil},
		{manager.Renew, Parameters{}, nil},
		{manager.Restore, Parameters{}, nil},
	} {
		q, err := asked(request.Deploy{Common: request.OfCluster("one")}, c.kind, w, c.p)
		if err != nil || !reflect.DeepEqual(q.Base().Accepted, c.want) || q.Base().Source.Cluster != "one" {
			t.Errorf("%s %+v: %v %v", c.kind, c.p, q, err)
		}
	}
	if _, err := asked(request.Renew{}, manager.Renew, w, Parameters{OnFailure: "sing"}); err == nil {
		t.Error("what is done on a failure is not known")
	}
}

// What is in the state directory is seen: who works there, what ended well, what did not, and what died.
func TestFind(t *testing.T) {
	r := runner(t)
	find := func() manager.Found {
		t.Helper()
		f, err := r.Find(t.Context(), "one")
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if f := find(); f.Installed || f.Run != "" {
		t.Errorf("%+v", f)
	}
	started := event.RunStarted{Cluster: "one", Verb: "deploy"}
	id := logged(t, r, "deploy", started, event.RunEnded{Outcome: event.Failed, Exit: 1,
		Fault: &event.Fault{Code: "run.failed", Class: event.ClassFailed}})
	if f := find(); f.Run != id || f.Kind != manager.Create || f.Live || f.Fault.Code != "run.failed" {
		t.Errorf("%+v", f)
	}
	install(t, r)
	logged(t, r, "etcd-snapshot", started)
	if f := find(); !f.Installed || f.Kind != manager.Snapshot || f.Fault.Code != "manager.run-died" {
		t.Errorf("%+v", f)
	}
	logged(t, r, "backup", started, event.RunEnded{Outcome: event.OK})
	if f := find(); f.Kind != manager.Backup || f.Fault != nil || f.Before.Fault.Code != "run.failed" {
		t.Errorf("a backup hides what failed: %+v", f)
	}
	some := started
	some.Nodes = []string{"w1"}
	for verb, want := range map[string]manager.Kind{"join": manager.Update, "certs-renew": manager.Update,
		"upgrade": manager.Upgrade, "upgrade-back": manager.Back, "etcd-restore": manager.Restore} {
		if got := kindOf(request.Verb(verb), ""); got != want && verb != "certs-renew" {
			t.Errorf("%s: %s", verb, got)
		}
	}
	logged(t, r, "cleanup", some, event.RunEnded{Outcome: event.OK})
	if f := find(); f.Kind != manager.Update || f.Fault != nil {
		t.Errorf("%+v", f)
	}
	logged(t, r, "cleanup", started, event.RunEnded{Outcome: event.OK})
	if f := find(); f.Kind != manager.Delete || f.Fault != nil {
		t.Errorf("%+v", f)
	}
	j, err := journal.Open(r.o.Root, "one")
	if err != nil {
		t.Fatal(err)
	}
	lock, err := j.Lock(journal.Holder{PID: 1, User: "ann", Verb: "join"})
	if err != nil {
		t.Fatal(err)
	}
	id = logged(t, r, "join", started)
	if err := lock.Writes(id); err != nil {
		t.Fatal(err)
	}
	if f := find(); !f.Live || f.Run != id {
		t.Errorf("%+v", f)
	}
	if f := event.AsFault(r.Free(t.Context(), "one")); f == nil || f.Class != event.ClassLocked {
		t.Error(f)
	}
	run, err := r.Attach(t.Context(), "one", id)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	<-run.Done()
	if f := run.Outcome().Fault; f == nil || f.Code != "manager.run-died" || run.ID() != id {
		t.Error(f)
	}
	if all, err := r.Scan(t.Context()); err != nil || len(all) != 1 || all[0].Live {
		t.Errorf("%+v %v", all, err)
	}
}

// A run that cannot begin says why; what was said of secrets goes to its process by a pipe.
func TestStart(t *testing.T) {
	r := runner(t)
	install(t, r)
	var args []string
	r.o.Launcher = operation.Launcher{Root: r.o.Root, Command: func(a ...string) (*exec.Cmd, error) {
		args = a
		return exec.Command("/bin/sh", "-c", "cat >"+filepath.Join(r.o.Data, "got")+"; echo no such luck >&2"), nil
	}}
	r.SetSecrets("one", "ann", map[string]string{"password": "hunter2"})
	_, err := r.Start(t.Context(), record(manager.Renew, nil, Parameters{HostKeys: "strict"}))
	if f := event.AsFault(err); f == nil || f.Code != "launch.process" || f.Cause != "no such luck" {
		t.Error(err)
	}
	got, err := os.ReadFile(filepath.Join(r.o.Data, "got"))
	if err != nil || !strings.Contains(string(got), "hunter2") || strings.Contains(strings.Join(args, " "), "hunter2") {
		t.Errorf("%s %v", args, err)
	}
	// The passphrase of a backup takes no place of others, and only its run gets it.
	r.SetSecrets("one", "ann", map[string]string{"backup": "word", "backup again": "word"})
	for _, want := range []bool{true, false} {
		_, err = r.Start(t.Context(), record(manager.Backup, nil, Parameters{}))
		got, err2 := os.ReadFile(filepath.Join(r.o.Data, "got"))
		if err == nil || err2 != nil || !strings.Contains(string(got), "hunter2") ||
			strings.Contains(string(got), `"word"`) != want {
			t.Errorf("%s %v %v", got, err, err2)
		}
	}
	wrong := record(manager.Renew, nil, Parameters{OnFailure: "x"})
	if _, err := r.Start(t.Context(), wrong); event.AsFault(err) == nil {
		t.Error("no fault")
	}
}

// The process of a backup is told who asked for it: it removes older ones of the same one only. One that nobody asked
// for is not taken for one of the command line.
func TestABackupIsSomebodys(t *testing.T) {
	r := runner(t)
	for by, want := range map[string]string{"otto": "otto", request.Schedule: "schedule", "": "server"} {
		rec := record(manager.Backup, nil, Parameters{Keep: 14})
		rec.Operation.By = by
		q, err := r.next(t.Context(), rec)
		if b, is := q.(request.Backup); !is || b.By != want || b.Keep != 14 || err != nil {
			t.Errorf("%q: %+v %v", by, q, err)
		}
	}
}

// kubeconfigFor is one for a test server.
func kubeconfigFor(srv *httptest.Server, user string) string {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	return `{"current-context":"a","contexts":[{"name":"a","context":{"cluster":"c","user":"u"}}],` +
		`"clusters":[{"name":"c","cluster":{"server":"` + srv.URL + `","certificate-authority-data":"` +
		base64.StdEncoding.EncodeToString(ca) + `"}}],"users":[{"name":"u","user":` + user + `}]}`
}

// Whether an API server answers, and with what.
func TestReach(t *testing.T) {
	r := runner(t)
	well := true
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if !well || q.Header.Get("Authorization") != "Bearer t" {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte("[-]etcd failed\x1b[31m"))
		}
	}))
	srv.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	srv.StartTLS()
	defer srv.Close()
	far := manager.Record{Name: "far", Kubeconfig: true}
	if err := r.Keep("far", kubeconfigName, kubeconfigFor(srv, `{"token":"t"}`)); err != nil {
		t.Fatal(err)
	}
	if err := r.Reach(t.Context(), far); err != nil {
		t.Error(err)
	}
	well = false
	if f := event.AsFault(r.Reach(t.Context(), far)); f == nil || f.Code != "manager.unreachable" ||
		!strings.Contains(f.Cause, "etcd failed") || strings.Contains(f.Cause, "\x1b") {
		t.Error(f)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Reach(over, far); err == nil {
		t.Error("reached")
	}
	if f := event.AsFault(r.Reach(t.Context(), manager.Record{Name: "none"})); f == nil ||
		f.Code != "manager.no-kubeconfig" || f.Class == event.ClassUsage { // it may be copied there
		t.Error("reached without a kubeconfig")
	}
	for what, text := range map[string]string{
		"nonsense": "nonsense", "no user": kubeconfigFor(srv, `{}`), "no pair": kubeconfigFor(srv,
			`{"client-certificate-data":"YQ==","client-key-data":"YQ=="}`),
		"plain": strings.Replace(kubeconfigFor(srv, `{"token":"t"}`), "https://", "http://", 1),
		"files": kubeconfigFor(srv, `{"exec":{"command":"/bin/evil"}}`),
		// Nothing but a host and a port: the rest is shown to others, or has other requests sent.
		"a user":              strings.Replace(kubeconfigFor(srv, `{"token":"t"}`), "https://", "https://ann:hunter2@", 1),
		"a query":             strings.Replace(kubeconfigFor(srv, `{"token":"t"}`), srv.URL, srv.URL+"?x=", 1),
		"a mark":              strings.Replace(kubeconfigFor(srv, `{"token":"t"}`), srv.URL, srv.URL+"#x", 1),
		"no query":            strings.Replace(kubeconfigFor(srv, `{"token":"t"}`), srv.URL, srv.URL+"?", 1),
		"a port that is none": strings.Replace(kubeconfigFor(srv, `{"token":"t"}`), srv.URL, "https://192.0.2.9:99999", 1),
		"port 0":              strings.Replace(kubeconfigFor(srv, `{"token":"t"}`), srv.URL, "https://192.0.2.9:0", 1),
		"no host":             strings.Replace(kubeconfigFor(srv, `{"token":"t"}`), srv.URL, "https://:6443", 1),
	} {
		_, err := ReadKubeconfig([]byte(text))
		if f := event.AsFault(err); f == nil || f.Code != "manager.kubeconfig" || f.Class != event.ClassUsage {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A path in the URL of a server is refused when a cluster is imported. One that has it already is shown as before.
func TestAPathIsNotImported(t *testing.T) {
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	defer srv.Close()
	plain := kubeconfigFor(srv, `{"token":"t"}`)
	for end, refused := range map[string]bool{"": false, "/": false, "/v1/secret": true, "/%2e%2e": true} {
		text := []byte(strings.Replace(plain, srv.URL, srv.URL+end, 1))
		if _, err := ReadKubeconfig(text); err != nil {
			t.Errorf("%q: %v", end, err)
		}
		err := Importable(text)
		if f := event.AsFault(err); (err != nil) != refused || err != nil && f.Code != "manager.kubeconfig" {
			t.Errorf("%q: %v", end, err)
		}
	}
}

// What an API server says of a refusal is shown; what another server says, which a kubeconfig may name, is not.
func TestOnlyKubernetesIsQuoted(t *testing.T) {
	for text, want := range map[string]string{
		`{"kind":"Status","message":"pods is forbidden"}`:       "403: pods is forbidden",
		"[+]ping ok\n[-]etcd failed: reason withheld\nreadyz x": "403: [-]etcd failed: reason withheld",
		"root:x:0:0:root:/root:/bin/bash\n":                     "403",
		`{"kind":"Secret","message":"hunter2"}`:                 "403",
		"":                                                      "403",
	} {
		if got := refusalOf("403", []byte(text)).Error(); strings.TrimSpace(got) != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// What is said when something is continued takes the place of what was said before.
func TestOver(t *testing.T) {
	was, err := json.Marshal(Parameters{Bundles: []string{"/b"}, OnFailure: "abort", HostKeys: "strict"})
	if err != nil {
		t.Fatal(err)
	}
	got := Over(&manager.Operation{Request: was}, Parameters{OnFailure: "ask"})
	if got.OnFailure != "ask" || got.HostKeys != "strict" || len(got.Bundles) != 1 {
		t.Errorf("%+v", got)
	}
	if got := Over(nil, Parameters{Force: true}); !got.Force {
		t.Errorf("%+v", got)
	}
}

// Whether a run has changed anything is in its log: each change is there before it is made.
func TestWhetherARunChangedAnything(t *testing.T) {
	wrong := event.NewFault(event.ClassPreflight, "preflight.failed", nil)
	refused := event.RunEnded{Outcome: event.Failed, Fault: wrong}
	for _, c := range []struct {
		events    []event.Event
		unchanged bool
	}{
		{[]event.Event{event.RunStarted{Verb: "deploy"}, refused}, true},
		{[]event.Event{event.RunStarted{Verb: "deploy"}, event.Change{Host: "m1"}, refused}, false},
		{[]event.Event{event.RunStarted{Verb: "deploy"}, event.RunEnded{Outcome: event.OK}}, false},
	} {
		r := runner(t)
		id := logged(t, r, "deploy", c.events...)
		for range 2 { // also what is remembered
			if f, err := r.Find(t.Context(), "one"); err != nil || f.Unchanged != c.unchanged {
				t.Errorf("%+v %v", f, err)
			}
		}
		run, err := r.Attach(t.Context(), "one", id)
		if err != nil {
			t.Fatal(err)
		}
		<-run.Done()
		if out := run.Outcome(); out.Unchanged != c.unchanged {
			t.Errorf("%+v", out)
		}
	}
}

// A take-over is confirmed for the number that was named: it reaches the request of every kind of run, and is kept for
// what continues the operation until another number is named.
func TestAsked_TakeOver(t *testing.T) {
	for _, q := range []request.Request{request.Deploy{}, request.Join{}, request.Delete{}, request.Cleanup{},
		request.Renew{}, request.Restore{}, request.Upgrade{}, request.Back{}} {
		got, err := asked(q, manager.Update, Wanted{}, Parameters{TakeOver: 7})
		if err != nil || got.Base().TakeOver != 7 {
			t.Errorf("%T: %+v %v", q, got, err)
		}
	}
	was, err := json.Marshal(Parameters{TakeOver: 7})
	if err != nil {
		t.Fatal(err)
	}
	for now, want := range map[uint64]uint64{0: 7, 9: 9} {
		if got := Over(&manager.Operation{Request: was}, Parameters{TakeOver: now}); got.TakeOver != want {
			t.Errorf("%d: %+v", now, got)
		}
	}
}
