package clients

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/certs"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// host is a node that only connects, and not when it is down.
type host struct {
	node.Host
	name  string
	down  *bool
	asked *[]string
}

func (h host) Name() string { return h.name }

func (h host) Dial(_ context.Context, _, addr string) (net.Conn, error) {
	*h.asked = append(*h.asked, h.name+" "+addr)
	if *h.down {
		return nil, event.NewFault(event.ClassFailed, "ssh.forward-failed", errors.New("refused"))
	}
	a, b := net.Pipe()
	return a, b.Close()
}

// three are the clients of three control planes; down says who does not answer, asked whom somebody tried to reach.
func three() (r *Clients, down map[string]*bool, asked *[]string) {
	e := &input.Env{Cluster: &config.Cluster{}}
	n := inventory.New(e, facts.Places{})
	r = &Clients{Env: e, Nodes: n, Certs: certs.New(e)}
	down, asked = map[string]*bool{}, &[]string{}
	at := netip.MustParseAddr("192.0.2.10")
	for _, name := range []string{"m1", "m2", "m3"} {
		at, down[name] = at.Next(), new(bool)
		e.Cluster.Nodes = append(e.Cluster.Nodes, config.Node{Name: name, IP: at,
			Roles: []bundle.Role{bundle.ControlPlane}})
		n.SetNode(name, node.New(host{name: name, down: down[name], asked: asked}, nil))
	}
	return r, down, asked
}

func TestTheAPIServerThatAnsweredLastIsAskedFirst(t *testing.T) {
	r, down, asked := three()
	*down["m1"] = true
	for range 2 {
		c, err := (apiWay{r}).Dial(t.Context(), "tcp", "192.0.2.99:1")
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	if want := []string{"m1 127.0.0.1:6443", "m2 127.0.0.1:6443", "m2 127.0.0.1:6443"}; !slices.Equal(*asked, want) {
		t.Errorf("asked %q, want %q", *asked, want)
	}
	*down["m2"], *down["m3"], *asked = true, true, nil
	if _, err := (apiWay{r}).Dial(t.Context(), "tcp", ""); event.AsFault(err).Code != "ssh.forward-failed" ||
		len(*asked) != 3 {
		t.Errorf("nobody answers: %v, asked %q", err, *asked)
	}
}

func TestAMemberIsReachedThroughItsOwnNode(t *testing.T) {
	r, _, asked := three()
	gone := config.Node{Name: "m3", IP: r.Cluster.Nodes[2].IP}
	r.Cluster.Nodes, r.Removing = r.Cluster.Nodes[:2], []config.Node{gone}
	for way, want := range map[Dialer]string{r.Peers(): "m1", r.PeersAndRemoved(): "m3"} {
		*asked = nil
		c, err := way.Dial(t.Context(), "tcp", gone.IP.String()+":2379")
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		if addr := gone.IP.String() + ":2379"; !slices.Equal(*asked, []string{want + " " + addr}) {
			t.Errorf("asked %q, want %s", *asked, want)
		}
	}
}

// roundTrip is a server in the place of a transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// A dry run reads, and announces what it would change.
func TestADryRunSendsNoChange(t *testing.T) {
	r, _, _ := three()
	if r.recorder() != nil {
		t.Error("what is no dry run is recorded")
	}
	var announced, sent []string
	r.Dry = true
	r.Emit = func(e event.Event) error {
		if c, ok := e.(event.Change); ok {
			announced = append(announced, c.Desc.Args["method"]+" "+c.Desc.Args["path"])
		}
		return nil
	}
	way := r.recorder()(roundTrip(func(req *http.Request) (*http.Response, error) {
		sent = append(sent, req.Method)
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
	}))
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPost} {
		req, err := http.NewRequestWithContext(t.Context(), method, "https://x/api/v1/pods", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := way.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(err, resp)
		}
		resp.Body.Close()
	}
	if !slices.Equal(sent, []string{"GET"}) || !slices.Equal(announced,
		[]string{"DELETE /api/v1/pods", "POST /api/v1/pods"}) {
		t.Errorf("sent %q, announced %q", sent, announced)
	}
}

func TestWhatTheAPIServerWaitsFor(t *testing.T) {
	long := errors.New("[+]ping ok\n[+]log ok\n[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\n" +
		"[-]autoregister-completion failed: reason withheld\n[+]shutdown ok")
	if got := Unready(long).Error(); got != "waiting for rbac/bootstrap-roles, autoregister-completion" {
		t.Error(got)
	}
	if plain := errors.New("connection refused"); Unready(plain) != plain {
		t.Error("an error without checks is not the same any more")
	}
}
