package phases

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/nodestest"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
)

var (
	cpRole, workerRole, etcdRole = bundle.ControlPlane, bundle.Worker, bundle.Etcd
	master, worker               = nodestest.Master(), nodestest.Worker()
	etcdOnly                     = config.Node{Name: "e1", IP: worker.IP, Port: 22, Arch: "amd64",
		Roles: []bundle.Role{etcdRole}}
)

func manifest() *bundle.Manifest { return nodestest.Manifest() }

func good(n config.Node) *facts.Facts { return nodestest.Good(n) }

// judged is what preflight finds by checks of these.
func (r *run) judged(t *testing.T, checks []preflight.Check, n config.Node) []string {
	t.Helper()
	return codes(preflight.Run(t.Context(), r.checked([]config.Node{n}), checks))
}

// box is a bundle that is only its manifest.
type box struct{ m *bundle.Manifest }

func (b box) Manifest() *bundle.Manifest                          { return b.m }
func (box) Open(string) (io.ReadSeekCloser, error)                { return nil, io.EOF }
func (box) Images(context.Context, []string) (bundle.File, error) { return bundle.File{}, io.EOF }

func newTestRun() *run {
	r := newRun(Env{Cluster: &config.Cluster{Name: "mine", Nodes: []config.Node{master, worker},
		NetworkPlugin: "flannel", Packages: map[bundle.Role][]config.Package{}}, Now: time.Now})
	r.SetBundle("amd64", box{manifest()})
	return r
}

func codes(all []event.Finding) []string {
	var out []string
	for _, f := range all {
		out = append(out, string(f.Severity)+" "+f.Fault.Code)
	}
	return out
}
