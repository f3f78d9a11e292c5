package hooks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// The schedules of a script in deploy.yaml.
const (
	PreJoin     = "prejoin"
	PostJoin    = "postjoin"
	PreCleanup  = "precleanup"
	PostCleanup = "postcleanup"
)

// scripts are those that deploy.yaml schedules for one of the node's roles, each once.
func (r *Hooks) scripts(n config.Node, schedules ...string) []config.Package {
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
func (r *Hooks) scriptData(n config.Node, name string) ([]byte, error) {
	b := r.BundleOf(n)
	m, _ := config.ScriptIn(b.Manifest(), name) // preflight has found it
	f, err := b.Open(m.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && (len(data) == 0 || len(data) > maxSize) {
		err = event.NewFault(event.ClassBundle, "hook.size", nil, "path", m.Path).On(n.Name)
	}
	return data, err
}

// kindOf is the manual's word for a schedule.
func kindOf(schedule string) string {
	if strings.HasPrefix(schedule, "pre") {
		return PreHook
	}
	return PostHook
}

func scriptDir(p config.Package) string { return p.Schedule + "-" + p.Name }

// JoinScripts are the steps of a schedule on one node. A script runs once for each node: how it ended stays on the
// node, so that another deploy does not run it again; one that failed, or whose end is not known, runs again.
func (r *Hooks) JoinScripts(phase, schedule string, n config.Node, needs []string) []*engine.Step {
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
			return r.run(ctx, nd, node.Hook{Desc: event.M("change.hook", "hook", p.Name, "type", schedule),
				Dir: scriptDir(p), Name: p.Name, Data: data,
				Env: r.environment(n, kindOf(schedule)), Timeout: p.Timeout}, schedule == PostJoin)
		})
		needs = []string{s.ID}
		out = append(out, s)
	}
	return out
}

// KeepScripts leaves the scripts of a cleanup on the node, if there are any: it needs no bundle.
func (r *Hooks) KeepScripts(n config.Node) []*engine.Step {
	list := r.scripts(n, PreCleanup, PostCleanup)
	if len(list) == 0 {
		return nil
	}
	s := plan.Step(plan.PhaseInfra, "cleanup-scripts", n.Name, []string{plan.ID(plan.PhaseInfra, "claim", n.Name)})
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
			script += "[ -f " + shell.Quote(file(p)) + " ] || exit 0\nsha256sum <" + shell.Quote(file(p)) +
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
			dir := shell.Quote(path.Dir(file(p)))
			script := fmt.Sprintf("mkdir -p -m 700 %s %s\n(umask 077; cat >%[3]s.new)\nchmod 700 %[3]s.new\nmv -f "+
				"%[3]s.new %[3]s\n", node.HookDir, dir, shell.Quote(file(p)))
			if _, err := nd.Change(ctx, node.Change{Desc: event.M("change.keep-script", "hook", p.Name), Stdin: data,
				Script: script}); err != nil {
				return err
			}
		}
		return nil
	})
	return []*engine.Step{s}
}

// CleanupScripts are the steps of a schedule of a cleanup on one node, each when the steps of needs are done. A script
// that fails does not stop the cleanup.
func (r *Hooks) CleanupScripts(schedule string, n config.Node, needs []string) []*engine.Step {
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
			out, err := nd.Query(ctx, "cat "+shell.Quote(file)+" 2>/dev/null || true")
			data = []byte(out)
			return out != "", event.M("why.no-script"), err
		}
		s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
			status, begun, err := nd.HookEnded(ctx, scriptDir(p))
			return begun && status == 0, err
		})
		s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
			return r.run(ctx, nd, node.Hook{Desc: event.M("change.hook", "hook", p.Name, "type", schedule),
				Dir: scriptDir(p), Name: p.Name, Data: data,
				Env: r.environment(n, kindOf(schedule)), Timeout: p.Timeout}, true)
		})
		out = append(out, s)
	}
	return out
}
