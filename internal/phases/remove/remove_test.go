package remove

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/certs"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// api is an API server with nodes and pods; it lets none be evicted that has a budget.
type api struct {
	mu     sync.Mutex
	closed map[string]bool   // nodes that are closed to pods
	by     map[string]string // by whom, as the Node says
	pods   map[string]string // the node by the pod's name
	budget map[string]bool   // by the pod's name
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var doc any
	w.Header().Set("Content-Type", "application/json")
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch {
	case strings.HasSuffix(r.URL.Path, "/eviction"):
		name = strings.Split(r.URL.Path, "/")[6]
		if a.budget[name] {
			w.WriteHeader(http.StatusTooManyRequests)
			doc = metav1.Status{Status: "Failure", Reason: metav1.StatusReasonTooManyRequests, Message: "its budget",
				Code: 429}
			break
		}
		delete(a.pods, name)
		doc = metav1.Status{Status: "Success"}
	case name == "pods":
		list := corev1.PodList{}
		for pod, on := range a.pods {
			if r.URL.Query().Get("fieldSelector") == "spec.nodeName="+on {
				list.Items = append(list.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default",
					Name: pod}})
			}
		}
		doc = list
	default:
		if r.Method == http.MethodPatch {
			var p struct {
				Spec     struct{ Unschedulable *bool }
				Metadata struct{ Annotations map[string]string }
			}
			_ = json.NewDecoder(r.Body).Decode(&p)
			a.closed[name] = p.Spec.Unschedulable != nil && *p.Spec.Unschedulable
			if a.by == nil {
				a.by = map[string]string{}
			}
			a.by[name] = p.Metadata.Annotations[layout.CordonedAnnotation]
		}
		doc = corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name,
			Annotations: map[string]string{layout.CordonedAnnotation: a.by[name]}},
			Spec: corev1.NodeSpec{Unschedulable: a.closed[name]}}
	}
	_ = json.NewEncoder(w).Encode(doc)
}

// host is a control plane through which the API server is reached.
type host struct {
	node.Host
	to net.Addr
}

func (host) Name() string { return "m1" }

func (h host) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", h.to.String())
}

// ofAPIServer is a certificate with the name that every API server has.
func ofAPIServer(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	like := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"kubernetes"}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, like, like, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// removal is that of these workers from a cluster with this API server.
func removal(t *testing.T, a *api, workers ...string) (*Removal, *[]event.Event) {
	t.Helper()
	srv := httptest.NewUnstartedServer(a)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{ofAPIServer(t)}}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	var seen []event.Event
	e := &input.Env{Cluster: &config.Cluster{Nodes: []config.Node{{Name: "m1",
		Roles: []bundle.Role{bundle.ControlPlane}}}},
		Emit: func(ev event.Event) error { seen = append(seen, ev); return nil }}
	n, c := inventory.New(e, facts.Places{}), certs.New(e)
	n.SetNode("m1", node.New(host{to: srv.Listener.Addr()}, nil))
	key, err := x509.MarshalPKCS8PrivateKey(srv.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	pair := pki.Pair{Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}),
		Key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})}
	c.Use(&pki.PKI{CA: pair, Admin: pair})
	l := Leaving{}
	for _, name := range workers {
		l.Nodes = append(l.Nodes, config.Node{Name: name, Roles: []bundle.Role{bundle.Worker}})
	}
	r := New(&clients.Clients{Env: e, Nodes: n, Certs: c}, l)
	if err := r.ConnectAPI(); err != nil {
		t.Fatal(err)
	}
	return r, &seen
}

// When a node cannot be emptied, those that this removal has closed are opened again, and one that somebody else had
// closed before stays closed.
func TestADrainThatFailsOpensWhatItHasClosed(t *testing.T) {
	a := &api{closed: map[string]bool{"w2": true}, pods: map[string]string{"three": "w3"},
		budget: map[string]bool{"three": true}}
	r, seen := removal(t, a, "w1", "w2", "w3")
	for _, s := range r.Drain(nil) {
		err := s.Apply(t.Context())
		if f := event.AsFault(err); s.Host == "w3" && (f == nil || f.Code != "leave.drain-timeout" ||
			f.Args["pods"] != "default/three") {
			t.Errorf("a pod that may not go: %v", err)
		} else if s.Host != "w3" && err != nil {
			t.Error(s.Host, err)
		}
	}
	if !a.closed["w1"] || !a.closed["w2"] || !a.closed["w3"] {
		t.Error("after the drain:", a.pods, a.closed)
	}
	if err := r.Drained(t.Context(), event.Failed); err != nil {
		t.Fatal(err)
	}
	if a.closed["w1"] || !a.closed["w2"] || a.closed["w3"] {
		t.Error("closed at the end:", a.closed)
	}
	opened := 0
	for _, ev := range *seen {
		if c, ok := ev.(event.Change); ok && c.Desc.Key == "change.uncordon" {
			opened++
		}
	}
	if opened != 2 {
		t.Error("announced:", *seen)
	}
}

// A tool that was killed leaves a node closed: the next removal takes it for its own, and opens it when it fails.
func TestTheNextRemovalOpensWhatAKilledOneHasClosed(t *testing.T) {
	a := &api{closed: map[string]bool{"w2": true}, pods: map[string]string{"three": "w3"},
		budget: map[string]bool{"three": true}}
	for run := range 2 {
		r, _ := removal(t, a, "w1", "w2", "w3")
		for _, s := range r.Drain(nil) {
			_ = s.Apply(t.Context())
		}
		if run == 0 { // killed
			continue
		}
		if err := r.Drained(t.Context(), event.Failed); err != nil {
			t.Fatal(err)
		}
	}
	if a.closed["w1"] || !a.closed["w2"] || a.closed["w3"] || a.by["w1"] != "" {
		t.Error("closed at the end:", a.closed, a.by)
	}
}

// With force the pods that may not go are named, and the removal continues; after a drain that ended well nothing is
// opened.
func TestADrainWithForce(t *testing.T) {
	a := &api{closed: map[string]bool{}, pods: map[string]string{"one": "w1"}, budget: map[string]bool{"one": true}}
	r, seen := removal(t, a, "w1")
	r.drains.Force = true
	if err := r.Drain(nil)[0].Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	last, ok := (*seen)[len(*seen)-1].(event.Notice)
	if !ok || last.Text.Key != "notice.drain-forced" || last.Text.Args["pods"] != "default/one" {
		t.Errorf("%+v", *seen)
	}
	if err := r.Drained(t.Context(), event.Changed); err != nil || !a.closed["w1"] {
		t.Error(err, a.closed)
	}
}
