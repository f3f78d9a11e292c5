package meta

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/testkit/operatortest"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

const namespace = "prod"

// failing is a client whose writes to Secrets fail from a certain one on.
type failing struct {
	client.WithWatch
	left int // writes that still work; negative: all do
}

var errAway = errors.New("the API server is away")

func newFailing() *failing {
	f := &failing{left: -1}
	may := func(o client.Object) error {
		if _, is := o.(*corev1.Secret); !is || f.left < 0 {
			return nil
		}
		if f.left == 0 {
			return apierrors.NewForbidden(corev1.Resource("secrets"), o.GetName(), errAway)
		}
		f.left--
		return nil
	}
	f.WithWatch = fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := may(o); err != nil {
				return err
			}
			return w.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if err := may(o); err != nil {
				return err
			}
			return w.Update(ctx, o, opts...)
		},
		Delete: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if err := may(o); err != nil {
				return err
			}
			return w.Delete(ctx, o, opts...)
		},
	}).Build()
	return f
}

// site is a control host with a cluster, and a meta cluster.
type site struct {
	t        *testing.T
	machines *operatortest.Machines
	local    store.Dir
	api      *failing
	meta     *Meta
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, machines: operatortest.NewMachines(t, phasestest.Shape{Masters: 1, Workers: 1}), api: newFailing()}
	s.meta = New(s.api, nil, namespace, "https://192.0.2.99:6443")
	lab := s.machines.Lab
	q := request.Deploy{Common: request.Common{Source: request.Source{File: filepath.Join(lab.Dir, "deploy.yaml"),
		Text: lab.DeployYAML()}}}
	s.local = store.Dir{Root: s.machines.Root()}
	if err := s.runs(q, s.here()); err != nil {
		t.Fatal(err)
	}
	// The machines read their certificates from there: it stays as it is.
	to := filepath.Join(t.TempDir(), "host")
	if err := os.CopyFS(to, os.DirFS(s.local.Root)); err != nil {
		t.Fatal(err)
	}
	s.local.Root = to
	return s
}

func (s *site) here() operation.Deps {
	d := s.machines.Deps(s.local)
	d.Who.Program, d.ControlHost = "eggo-tui", true
	return d
}

// there are the Deps of a run of the meta cluster, with a directory of its own.
func (s *site) there() operation.Deps { return s.machines.Deps(s.meta.Store(s.t.TempDir(), nil)) }

func (s *site) runs(q request.Request, d operation.Deps) error {
	h, err := operation.Start(s.t.Context(), q, d)
	if err == nil {
		_, err = h.Wait(s.t.Context())
	}
	return err
}

func (s *site) move(back bool) error {
	_, err := operation.Handover(s.t.Context(), request.Handover{Cluster: "sim", Back: back}, s.here(),
		func(root string) (operation.Meta, error) { return s.meta.Store(root, nil), nil },
		func(event.Msg) error { return nil })
	return err
}

// one checks that exactly one side may run, and returns whether that is the control host.
func (s *site) one(when string) bool {
	s.t.Helper()
	_, here := operation.Preflight(s.t.Context(), request.OfCluster("sim"), s.here())
	_, there := operation.Preflight(s.t.Context(), request.OfCluster("sim"), s.there())
	if (here == nil) == (there == nil) {
		s.t.Fatalf("%s: control host: %v; meta cluster: %v", when, here, there)
	}
	return here == nil
}

func (s *site) secrets() []corev1.Secret {
	s.t.Helper()
	var list corev1.SecretList
	if err := s.api.List(s.t.Context(), &list, client.InNamespace(namespace)); err != nil {
		s.t.Fatal(err)
	}
	return list.Items
}

// A hand-over whose n-th write to the meta cluster fails, for every n and in both directions, leaves exactly one side
// that may change the cluster; the same call completes it.
func TestHandover_EveryWriteFailsOnce(t *testing.T) {
	s := newSite(t)
	for _, back := range []bool{false, true} {
		failed := 0
		for ; ; failed++ {
			s.api.left = failed
			err := s.move(back)
			s.api.left = -1
			if err == nil {
				break
			}
			if !strings.Contains(err.Error(), errAway.Error()) {
				t.Fatal(failed, err)
			}
			s.one("write " + strconv.Itoa(failed))
		}
		if failed < 6 {
			t.Errorf("back %t: only %d writes", back, failed)
		}
		if here := s.one("at the end"); here != back {
			t.Errorf("back %t: the control host may run: %t", back, here)
		}
		if back {
			if left := s.secrets(); len(left) > 0 {
				t.Errorf("%d Secrets stay: %s", len(left), left[0].Name)
			}
			continue
		}
		list := s.secrets()
		if len(list) != len(v1.StateParts()) {
			t.Errorf("%d Secrets", len(list))
		}
		for _, x := range list {
			if x.Type != v1.SecretTypeState || len(x.Finalizers) != 1 || len(x.OwnerReferences) > 0 ||
				len(x.Data) == 0 {
				t.Errorf("%+v", x.ObjectMeta)
			}
		}
		if err := s.runs(request.Renew{Common: request.OfCluster("sim")}, s.there()); err != nil {
			t.Error("a run of the meta cluster: ", err)
		}
		err := s.runs(request.Renew{Common: request.OfCluster("sim")}, s.here())
		if f := event.AsFault(err); f == nil || f.Code != "state.moved" ||
			f.Args["place"] != "prod @ https://192.0.2.99:6443" {
			t.Error("a run of the control host: ", err)
		}
		is, err := phases.ReadOwner(filepath.Join(s.local.Root, "sim"))
		if err != nil || is.Kind != node.OwnerDirectory {
			t.Errorf("%+v %v", is, err)
		}
	}
	if err := s.runs(request.Renew{Common: request.OfCluster("sim")}, s.here()); err != nil {
		t.Error("a run of the control host: ", err)
	}
}

