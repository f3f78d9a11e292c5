package phases

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/clients"
	"github.com/eggo-k8s/eggo/internal/phases/driver"
	"github.com/eggo-k8s/eggo/internal/phases/env"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
)

// bootstrap joins every kubelet by TLS bootstrapping: a token that can only ask for a certificate, and the certificate
// approved by the controller manager.
func (r *run) bootstrap() []*engine.Step {
	kubelets := nodes.Kubelets(r.Cluster)
	token := plan.Step(plan.PhaseBootstrap, "token", "", r.joinable())
	token.When = func(context.Context) (bool, event.Msg, error) {
		for _, n := range kubelets {
			if !r.Skipped(n.Name) && !r.Fact(n.Name).Joined {
				return true, event.Msg{}, nil
			}
		}
		return false, event.M("why.all-joined"), nil
	}
	token.Retry = engine.Retry{Tries: 10, Delay: time.Second, MaxDelay: 3 * time.Second}
	token.Check = r.tokenValid
	token.Apply = r.makeToken
	steps := []*engine.Step{token}
	for _, n := range kubelets {
		ready := []string{token.ID, plan.Programs(n, plan.GroupNode), plan.ID(plan.PhaseInfra, "system", n.Name),
			plan.ID(plan.PhaseInfra, "load-images", n.Name)}
		kubelet := r.driver.Start(driver.Kubelet, n)
		running, apply := kubelet.Check, kubelet.Apply
		// A kubelet that has not joined may hold a token that has ended since: then it is given the new one and started
		// anew.
		kubelet.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
			if ok, err := running(ctx); !ok || err != nil {
				return false, err
			}
			if ok, err := r.knowsEndpoint(ctx, nd); !ok || err != nil {
				return false, err
			}
			return r.mayJoin(ctx, nd)
		})
		kubelet.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
			if err := r.handToken(ctx, nd); err != nil {
				return err
			}
			if err := r.tellEndpoint(ctx, nd); err != nil {
				return err
			}
			return apply(ctx)
		})
		steps = append(steps, kubelet.Steps(plan.PhaseBootstrap, "kubelet", n, ready)...)
		joined := plan.Step(plan.PhaseBootstrap, "join", n.Name,
			[]string{plan.ID(plan.PhaseBootstrap, "kubelet", n.Name)})
		joined.Check = func(ctx context.Context) (bool, error) { return r.joined(ctx, n) }
		joined.Apply = func(ctx context.Context) error { return r.join(ctx, n) }
		joined.Timeout = 2 * time.Minute
		joined.Retry = engine.Retry{Tries: 60, Delay: 500 * time.Millisecond, MaxDelay: 2 * time.Second}
		// kube-proxy asks for its Node object first, and sits out a back-off of up to half a minute when it is not
		// there yet.
		proxy := r.driver.Start(driver.Proxy, n)
		proxy.Apply = r.Announce(n, proxy.Apply, "notice.no-conntrack",
			func(f *facts.Facts) bool { return !f.Conntrack })
		steps = append(append(steps, joined), proxy.Steps(plan.PhaseBootstrap, "proxy", n, []string{joined.ID})...)
		if r.Cluster.KubeletServing {
			steps = append(steps, r.serving(n, joined.ID))
		}
	}
	return steps
}

// token is the bootstrap token as the jump host keeps it until it ends.
type token struct {
	ID, Secret string
	Ends       time.Time
}

func (r *run) tokenPath() string { return filepath.Join(r.StateDir, "pki", "bootstrap-token") }

func (r *run) readToken() (token, bool) {
	var t token
	data, err := os.ReadFile(r.tokenPath())
	if err != nil || json.Unmarshal(data, &t) != nil {
		return t, false
	}
	return t, r.Now().Add(time.Hour).Before(t.Ends)
}

func (r *run) tokenValid(ctx context.Context) (bool, error) {
	t, ok := r.readToken()
	if !ok {
		return false, nil
	}
	_, err := r.API().CoreV1().Secrets(metav1.NamespaceSystem).Get(ctx, "bootstrap-token-"+t.ID, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, clients.Fault(err)
	}
	return true, nil
}

func (r *run) makeToken(ctx context.Context) error {
	t, ok := r.readToken()
	if !ok {
		// rand.Text is upper-case base32; a bootstrap token is [a-z0-9]{6}.[a-z0-9]{16}.
		s := strings.ToLower(rand.Text())
		t = token{ID: s[:6], Secret: s[6:22], Ends: r.Now().Add(layout.TokenLife).UTC()}
		data, err := json.Marshal(t)
		if err != nil {
			return err
		}
		if err := renameio.WriteFile(r.tokenPath(), data, 0o600); err != nil {
			return event.NewFault(event.ClassFailed, "state.write", err)
		}
	}
	if err := r.Keep(ctx, env.KeptPKI); err != nil {
		return err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + t.ID, Namespace: metav1.NamespaceSystem},
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id": t.ID, "token-secret": t.Secret, "expiration": t.Ends.Format(time.RFC3339),
			"usage-bootstrap-authentication": "true", "auth-extra-groups": "system:bootstrappers:eggo",
		},
	}
	_, err := r.API().CoreV1().Secrets(metav1.NamespaceSystem).Create(ctx, secret,
		metav1.CreateOptions{FieldManager: layout.FieldManager})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return clients.Fault(err)
	}
	return nil
}

