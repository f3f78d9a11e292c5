package balancer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/certs"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/component/rolling"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// teller is a load balancer on which nginx runs; what changes there is what a test wants of it.
type teller struct {
	node.Host
	name   string
	change func(ctx context.Context, script string) error
	says   map[string]string // by a word of the script; the answers of one that runs where there is none
}

func (t *teller) Name() string { return t.name }

func (t *teller) Dial(_ context.Context, _, addr string) (net.Conn, error) {
	return nil, event.NewFault(event.ClassFailed, "ssh.forward-failed", errors.New("connection refused"), "addr",
		addr).On(t.name)
}

func (t *teller) Run(ctx context.Context, c shell.Command) (shell.Result, error) {
	switch {
	case c.Stdin != nil || strings.Contains(c.Script, "systemctl $how"):
		return shell.Result{}, t.change(ctx, c.Script)
	case t.says != nil:
		for word, answer := range t.says {
			if strings.Contains(c.Script, word) {
				return shell.Result{Stdout: []byte(answer)}, nil
			}
		}
		return shell.Result{}, nil
	case strings.Contains(c.Script, "is-active"):
		return shell.Result{Stdout: []byte("state=active\n")}, nil
	}
	return shell.Result{Stdout: []byte("program /usr/sbin/nginx\nconfigure arguments: --with-stream\n")}, nil
}

// asideRun is a run with two control planes and a load balancer for each change.
func asideRun(changes ...func(context.Context, string) error) *Balancer {
	cp := func(name, ip string) config.Node {
		return config.Node{Name: name, IP: netip.MustParseAddr(ip), Roles: []bundle.Role{bundle.ControlPlane}}
	}
	c := &config.Cluster{Name: "mine", LBPort: 8443,
		Nodes: []config.Node{cp("m1", "192.0.2.11"), cp("m2", "192.0.2.12")}}
	emit := func(event.Event) error { return nil }
	e := &input.Env{Cluster: c, Now: time.Now, Emit: emit}
	r := New(&clients.Clients{Env: e, Nodes: inventory.New(e, facts.Places{}), Certs: certs.New(e)})
	r.ready = func(context.Context, *node.Node, config.Node) error { return nil }
	for i, change := range changes {
		n := cp(fmt.Sprint("lb", i+1), "192.0.2.41")
		n.Roles = []bundle.Role{bundle.LoadBalancer}
		c.Nodes = append(c.Nodes, n)
		r.SetNode(n.Name, node.New(&teller{name: n.Name, change: change}, emit))
	}
	return r
}

// TestEveryBalancerGetsTheServerBack: one that does not answer does not keep the others from it, and the fault names
// it, the server and what to do.
func TestEveryBalancerGetsTheServerBack(t *testing.T) {
	gone := event.NewFault(event.ClassFailed, "ssh.unreachable", errors.New("no route to host"))
	var told []string
	restarted := false
	r := asideRun(func(context.Context, string) error {
		if restarted {
			return gone
		}
		return nil
	}, func(context.Context, string) error {
		told = append(told, map[bool]string{false: "down", true: "up"}[restarted])
		return nil
	})
	err := r.Aside(t.Context(), r.Cluster.Nodes[0], func(context.Context) error { restarted = true; return nil })
	if !slices.Equal(told, []string{"down", "up"}) {
		t.Errorf("the second load balancer was told %q", told)
	}
	f := event.AsFault(err)
	if f == nil || f.Code != "balancer.server-down" || f.Node != "lb1" || f.Args["server"] != "m1" || f.Cause == "" {
		t.Errorf("%+v", f)
	}
}

// A run that is limited to control planes takes their API servers out of a load balancer all the same: nothing else of
// that machine changes, and it has the servers that it had.
func TestABalancerOutsideTheLimitIsTold(t *testing.T) {
	var told []string
	restarted := false
	r := asideRun(func(context.Context, string) error {
		told = append(told, map[bool]string{false: "down", true: "up"}[restarted])
		return nil
	})
	r.Limit = []string{"m1"}
	err := r.Aside(t.Context(), r.Cluster.Nodes[0], func(context.Context) error { restarted = true; return nil })
	if err != nil || !slices.Equal(told, []string{"down", "up"}) {
		t.Errorf("%v, told %q", err, told)
	}
}

