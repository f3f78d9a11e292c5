package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// TestBalancerMoves: the load balancer of two control planes moves to another machine, and is then removed, by deploy,
// while clients call a Service, and the API by a name that is changed as docs/nodes.md says: when the new endpoint
// answers, before the old one is stopped. No call fails and no event is missed, but that without a load balancer
// nobody answers while the first control plane's API server restarts with the certificate that the old address has
// left.
func TestBalancerMoves(t *testing.T) {
	full(t)
	nodes := func(balancer string) []stand.Node {
		out := []stand.Node{{Name: "n1", Roles: "me"}, {Name: "n2", Roles: "me"}, {Name: "n3", Roles: "n"},
			{Name: "n4", Roles: "n"}}
		for i := range out {
			if out[i].Name == balancer {
				out[i].Roles += "l"
			}
		}
		return out
	}
	u := installed(t, "lb", nodes("n3"), nil)
	at := func(node, port string) string { return net.JoinHostPort(address(t, u.Stand, node), port) }
	for _, move := range []struct{ from, to, old, endpoint string }{
		{"n3", "n4", at("n3", "8443"), at("n4", "8443")},
		{"n4", "", at("n4", "8443"), at("n1", "6443")},
	} {
		u.Say("== the load balancer leaves %s for %q", move.from, move.to)
		file, err := u.Deploy("without-"+move.from+".yaml", u.cluster, nodes(move.to))
		must(t, "deploy.yaml", err)
		c := follow(t, u, move.old, move.endpoint)
		began := time.Now()
		try(t, u.Stand, 0, "deploy", "-f", file)
		u.Say("the move took %s", time.Since(began).Round(time.Second))
		c.unharmed(t, u, move.to == "")
		for _, n := range u.kubelets() {
			out, err := u.Lab.Run(t.Context(), n, "grep -h server: /etc/kubernetes/kubelet.conf")
			if err != nil || !strings.Contains(out, "https://"+move.endpoint) {
				t.Errorf("the kubelet of %s uses %s, %v", n, out, err)
			}
		}
		if _, err := u.Lab.Run(t.Context(), move.from,
			"! systemctl cat eggo-lb.service 2>/dev/null && [ ! -e /etc/eggo/nginx-lb.conf ]"); err != nil {
			t.Errorf("what is left on %s: %v", move.from, err)
		}
		u.healthy()
		try(t, u.Stand, 0, "deploy", "-f", file)
		noChange(t, u.State(), u.cluster)
	}
	if out := u.kubectl("get", "events", "-A", "--field-selector", "reason=NodeNotReady", "-o", "name"); out != "" {
		t.Errorf("a Node was not Ready: %s", out)
	}
	u.gone()
}

// followers call the API by the endpoint of a cluster, each time on a new connection: at the old address until the run
// says that the new one is the endpoint.
type followers struct {
	fresh, write, serve *callers
	writes              *writes
}

func follow(t *testing.T, u *upgraded, old, endpoint string) *followers {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	t.Cleanup(end)
	var at atomic.Pointer[string]
	at.Store(&old)
	begun := u.runs()
	go func() {
		_ = stand.Until(ctx, 30*time.Minute, "the new endpoint is in use", func(context.Context) error {
			runs, err := stand.Runs(u.State(), u.cluster)
			if err != nil {
				return err
			}
			if len(runs) > begun {
				for _, r := range runs[len(runs)-1] {
					e, is := r.Event.(event.StepEnded)
					if is && e.Step == "control-plane.kubeconfig" && e.Fault == nil {
						at.Store(&endpoint)
						return nil
					}
				}
			}
			return fmt.Errorf("%s is not the endpoint", endpoint)
		})
	}()
	tls := admin(t, u.Stand, u.cluster)
	tls.ServerName = "kubernetes"
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: tls,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, *at.Load())
		}}}
	inside := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return u.Lab.Dial(ctx, "n4", network, address)
		}}}
	ip := u.kubectl("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
	const namespace = "https://kubernetes/api/v1/namespaces/default"
	f := &followers{writes: newWrites(t, client, namespace+"/configmaps")}
	f.fresh = callEach(t, "the API by its endpoint", often, 20*time.Second,
		func(ctx context.Context) error { return get(ctx, client, namespace, `"name":"default"`) })
	f.write = callEach(t, "the API by its endpoint with a write", often, 20*time.Second, f.writes.write)
	f.serve = callEach(t, "the Service at its ClusterIP from n4", often, 5*time.Second,
		func(ctx context.Context) error { return get(ctx, inside, "http://"+ip+"/hostname", "web-") })
	return f
}

// unharmed stops them, and wants every call to have been answered. Without a load balancer calls of the API fail while
// the first control plane restarts its API server.
func (f *followers) unharmed(t *testing.T, u *upgraded, alone bool) {
	t.Helper()
	var restarts []window
	if alone {
		restarts = u.windows("clean.apiserver/n1")
	}
	for _, c := range []*callers{f.fresh, f.write, f.serve} {
		calls, failed := c.end(u.Stand)
		if calls < 10 {
			t.Errorf("%s was called %d times only", c.name, calls)
		}
		for _, bad := range failed {
			in := false
			for _, w := range restarts {
				in = in || c != f.serve && bad.began.After(w.from.Add(-time.Second)) && bad.began.Before(w.to)
			}
			if !in {
				t.Errorf("%s: a call failed: %s", c.name, bad)
			}
		}
	}
	if missed := f.writes.missed(t.Context()); len(missed) > 0 {
		t.Errorf("the watch missed the writes %v", missed)
	}
	u.reportAbsences()
}