// A hand-over that is refused leaves nothing in the meta cluster.
func TestHandover_RefusedLeavesNothing(t *testing.T) {
	s := newSite(t)
	s.machines.Lab.Nodes["w1"].PowerOff(event.NewFault(event.ClassFailed, "ssh.unreachable", nil))
	if err := s.move(false); err == nil {
		t.Error("handed over without a node")
	}
	if left := s.secrets(); len(left) > 0 {
		t.Errorf("%d Secrets stay", len(left))
	}
}

// A kubeconfig is read without a request; what it has that may be secret is in no message.
func TestConnect(t *testing.T) {
	file := filepath.Join(t.TempDir(), "conf")
	text := `{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: ` +
		`"https://me:secret@192.0.2.9:6443/path?token=t"}}], contexts: [{name: a, context: {cluster: a, user: a}}], ` +
		`users: [{name: a, user: {token: hidden}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Connect(file, "", "clusters")
	if err != nil || m.Place() != "clusters @ https://192.0.2.9:6443" {
		t.Fatal(m, err)
	}
	for _, c := range []struct{ file, context string }{{file, "none"}, {file + ".gone", ""}} {
		_, err := Connect(c.file, c.context, "clusters")
		if f := event.AsFault(err); f == nil || f.Code != "handover.kubeconfig" || f.Args["file"] != c.file ||
			strings.Contains(f.Error(), "hidden") {
			t.Error(c, err)
		}
	}
}

// serve is an API server with the objects of a client.
func serve(c client.Client) http.Handler {
	one := func(w http.ResponseWriter, o client.Object, err error) {
		code, is := http.StatusOK, apierrors.APIStatus(nil)
		if kinds, _, _ := c.Scheme().ObjectKinds(o); len(kinds) > 0 {
			o.GetObjectKind().SetGroupVersionKind(kinds[0])
		}
		var out any = o
		if errors.As(err, &is) {
			status := is.Status()
			code, out = int(status.Code), &status
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(out) // the test reads it, or is over
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, rest, _ := strings.Cut(r.URL.Path, "/namespaces/"+namespace+"/")
		kind, name, _ := strings.Cut(rest, "/")
		var o client.Object = &corev1.Secret{}
		if kind == "leases" {
			o = &coordinationv1.Lease{}
		}
		o.SetNamespace(namespace)
		if r.Method == http.MethodPost || r.Method == http.MethodPut {
			body, err := io.ReadAll(r.Body)
			if err == nil { // it may be protobuf
				_, _, err = serializer.NewCodecFactory(c.Scheme()).UniversalDeserializer().Decode(body, nil, o)
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
		if name != "" {
			o.SetName(name)
		}
		var err error
		switch r.Method {
		case http.MethodPost:
			err = c.Create(r.Context(), o)
		case http.MethodPut:
			err = c.Update(r.Context(), o)
		case http.MethodDelete:
			err = c.Delete(r.Context(), o)
		default:
			err = c.Get(r.Context(), client.ObjectKeyFromObject(o), o)
		}
		one(w, o, err)
	})
}

// What Connect returns reads and writes Secrets and Leases of its namespace, and asks for nothing else.
func TestConnect_OverHTTP(t *testing.T) {
	api := newFailing()
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		serve(api).ServeHTTP(w, r)
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "conf")
	text := `{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: "` + s.URL +
		`"}}], contexts: [{name: a, context: {cluster: a, user: a}}], users: [{name: a, user: {token: hidden}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Connect(file, "a", namespace)
	if err != nil {
		t.Fatal(err)
	}
	clusters := m.Store(t.TempDir(), nil)
	files, err := clusters.Open(t.Context(), "sim")
	if err != nil {
		t.Fatal(err)
	}
	lock, err := files.Lock(t.Context(), journal.Holder{Program: "eggo-tui", Host: "here"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(files.SaveConfig(t.Context(), []byte("cluster-id: sim\n")), lock.Unlock()); err != nil {
		t.Fatal(err)
	}
	again, err := m.Store(t.TempDir(), nil).Read(t.Context(), "sim")
	if err != nil {
		t.Fatal(err)
	}
	if text, _, err := again.Config(); err != nil || string(text) != "cluster-id: sim\n" {
		t.Errorf("%s %v", text, err)
	}
	if err := clusters.Remove(t.Context(), "sim"); err != nil {
		t.Error(err)
	}
	for _, path := range asked {
		if !strings.HasPrefix(path, "/api/v1/namespaces/prod/secrets") &&
			!strings.HasPrefix(path, "/apis/coordination.k8s.io/v1/namespaces/prod/leases") {
			t.Error("asked for ", path)
		}
	}
}