// TestAServerThatWasNotPutBackIsNotDone: whoever tries the step again has it put back.
func TestAServerThatWasNotPutBackIsNotDone(t *testing.T) {
	fails := true
	r := asideRun(func(context.Context, string) error {
		if fails {
			return event.NewFault(event.ClassFailed, "ssh.unreachable", nil)
		}
		return nil
	})
	n := r.Cluster.Nodes[0]
	r.SetNode(n.Name, node.New(&teller{name: n.Name, change: func(context.Context, string) error {
		return nil
	}}, r.Emit))
	turns := rolling.New()
	if err := turns.Restart(t.Context(), "apiserver", n.Name, func(ctx context.Context) error {
		return r.Aside(ctx, n, func(context.Context) error { return nil })
	}); err == nil || !turns.LastRestartFailed("apiserver", n.Name) {
		t.Errorf("%v, and the next try would take it for done", err)
	}
	fails = false
	if err := turns.Restart(t.Context(), "apiserver", n.Name, func(ctx context.Context) error {
		return r.Aside(ctx, n, func(context.Context) error { return nil })
	}); err != nil || turns.LastRestartFailed("apiserver", n.Name) {
		t.Error(err)
	}
}

// TestPuttingBackWaitsForABalancerThatIsReachedAgain: a connection that was lost is tried for two minutes
// (remote.Timeouts), whatever became of the run.
func TestPuttingBackWaitsForABalancerThatIsReachedAgain(t *testing.T) {
	ctx, abort := context.WithCancel(t.Context())
	var left time.Duration
	r := asideRun(func(ctx context.Context, _ string) error {
		if end, ok := ctx.Deadline(); ok {
			left = time.Until(end)
		}
		return ctx.Err()
	})
	err := r.Aside(ctx, r.Cluster.Nodes[0], func(context.Context) error { abort(); return ctx.Err() })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left <= 2*time.Minute {
		t.Errorf("the load balancer has %v", left)
	}
}

// TestWhoWaitsForTheBalancerCanBeInterrupted while somebody else writes its configuration.
func TestWhoWaitsForTheBalancerCanBeInterrupted(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(began) })
	r := asideRun(func(context.Context, string) error {
		first()
		<-end
		return nil
	})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(end)
	wg.Go(func() { _ = r.takeOut(t.Context(), "m1") })
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	waits := make(chan error, 1)
	wg.Go(func() { waits <- r.takeOut(ctx, "m2") })
	select {
	case err := <-waits:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it still waits")
	}
}

// A server is sent to again when it is ready, and not because its restart has ended: nginx sends clients to whoever
// accepts a connection. One that stays out is named.
func TestAServerThatIsNotReadyStaysOut(t *testing.T) {
	ready := errors.New("/readyz: 503")
	conf := ""
	r := asideRun(nil)
	lb := r.Cluster.With(bundle.LoadBalancer)[0]
	r.SetNode(lb.Name, node.New(&confTeller{teller{name: lb.Name}, &conf}, r.Emit))
	r.Patience = 0
	r.ready = func(context.Context, *node.Node, config.Node) error { return ready }
	n := r.Cluster.Nodes[0]
	outOf := func(want ...string) {
		t.Helper()
		if is := r.Out(conf); !slices.Equal(is, want) {
			t.Errorf("left out: %q, want %q", is, want)
		}
	}
	f := event.AsFault(r.Aside(t.Context(), n, func(context.Context) error { outOf("m1"); return nil }))
	if f == nil || f.Code != "balancer.server-down" || !strings.Contains(f.Cause, "503") {
		t.Errorf("%+v", f)
	}
	outOf("m1")
	broken := event.NewFault(event.ClassFailed, "component.unhealthy", nil)
	f = event.AsFault(r.Aside(t.Context(), n, func(context.Context) error { return broken }))
	if f == nil || f.Code != broken.Code {
		t.Errorf("%+v", f)
	}
	outOf("m1")

	other := r.Cluster.Nodes[1] // whoever writes the configuration for another one leaves it out too
	_ = r.Aside(t.Context(), other, func(context.Context) error { outOf("m1", "m2"); return nil })
	if out, err := r.LeftOut(t.Context(), n); !out || err != nil {
		t.Errorf("%v, %v", out, err)
	}
	ready = nil
	if err := r.Return(t.Context(), n); err != nil {
		t.Error(err)
	}
	outOf()
	if out, err := r.LeftOut(t.Context(), n); out || err != nil {
		t.Errorf("%v, %v", out, err)
	}
}

// confTeller is a load balancer that keeps its configuration.
type confTeller struct {
	teller
	conf *string
}

func (t *confTeller) Run(ctx context.Context, c shell.Command) (shell.Result, error) {
	t.change = func(_ context.Context, script string) error {
		var size int
		_, put, _ := strings.Cut(script, "put "+Conf+" 644 ")
		if _, err := fmt.Sscan(put, &size); err != nil {
			return nil
		}
		*t.conf = string(c.Stdin[:size])
		return nil
	}
	if c.Stdin == nil && strings.Contains(c.Script, "cat "+Conf) {
		return shell.Result{Stdout: []byte(*t.conf)}, nil
	}
	return t.teller.Run(ctx, c)
}
