package phases

import (
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

var (
	cpRole, workerRole, etcdRole = bundle.ControlPlane, bundle.Worker, bundle.Etcd
	master, worker               = nodestest.Master(), nodestest.Worker()
	etcdOnly                     = config.Node{Name: "e1", IP: worker.IP, Port: 22, Arch: "amd64",
		Roles: []bundle.Role{etcdRole}}
)

func manifest() *bundle.Manifest { return nodestest.Manifest() }

func good(n config.Node) *facts.Facts { return nodestest.Good(n) }

// findings is what preflight finds by checks of these.
func (r *run) findings(t *testing.T, checks []preflight.Check, n config.Node) []string {
	t.Helper()
	return nodestest.Codes(preflight.Run(t.Context(), r.checked([]config.Node{n}), checks))
}

func newTestRun() *run {
	r := newRun(Env{Cluster: &config.Cluster{Name: "mine", Nodes: []config.Node{master, worker},
		NetworkPlugin: "flannel", Packages: map[bundle.Role][]config.Package{}}, Now: time.Now})
	r.SetBundle("amd64", nodestest.Box{Is: manifest()})
	return r
}

// componentRun is a run that knows its nodes and certificates, for a deploy.yaml with more keys.
func componentRun(t *testing.T, more string) *run {
	t.Helper()
	c, ps := config.Load([]byte("cluster-id: mine\nmasters: [{name: m1, ip: 192.0.2.11}]\nnodes: [{name: w1, ip: "+
		"192.0.2.21}]\npackage-src: {x86src: /b.tar.gz}\n"+more), "deploy.yaml")
	if c == nil {
		t.Fatal(ps)
	}
	r := newRun(Env{Cluster: c, Now: time.Now, StateDir: t.TempDir()})
	r.SetBundle("amd64", nodestest.Box{Is: manifest()})
	for _, n := range c.Nodes {
		r.SetFact(n.Name, good(n))
	}
	r.Certs.Use(&pki.PKI{Nodes: map[string]pki.Node{}})
	return r
}
