package phases

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// proxyMade is what a kubeadm prints of kube-proxy, as far as it is looked at.
const proxyMade = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: kube-proxy, namespace: kube-system, labels: {k8s-app: kube-proxy}}
spec: {template: {spec: {containers: [{name: kube-proxy, image: registry.k8s.io/kube-proxy, command: [kube-proxy]}]}}}
`

const proxyPath = "/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy"

// kept are the objects of an API server by their paths.
type kept struct {
	mu   sync.Mutex
	docs map[string]fields
}

// keeping has an API server on m1 that keeps what is applied.
func keeping(t *testing.T, r *run) *kept {
	t.Helper()
	resource := func(name, kind string) fields {
		return fields{"name": name, "kind": kind, "namespaced": true, "verbs": []string{"get", "patch"}}
	}
	apps := fields{"groupVersion": "apps/v1", "version": "v1"}
	k := &kept{docs: map[string]fields{
		"/api": {"kind": "APIVersions", "versions": []string{"v1"}},
		"/apis": {"kind": "APIGroupList", "apiVersion": "v1",
			"groups": []any{fields{"name": "apps", "versions": []any{apps}, "preferredVersion": apps}}},
		"/api/v1": {"kind": "APIResourceList", "groupVersion": "v1",
			"resources": []any{resource("configmaps", "ConfigMap")}},
		"/apis/apps/v1": {"kind": "APIResourceList", "groupVersion": "apps/v1",
			"resources": []any{resource("daemonsets", "DaemonSet")}},
	}}
	cert, err := tls.X509KeyPair(r.PKI().Nodes["m1"].APIServer.Cert, r.PKI().Nodes["m1"].APIServer.Key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(k)
	s.Listener.Close()
	s.Listener = listen(t, r, "6443")
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(s.Close)
	if err := r.ConnectAPI(); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *kept) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	doc := k.docs[q.URL.Path]
	if q.Method == http.MethodPatch {
		doc = nil
		_ = json.NewDecoder(q.Body).Decode(&doc)
		if q.URL.Query().Get("dryRun") == "" {
			k.docs[q.URL.Path] = doc
		}
	}
	if doc == nil {
		w.WriteHeader(http.StatusNotFound)
		doc = fields{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
	}
	_ = json.NewEncoder(w).Encode(doc)
}

// revision is that of the DaemonSet of kube-proxy.
func (k *kept) revision(t *testing.T) string {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	text, err := json.Marshal(k.docs[proxyPath])
	if err != nil {
		t.Fatal(err)
	}
	var is struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct{ Env []struct{ Value string } }
				}
			}
		}
	}
	if err := json.Unmarshal(text, &is); err != nil {
		t.Fatal(err)
	}
	if c := is.Spec.Template.Spec.Containers; len(c) == 1 && len(c[0].Env) == 1 {
		return c[0].Env[0].Value
	}
	t.Fatalf("%s", text)
	return ""
}

// published is the revision that a run publishes.
func published(t *testing.T, r *run, k *kept) string {
	t.Helper()
	for range 2 {
		for _, s := range r.driver.Publish(nil) {
			if err := s.Apply(t.Context()); err != nil {
				t.Fatal(err)
			}
			if ok, err := s.Check(t.Context()); !ok || err != nil {
				t.Fatalf("it was published: %v, %v", ok, err)
			}
		}
	}
	return k.revision(t)
}

// The DaemonSet of kube-proxy is of deploy.yaml, the bundle, and what is known of the nodes; that one of them is away
// changes nothing, or its pods would be replaced on all nodes.
func TestKubeProxyDoesNotDependOnWhoIsThere(t *testing.T) {
	r := standOf(t, "eggo: {driver: kubeadm}\n", to("--print-manifest", proxyMade))
	m2 := config.Node{Name: "m2", IP: netip.MustParseAddr("192.0.2.12"), Arch: "amd64",
		Roles: []bundle.Role{bundle.ControlPlane}}
	r.Cluster.Nodes = append(r.Cluster.Nodes, m2)
	k := keeping(t, r)
	r.SetFact("m2", good(m2))
	r.SetNode("m2", node.New(stub{name: "m2", says: to("--print-manifest", proxyMade)}, r.Emit))
	all := published(t, r, k)

	w1, m1 := r.Fact("w1"), r.Fact("m1")
	bare := *w1
	bare.Conntrack = false
	r.SetFact("w1", &bare)
	without := published(t, r, k)
	if without == all {
		t.Fatal("a node whose kernel refuses the size of the table is not heeded")
	}
	r.SetFact("w1", nil)
	if is := published(t, r, k); is != without {
		t.Error("a worker that is away has changed kube-proxy")
	}
	r.SetFact("m1", nil)
	if is := published(t, r, k); is != without {
		t.Error("a control plane that is away has changed kube-proxy")
	}
	r.SetFact("m1", m1)
	r.SetFact("w1", w1)
	if is := published(t, r, k); is != all {
		t.Error("what is no more is not forgotten")
	}
	r.SetFact("w1", nil)
	if is := published(t, r, k); is != all {
		t.Error("a worker that is away has changed kube-proxy")
	}
	if text, err := json.Marshal(k.docs[proxyPath]); err != nil || strings.Contains(string(text), "left-alone") {
		t.Errorf("%s %v", text, err)
	}
}

// What kubeadm says is wrong with its configuration is in the fault.
func TestWhyThereAreNoObjectsOfKubeProxy(t *testing.T) {
	r := standOf(t, "eggo: {driver: kubeadm}\n", silent)
	keeping(t, r)
	const why = "error: no kind ClusterConfiguration is registered for version v9"
	r.SetNode("m1", node.New(stub{name: "m1", fails: func(script string) string {
		if strings.Contains(script, "--print-manifest") && !strings.Contains(script, "2>") {
			return why
		}
		return ""
	}, says: silent}, r.Emit))
	f := event.AsFault(r.driver.Publish(nil)[0].Apply(t.Context()))
	if f == nil || f.Code != "node.command-failed" || f.Cause != why || f.Node != "m1" {
		t.Errorf("%+v", f)
	}
}
