package phases

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
)

// hookTimeout is what a hook of the command line has; one of deploy.yaml has the timeout that stands there.
const hookTimeout = 120 * time.Second

// The schedules of a script in deploy.yaml.
const (
	preJoin     = "prejoin"
	postJoin    = "postjoin"
	preCleanup  = "precleanup"
	postCleanup = "postcleanup"
)

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

// hookEnv is the environment of every hook, as the manual has it.
func (r *run) hookEnv(n config.Node, kind string) map[string]string {
	return map[string]string{
		"EGGO_CLUSTER_ID": r.Cluster.Name, "EGGO_CLUSTER_API_ENDPOINT": r.Cluster.Endpoint,
		"EGGO_CLUSTER_CONFIG_DIR": layout.KubeDir,
		"EGGO_NODE_IP":            n.IP.String(), "EGGO_NODE_NAME": n.Name, "EGGO_NODE_ARCH": n.Arch,
		"EGGO_NODE_ROLE": roleWords(n),
		"EGGO_HOOK_TYPE": kind, "EGGO_OPERATOR": r.operator(),
	}
}

func (r *run) operator() string {
	if r.Verb == "" || r.Verb == "resume" {
		return "deploy"
	}
	return r.Verb
}

// runHook runs one and says what was left out of its output. One that runs after the work is done leaves the run partly
// done when it fails.
func (r *run) runHook(ctx context.Context, nd *node.Node, h node.Hook, after bool) error {
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

// commandHooks are the steps of the hooks of the command line on those of the nodes that are within the limit, those
// before the work or those after it, in the given phase.
func (r *run) commandHooks(nodes []config.Node, phase string, after bool) []*engine.Step {
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
			s := plan.Step(phase, h.Type+"-"+strconv.Itoa(i+1), n.Name, plan.Verdict())
			s.Title = event.M("step.hook", "hook", h.Name)
			if last[n.Name] != "" { // in their order
				s.Needs = append(s.Needs, last[n.Name])
			}
			last[n.Name] = s.ID
			r.hookStep(s, n, node.Hook{
				Desc: event.M("change.hook", "hook", h.Name, "type", h.Type),
				Dir:  "cmd-" + r.nonce + "-" + strconv.Itoa(i+1), Name: h.Name, Data: h.Data,
				Env: r.hookEnv(n, h.Type), Timeout: hookTimeout, Passing: true,
			}, after)
			out = append(out, s)
		}
	}
	return out
}

// hookStep fills a step that runs one hook. A connection that broke leaves open how the hook ended: that is asked
// before it could run again.
func (r *run) hookStep(s *engine.Step, n config.Node, h node.Hook, after bool) {
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
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error { return r.runHook(ctx, nd, h, after) })
}

// scripts are those that deploy.yaml schedules for one of the node's roles, each once.
func (r *run) scripts(n config.Node, schedules ...string) []config.Package {
	var out []config.Package
	for _, role := range n.Roles {
		for _, p := range r.Cluster.Packages[role] {
			same := func(x config.Package) bool { return x.Name == p.Name && x.Schedule == p.Schedule }
			if p.Type == "shell" && slices.Contains(schedules, p.Schedule) && !slices.ContainsFunc(out, same) {
				out = append(out, p)
			}
		}
	}
	return out
}

// scriptData reads a script out of the bundle.
func (r *run) scriptData(n config.Node, name string) ([]byte, error) {
	b := r.BundleOf(n)
	m, _ := config.ScriptIn(b.Manifest(), name) // preflight has found it
	f, err := b.Open(m.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxHook+1))
	if err == nil && (len(data) == 0 || len(data) > maxHook) {
		err = event.NewFault(event.ClassBundle, "hook.size", nil, "path", m.Path).On(n.Name)
	}
	return data, err
}

// hookKind is the manual's word for a schedule.
func hookKind(schedule string) string {
	if strings.HasPrefix(schedule, "pre") {
		return PreHook
	}
	return PostHook
}

func scriptDir(p config.Package) string { return p.Schedule + "-" + p.Name }

