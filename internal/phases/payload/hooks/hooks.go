// Package hooks has scripts of the operator run on nodes: those of the command line around the work, and those that
// deploy.yaml schedules when a node joins or is cleaned up.
package hooks

import (
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Hooks are the hooks of one run.
type Hooks struct {
	*payload.Payload

	configDir string // of the cluster's components on a node
	nonce     string // of the run: what ran in another one runs again
}

// New are the hooks of a run that begins; configDir is that of the cluster's components on a node.
func New(p *payload.Payload, configDir string) *Hooks {
	return &Hooks{Payload: p, configDir: configDir, nonce: strings.ToLower(rand.Text()[:12])}
}

// timeout is what a hook of the command line has; one of deploy.yaml has the timeout that stands there.
const timeout = 120 * time.Second

// roleWords are the node's roles in the words of deploy.yaml.
func roleWords(n config.Node) string {
	words := map[bundle.Role]string{bundle.ControlPlane: "master", bundle.Worker: "worker", bundle.Etcd: "etcd",
		bundle.LoadBalancer: "loadbalance"}
	var out []string
	for _, r := range n.Roles {
		out = append(out, words[r])
	}
	return strings.Join(out, ",")
}

// environment is the environment of every hook, as the manual has it.
func (r *Hooks) environment(n config.Node, kind string) map[string]string {
	return map[string]string{
		"EGGO_CLUSTER_ID": r.Cluster.Name, "EGGO_CLUSTER_API_ENDPOINT": r.Cluster.Endpoint,
		"EGGO_CLUSTER_CONFIG_DIR": r.configDir,
		"EGGO_NODE_IP":            n.IP.String(), "EGGO_NODE_NAME": n.Name, "EGGO_NODE_ARCH": n.Arch,
		"EGGO_NODE_ROLE": roleWords(n),
		"EGGO_HOOK_TYPE": kind, "EGGO_OPERATOR": r.operator(),
	}
}

func (r *Hooks) operator() string {
	if r.Verb == "" || r.Verb == "resume" {
		return "deploy"
	}
	return r.Verb
}

// run runs one and says what was left out of its output. One that runs after the work is done leaves the run partly
// done when it fails.
func (r *Hooks) run(ctx context.Context, nd *node.Node, h node.Hook, after bool) error {
	cut, err := nd.RunHook(ctx, h)
	if cut > 0 {
		text := event.M("notice.hook-cut", "hook", h.Name, "bytes", strconv.FormatInt(cut, 10))
		if err := r.Emit(event.Notice{Host: nd.Name(), Step: engine.StepID(ctx), Text: text}); err != nil {
			return err
		}
	}
	if f := event.AsFault(err); f != nil && after && strings.HasPrefix(f.Code, "hook.") {
		part := *f
		part.Class = event.ClassPartial
		return &part
	}
	return err
}

// Steps are the steps of the hooks of the command line on those of the nodes that are within the limit, those
// before the work or those after it, in the given phase.
func (r *Hooks) Steps(nodes []config.Node, phase string, after bool) []*engine.Step {
	var out []*engine.Step
	last := map[string]string{}
	for i, h := range r.Hooks {
		if (h.Type == ClusterPostHook || h.Type == PostHook) != after {
			continue
		}
		for _, n := range nodes {
			if !h.On(n) || len(r.Limit) > 0 && !slices.Contains(r.Limit, n.Name) {
				continue
			}
			s := plan.Step(phase, h.Type+"-"+strconv.Itoa(i+1), n.Name, plan.Checked())
			s.Title = event.M("step.hook", "hook", h.Name)
			if last[n.Name] != "" { // in their order
				s.Needs = append(s.Needs, last[n.Name])
			}
			last[n.Name] = s.ID
			r.fill(s, n, node.Hook{
				Desc: event.M("change.hook", "hook", h.Name, "type", h.Type),
				Dir:  "cmd-" + r.nonce + "-" + strconv.Itoa(i+1), Name: h.Name, Data: h.Data,
				Env: r.environment(n, h.Type), Timeout: timeout, Passing: true,
			}, after)
			out = append(out, s)
		}
	}
	return out
}

// fill fills a step that runs one hook. A connection that broke leaves open how the hook ended: that is asked
// before it could run again.
func (r *Hooks) fill(s *engine.Step, n config.Node, h node.Hook, after bool) {
	s.Timeout = h.Timeout + time.Minute
	s.When = func(context.Context) (bool, event.Msg, error) {
		return r.Node(n.Name) != nil, event.M("why.node-gone"), nil
	}
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		status, begun, err := nd.HookEnded(ctx, h.Dir)
		if err == nil && begun && status < 0 {
			err = event.NewFault(event.ClassFailed, "hook.unknown", nil, "hook", h.Name).On(n.Name)
		}
		return begun && status == 0, err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error { return r.run(ctx, nd, h, after) })
}

// Before adds the hooks of the command line that run before the work, in a phase. What is added after them waits:
// for all of the cluster's, and for a node's on that node.
func (r *Hooks) Before(b *plan.Builder, phase string) {
	hooks := r.Steps(r.Cluster.Nodes, phase, false)
	b.Add(hooks...)
	var all []string
	own := map[string][]string{} // by host
	for _, h := range hooks {
		if strings.Contains(h.ID, "."+ClusterPreHook+"-") {
			all = append(all, h.ID)
		} else {
			own[h.Host] = append(own[h.Host], h.ID)
		}
	}
	if barrier := b.Barrier("hooks.before", all); barrier != "" {
		all = []string{barrier}
	}
	b.Gate(func(_, host string) []string { return slices.Concat(all, own[host]) })
}

// After adds the hooks of the command line that run when everything else is done.
func (r *Hooks) After(b *plan.Builder, phase string) {
	hooks := r.Steps(r.Cluster.Nodes, phase, true)
	if len(hooks) == 0 {
		return
	}
	barrier := b.LooseBarrier("hooks.after", b.IDs("", ""))
	for _, h := range hooks {
		h.Needs = append(h.Needs, barrier)
	}
	b.Add(hooks...)
}
