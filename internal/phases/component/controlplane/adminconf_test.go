package controlplane

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/certs"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// paths is a driver that keeps the administrator's kubeconfig at a place of its own.
type paths struct{ driver.Driver }

func (paths) Paths() driver.Paths { return driver.Paths{AdminConf: "/etc/mine/admin.conf"} }

func (paths) LastWords(context.Context, *node.Node, driver.Component) string { return "bad flag" }

// machine keeps what it was told.
type machine struct {
	node.Host
	told []string
}

func (*machine) Name() string { return "m1" }

func (m *machine) Run(_ context.Context, c shell.Command) (shell.Result, error) {
	m.told = append(m.told, c.Script)
	return shell.Result{}, nil
}

// one is a run with a single control plane.
func one(t *testing.T) (*ControlPlane, *machine) {
	t.Helper()
	c, ps := config.Load([]byte("cluster-id: mine\nmasters: [{name: m1, ip: 192.0.2.11}]\n"+
		"package-src: {x86src: /b.tar.gz}\n"), "deploy.yaml")
	if c == nil {
		t.Fatal(ps)
	}
	e := &input.Env{StateDir: t.TempDir(), Now: time.Now, Emit: func(event.Event) error { return nil }, Cluster: c}
	n, m := inventory.New(e, facts.Places{}), &machine{}
	n.SetNode("m1", node.New(m, e.Emit))
	return &ControlPlane{Clients: &clients.Clients{Env: e, Nodes: n, Certs: certs.New(e)}, Driver: paths{}}, m
}

// TestNoNodeHasAKubeconfigThatIsNotKept: what the store of the caller does not have yet reaches no node.
func TestNoNodeHasAKubeconfigThatIsNotKept(t *testing.T) {
	for _, kept := range []error{nil, errors.New("no store")} {
		r, m := one(t)
		if err := r.EnsurePKI(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.Persist = func(context.Context, input.Kept) error { return kept }
		err := r.writeAdminConf(t.Context())
		if told := strings.Join(m.told, "\n"); (err == nil) != (kept == nil) ||
			strings.Contains(told, "/etc/mine/admin.conf") != (kept == nil) {
			t.Errorf("kept %v: %v, told %d scripts", kept, err, len(m.told))
		}
	}
}

func (*machine) Dial(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("refused")
}

// TestAnAPIServerThatDied: its last words are those that the driver has.
func TestAnAPIServerThatDied(t *testing.T) {
	r, _ := one(t)
	if err := r.EnsurePKI(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := event.AsFault(r.ServersReady(t.Context()))
	if f == nil || f.Code != "kube.not-ready" || f.Args["log"] != "bad flag" || !f.Retry {
		t.Errorf("%+v", f)
	}
}
