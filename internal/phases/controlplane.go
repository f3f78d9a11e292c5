package phases

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/wait"
)

// controlPlane starts the API server, the controller manager and the scheduler, and gives the rights that nodes and the API server need.
func (r *run) controlPlane() []*engine.Step {
	var steps []*engine.Step
	cps := r.Cluster.With(bundle.ControlPlane)
	for _, n := range cps {
		ready := []string{plan.ID(plan.PhaseEtcd, "health", ""), plan.Programs(n, plan.GroupControl), plan.ID(plan.PhaseInfra, "system", n.Name)}
		api := r.service(component{phase: plan.PhaseControl, what: "apiserver", make: r.apiserverService, probe: r.serverReady,
			aside: r.aside, reports: true, serves: r.stopDelay()}, n, ready)
		steps = append(steps, api,
			r.service(component{phase: plan.PhaseControl, what: "controller-manager", make: r.controllerManagerService,
				probe: wait.Answers("https://127.0.0.1:10257/healthz", "kube-controller-manager.service")}, n, []string{api.ID}),
			r.service(component{phase: plan.PhaseControl, what: "scheduler", make: r.schedulerService,
				probe: wait.Answers("https://127.0.0.1:10259/healthz", "kube-scheduler.service")}, n, []string{api.ID}))
	}
	ready := plan.Step(plan.PhaseControl, "ready", "", plan.IDs(plan.PhaseControl, "apiserver", cps))
	ready.Verify = r.apiReady
	ready.Retry = engine.Retry{Tries: 60, Delay: 500 * time.Millisecond, MaxDelay: 2 * time.Second}
	ready.Timeout = 30 * time.Second
	rbac := plan.Step(plan.PhaseControl, "rights", "", []string{ready.ID})
	rbac.Retry = engine.Retry{Tries: 10, Delay: time.Second, MaxDelay: 3 * time.Second}
	rbac.Check = func(ctx context.Context) (bool, error) { return r.AppliedAsset(ctx, r.rights) }
	rbac.Apply = func(ctx context.Context) error { return r.ApplyAsset(ctx, r.rights) }
	conf := plan.Step(plan.PhaseControl, "kubeconfig", "", []string{ready.ID})
	conf.Check = r.adminConfWritten
	conf.Apply = r.writeAdminConf
	return append(steps, ready, rbac, conf)
}

// apiReady makes the clients, which reach whichever API server lives, and waits for /readyz of all of them.
func (r *run) apiReady(ctx context.Context) error {
	if err := r.serversReady(ctx); err != nil && !r.Dry { // a rehearsal asks those that there are
		return err
	}
	return r.ConnectAPI()
}

// serversReady wants every API server to be ready; all are asked at once.
func (r *run) serversReady(ctx context.Context) error {
	cps := r.Cluster.With(bundle.ControlPlane)
	faults := make([]error, len(cps))
	var wg sync.WaitGroup
	for i, n := range cps {
		wg.Go(func() { faults[i] = r.serverAnswers(ctx, r.Node(n.Name)) })
	}
	wg.Wait()
	for _, err := range faults {
		if err != nil {
			return err
		}
	}
	return nil
}

// serverReady waits until the node's API server is ready.
func (r *run) serverReady(ctx context.Context, nd *node.Node) error {
	return wait.Until(ctx, 2*wait.ProbeLimit, func(ctx context.Context) error { return r.serverAnswers(ctx, nd) })
}

// serverAnswers asks the node's own API server whether it is ready, as the administrator: an anonymous request may be refused.
func (r *run) serverAnswers(ctx context.Context, nd *node.Node) error {
	err := r.Readyz(ctx, nd.Dial, "127.0.0.1:6443")
	if err == nil {
		return nil
	}
	f := event.NewFault(event.ClassFailed, "kube.not-ready", unready(err), "log", r.lastWords(ctx, nd, "kube-apiserver.service")).On(nd.Name())
	f.Retry = true
	return f
}

// Readyz wants 200 of /readyz at addr, from a server with a certificate of the cluster.
func (r *Clients) Readyz(ctx context.Context, dial func(context.Context, string, string) (net.Conn, error), addr string) error {
	cert, err := tls.X509KeyPair(r.PKI().Admin.Cert, r.PKI().Admin.Key)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(r.PKI().CA.Cert)
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		Certificates: []tls.Certificate{cert}, RootCAs: pool, ServerName: "kubernetes", MinVersion: tls.VersionTLS12,
	}}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+addr+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	return fmt.Errorf("/readyz: %s: %s", resp.Status, text)
}

// unready says which checks of /readyz failed; the API server's answer names all sixty of them.
func unready(err error) error {
	var failed []string
	for _, m := range regexp.MustCompile(`\[-\]([\w./-]+) failed`).FindAllStringSubmatch(err.Error(), -1) {
		failed = append(failed, strings.TrimPrefix(m[1], "poststarthook/"))
	}
	if len(failed) == 0 {
		return err
	}
	return errors.New("waiting for " + strings.Join(failed, ", "))
}

// lastWords of a unit that has died; "" while it lives.
func (r *run) lastWords(ctx context.Context, nd *node.Node, unit string) string {
	out, err := nd.Query(ctx, "systemctl is-active "+node.Quote(unit)+" || true")
	if err != nil || strings.TrimSpace(out) == "active" {
		return ""
	}
	return nd.Journal(ctx, unit)
}

// API is the client that the ready step made.
func (r *Clients) API() *kube {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kube
}

// AppliedAsset and ApplyAsset work on the manifests that make returns.
func (r *Clients) AppliedAsset(ctx context.Context, make func() ([]byte, error)) (bool, error) {
	data, err := make()
	if err != nil {
		return false, err
	}
	objs, err := parseManifests(data)
	if err != nil {
		return false, err // none of a user's: these come with the program
	}
	return r.API().applied(ctx, objs)
}

func (r *Clients) ApplyAsset(ctx context.Context, make func() ([]byte, error)) error {
	data, err := make()
	if err != nil {
		return err
	}
	objs, err := parseManifests(data)
	if err != nil {
		return err
	}
	return r.API().apply(ctx, objs)
}