// joinScripts are the steps of a schedule on one node. A script runs once for each node: how it ended stays on the
// node, so that another deploy does not run it again; one that failed, or whose end is not known, runs again.
func (r *run) joinScripts(phase, schedule string, n config.Node, needs []string) []*engine.Step {
	var out []*engine.Step
	for _, p := range r.scripts(n, schedule) {
		s := plan.Step(phase, schedule+"-"+p.Name, n.Name, needs)
		s.Title = event.M("step.hook", "hook", p.Name)
		s.Timeout = p.Timeout + time.Minute
		s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
			status, begun, err := nd.HookEnded(ctx, scriptDir(p))
			return begun && status == 0, err
		})
		s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
			data, err := r.scriptData(n, p.Name)
			if err != nil {
				return err
			}
			return r.runHook(ctx, nd, node.Hook{Desc: event.M("change.hook", "hook", p.Name, "type", schedule),
				Dir: scriptDir(p), Name: p.Name, Data: data,
				Env: r.hookEnv(n, hookKind(schedule)), Timeout: p.Timeout}, schedule == postJoin)
		})
		needs = []string{s.ID}
		out = append(out, s)
	}
	return out
}

// keepScripts leaves the scripts of a cleanup on the node: it needs no bundle.
func (r *run) keepScripts(n config.Node) *engine.Step {
	s := plan.Step(plan.PhaseInfra, "cleanup-scripts", n.Name, []string{plan.ID(plan.PhaseInfra, "claim", n.Name)})
	list := r.scripts(n, preCleanup, postCleanup)
	file := func(p config.Package) string { return path.Join(node.HookDir, scriptDir(p), p.Name) }
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		want, script := "", ""
		for _, p := range list {
			data, err := r.scriptData(n, p.Name)
			if err != nil {
				return false, err
			}
			sum := sha256.Sum256(data)
			want += hex.EncodeToString(sum[:]) + "\n"
			script += "[ -f " + node.Quote(file(p)) + " ] || exit 0\nsha256sum <" + node.Quote(file(p)) +
				" | cut -d' ' -f1\n"
		}
		out, err := nd.Query(ctx, script)
		return out == want, err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		for _, p := range list {
			data, err := r.scriptData(n, p.Name)
			if err != nil {
				return err
			}
			dir := node.Quote(path.Dir(file(p)))
			script := fmt.Sprintf("mkdir -p -m 700 %s %s\n(umask 077; cat >%[3]s.new)\nchmod 700 %[3]s.new\nmv -f "+
				"%[3]s.new %[3]s\n", node.HookDir, dir, node.Quote(file(p)))
			if _, err := nd.Change(ctx, node.Change{Desc: event.M("change.keep-script", "hook", p.Name), Stdin: data,
				Script: script}); err != nil {
				return err
			}
		}
		return nil
	})
	return s
}

// cleanupScripts are the steps of a schedule of a cleanup on one node, each when the steps of needs are done. A script
// that fails does not stop the cleanup.
func (r *run) cleanupScripts(schedule string, n config.Node, needs []string) []*engine.Step {
	var out []*engine.Step
	for _, p := range r.scripts(n, schedule) {
		s := plan.Step(plan.PhaseClean, schedule+"-"+p.Name, n.Name, needs)
		s.Title = event.M("step.hook", "hook", p.Name)
		s.Timeout, s.Optional = p.Timeout+time.Minute, true
		file := path.Join(node.HookDir, scriptDir(p), p.Name)
		var data []byte
		s.When = func(ctx context.Context) (bool, event.Msg, error) {
			nd := r.Node(n.Name)
			if nd == nil {
				return false, event.M("why.node-gone"), nil
			}
			out, err := nd.Query(ctx, "cat "+node.Quote(file)+" 2>/dev/null || true")
			data = []byte(out)
			return out != "", event.M("why.no-script"), err
		}
		s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
			status, begun, err := nd.HookEnded(ctx, scriptDir(p))
			return begun && status == 0, err
		})
		s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
			return r.runHook(ctx, nd, node.Hook{Desc: event.M("change.hook", "hook", p.Name, "type", schedule),
				Dir: scriptDir(p), Name: p.Name, Data: data,
				Env: r.hookEnv(n, hookKind(schedule)), Timeout: p.Timeout}, true)
		})
		out = append(out, s)
	}
	return out
}

// hooksBefore adds the hooks of the command line that run before the work, in a phase. What is added after them waits:
// for all of the cluster's, and for a node's on that node.
func (r *run) hooksBefore(b *plan.Builder, phase string) {
	hooks := r.commandHooks(r.Cluster.Nodes, phase, false)
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

// hooksAfter adds the hooks of the command line that run when everything else is done.
func (r *run) hooksAfter(b *plan.Builder, phase string) {
	hooks := r.commandHooks(r.Cluster.Nodes, phase, true)
	if len(hooks) == 0 {
		return
	}
	barrier := b.LooseBarrier("hooks.after", b.IDs("", ""))
	for _, h := range hooks {
		h.Needs = append(h.Needs, barrier)
	}
	b.Add(hooks...)
}