// handToken gives a node that has no certificate yet the token to ask for one.
func (r *run) handToken(ctx context.Context, nd *node.Node) error {
	out, err := nd.Query(ctx, "[ -s "+layout.KubeletConf+" ] && echo joined || true")
	if err != nil || strings.TrimSpace(out) == "joined" {
		return err
	}
	t, ok := r.readToken()
	if !ok {
		return event.NewFault(event.ClassFailed, "bootstrap.no-token", nil).On(nd.Name())
	}
	conf, err := r.BootstrapKubeconfig(t.ID + "." + t.Secret)
	if err != nil {
		return err
	}
	_, err = nd.Put(ctx, []node.File{{Path: layout.BootstrapConf, Mode: 0o600, Data: conf, Secret: true}})
	return err
}

// serverLine is the line of the kubelet's own kubeconfig that names the cluster's endpoint. The kubelet writes the file
// when it joins, from the one with the token, and never looks at it again; so a new endpoint is told by us.
func (r *run) serverLine() string { return "    server: https://" + r.Cluster.Endpoint }

// knowsEndpoint says whether a kubelet that has joined was told the endpoint that counts.
func (r *run) knowsEndpoint(ctx context.Context, nd *node.Node) (bool, error) {
	out, err := nd.Query(ctx, "if [ -s "+layout.KubeletConf+" ] && grep -q '^ *server: ' "+layout.KubeletConf+
		"; then sed -n 's/^ *server: */server /p' "+layout.KubeletConf+"; fi")
	return out == "" || strings.TrimSpace(out) == "server https://"+r.Cluster.Endpoint, err
}

func (r *run) tellEndpoint(ctx context.Context, nd *node.Node) error {
	if ok, err := r.knowsEndpoint(ctx, nd); ok || err != nil {
		return err
	}
	_, err := nd.Change(ctx, node.Change{Desc: event.M("change.endpoint", "path", layout.KubeletConf, "endpoint",
		r.Cluster.Endpoint), Env: map[string]string{"LINE": r.serverLine()},
		Script: r.driver.Stale(driver.Kubelet) + "(umask 077; awk '/^ *server: / {print ENVIRON[\"LINE\"]; next} " +
			"{print}' " + layout.KubeletConf + " >" + layout.KubeletConf + ".eggo-new)\nsync " + layout.KubeletConf +
			".eggo-new 2>/dev/null || sync\nmv -f " + layout.KubeletConf + ".eggo-new " + layout.KubeletConf + "\n"})
	return err
}

// mayJoin says whether the node has its certificate, or the token that counts to ask for one.
func (r *run) mayJoin(ctx context.Context, nd *node.Node) (bool, error) {
	out, err := nd.Query(ctx, "[ -s "+layout.KubeletConf+" ] && echo joined || true")
	if err != nil || strings.TrimSpace(out) == "joined" {
		return err == nil, err
	}
	t, ok := r.readToken()
	if !ok {
		return false, nil
	}
	conf, err := r.BootstrapKubeconfig(t.ID + "." + t.Secret)
	if err != nil {
		return false, err
	}
	return nd.Same(ctx, []node.File{layout.SecretFile(layout.BootstrapConf, conf)})
}

// joined: the Node object is there with its role, and the token is gone from the machine.
func (r *run) joined(ctx context.Context, n config.Node) (bool, error) {
	obj, err := r.API().CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, clients.Fault(err)
	}
	if !inRole(n, obj) {
		return false, nil
	}
	if stale, err := r.stalePods(ctx, obj); err != nil || len(stale) > 0 {
		return false, err
	}
	out, err := r.Node(n.Name).Query(ctx, "[ -e "+layout.BootstrapConf+" ] && echo token || true")
	return strings.TrimSpace(out) == "", err
}

func (r *run) join(ctx context.Context, n config.Node) error {
	nd := r.Node(n.Name)
	obj, err := r.API().CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if err := r.registerAgain(ctx, n, nd); err != nil {
			return err
		}
		f := event.NewFault(event.ClassFailed, "bootstrap.not-registered", nil, "log",
			r.driver.LastWords(ctx, nd, driver.Kubelet)).On(n.Name)
		f.Retry = true
		return f
	}
	if err != nil {
		return clients.Fault(err)
	}
	if err := r.setRole(ctx, n, obj); err != nil {
		return err
	}
	if err := r.dropStalePods(ctx, obj); err != nil {
		return err
	}
	if out, err := nd.Query(ctx, "[ -e "+layout.BootstrapConf+" ] && echo token || true"); err != nil ||
		strings.TrimSpace(out) == "" {
		return err
	}
	_, err = nd.Change(ctx, node.Change{Desc: event.M("change.remove", "path", layout.BootstrapConf),
		Script: "rm -f " + layout.BootstrapConf + "\n"})
	return err
}
