package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

type joinOptions struct {
	runOptions
	list  string // -f: a file with lists of machines
	types []string
	arch  string
	name  string
	port  int
}

func newJoinCmd(env *environment) *cobra.Command {
	p := env.P
	var o joinOptions
	cmd := &cobra.Command{
		Use:     "join [IP...]",
		Short:   p.T("cli.join.short"),
		Long:    p.T("cli.join.long"),
		Example: "  eggo-tui join --id k8s-cluster --type master,worker --arch arm64 --port 22 192.168.0.5\n  eggo-tui join --id k8s-cluster -f join.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			return join(cmd.Context(), env, o, args)
		},
	}
	o.common(cmd, env)
	o.trustFlags(cmd, env)
	o.hooks.nodeFlags(cmd, env)
	o.limitFlag(cmd, env)
	o.machineFlags(cmd, env)
	return cmd
}

// machineFlags say which machines join, and as what.
func (o *joinOptions) machineFlags(cmd *cobra.Command, env *environment) {
	f, p := cmd.Flags(), env.P
	f.StringVarP(&o.list, "file", "f", "", p.T("cli.join.file"))
	f.StringSliceVarP(&o.types, "type", "t", []string{"worker"}, p.T("cli.join.type"))
	f.StringVarP(&o.arch, "arch", "a", "", p.T("cli.join.arch"))
	f.StringVarP(&o.name, "name", "n", "", p.T("cli.join.name"))
	f.IntVarP(&o.port, "port", "p", 22, p.T("cli.join.port"))
	for _, flag := range []string{"type", "arch", "name", "port"} {
		cmd.MarkFlagsMutuallyExclusive("file", flag)
	}
}

// join is deploy of the cluster's own deploy.yaml with machines more. The longer file becomes the cluster's own when preflight has passed:
// then the same command, or deploy, goes on where this one stops.
func join(ctx context.Context, env *environment, o joinOptions, args []string) error {
	fresh, err := o.machines(args)
	if err != nil {
		return err
	}
	if o.id, err = onlyCluster(env, o.runOptions); err != nil {
		return err
	}
	return begin(ctx, env, job{verb: "join", o: o.runOptions, more: greetedNodes(fresh), do: func(ctx context.Context, env *environment) error {
		return joinHere(ctx, env, o, fresh, args)
	}})
}

// greetedNodes are nodes that join as they are contacted.
func greetedNodes(fresh []config.Node) []config.Node {
	out := slices.Clone(fresh)
	for i := range out {
		out[i].Name, out[i].Port = cmp.Or(out[i].Name, out[i].IP.String()), cmp.Or(out[i].Port, 22)
	}
	return out
}

func joinHere(ctx context.Context, env *environment, o joinOptions, fresh []config.Node, args []string) error {
	s, err := openSession(ctx, env, o.runOptions, "join")
	if err != nil {
		return err
	}
	defer s.close()
	s.again = joinAgain(o, args) + s.again
	if fresh, err = s.extend(ctx, o, fresh); err != nil {
		return s.over(err)
	}
	return s.run(ctx, s.limited(func(e phases.Env) *engine.Plan { return phases.Deploy(e) }), func() []event.Msg {
		var out []event.Msg
		for _, n := range s.cluster.Nodes {
			if slices.ContainsFunc(fresh, func(f config.Node) bool { return f.IP == n.IP }) {
				out = append(out, event.M("next.node", "node", n.Name, "ip", n.IP.String(), "roles", roleList(n)))
			}
		}
		return append(out, event.M("next.delete", "command", s.command("delete")+" "+shellWord(fresh[0].Name)+s.elsewhere()))
	})
}

// extend makes the session's deploy.yaml that with the machines that join, which it returns with all that was not said.
func (s *session) extend(ctx context.Context, o joinOptions, fresh []config.Node) ([]config.Node, error) {
	fresh, err := s.complete(ctx, fresh)
	if err != nil {
		return nil, err
	}
	if s.hooks, err = o.hooks.load(names(fresh)...); err == nil {
		err = phases.HooksRun(s.hooks, fresh)
	}
	if err != nil {
		return nil, err
	}
	text, problems, err := config.AddNodes(s.text, s.file, fresh)
	if err != nil {
		return nil, err
	}
	if err := s.replace(text, problems); err != nil {
		return nil, err
	}
	printProblems(s.env, news(problems, s.told))
	return fresh, s.setLimit(o.limit)
}

// news are the problems that were not told yet, wherever they stand in the file now.
func news(problems, told config.Problems) config.Problems {
	return slices.DeleteFunc(slices.Clone(problems), func(p config.Problem) bool {
		return slices.ContainsFunc(told, func(o config.Problem) bool { return o.Code == p.Code && o.Key == p.Key && maps.Equal(o.Args, p.Args) })
	})
}

// machines are those of the command line, or of the file. What was not said is zero.
func (o joinOptions) machines(args []string) ([]config.Node, error) {
	usage := func(code string, kv ...string) error {
		return event.NewFault(event.ClassUsage, "join."+code, nil, kv...)
	}
	if o.list != "" {
		if len(args) > 0 {
			return nil, usage("file-and-address")
		}
		data, err := os.ReadFile(o.list)
		if err != nil {
			return nil, event.NewFault(event.ClassUsage, "config.unreadable", err, "file", o.list)
		}
		return config.LoadNodes(data, o.list)
	}
	if len(args) == 0 {
		return nil, usage("nobody")
	}
	if o.name != "" && len(args) > 1 {
		return nil, usage("one-name", "name", o.name)
	}
	var roles []bundle.Role
	for _, t := range o.types {
		role, ok := map[string]bundle.Role{"master": bundle.ControlPlane, "worker": bundle.Worker, "node": bundle.Worker, "etcd": bundle.Etcd}[strings.ToLower(strings.TrimSpace(t))]
		if !ok {
			return nil, usage("type", "type", t)
		}
		if !slices.Contains(roles, role) {
			roles = append(roles, role)
		}
	}
	var out []config.Node
	for _, a := range args {
		ip, err := netip.ParseAddr(a)
		if err != nil {
			return nil, usage("address", "value", a)
		}
		out = append(out, config.Node{Name: o.name, IP: ip.Unmap(), Port: o.port, Arch: o.arch, Roles: roles})
	}
	return out, nil
}

// complete fills in what was not said: of a machine that the cluster has already, what the cluster says; else the next free name, and the
// architecture that the machine tells. A control plane brings its member of etcd where every control plane has one.
func (s *session) complete(ctx context.Context, fresh []config.Node) ([]config.Node, error) {
	taken := map[string]bool{}
	for _, n := range append(slices.Clone(s.cluster.Nodes), fresh...) {
		taken[n.Name] = true
	}
	stacked := true
	for _, n := range s.cluster.With(bundle.ControlPlane) {
		stacked = stacked && n.Has(bundle.Etcd)
	}
	var out []config.Node
	for _, n := range fresh {
		if stacked && n.Has(bundle.ControlPlane) && !n.Has(bundle.Etcd) {
			n.Roles = append(slices.Clone(n.Roles), bundle.Etcd)
		}
		if i := slices.IndexFunc(s.cluster.Nodes, func(o config.Node) bool { return o.IP == n.IP }); i >= 0 {
			old := s.cluster.Nodes[i]
			if n.Name != "" && n.Name != old.Name {
				return nil, event.NewFault(event.ClassUsage, "join.other-name", nil, "ip", n.IP.String(), "name", old.Name)
			}
			n.Name, n.Port, n.Arch = old.Name, old.Port, old.Arch
		}
		if n.Port == 0 {
			n.Port = 22
		}
		if n.Name == "" {
			n.Name = freeName(n, taken)
			taken[n.Name] = true
		}
		if n.Arch == "" {
			var err error
			if n.Arch, err = s.archOf(ctx, n); err != nil {
				return nil, err
			}
		}
		out = append(out, n)
	}
	return out, nil
}

// freeName is the next one in the manner of template.
func freeName(n config.Node, taken map[string]bool) string {
	prefix := "etcd-"
	if n.Has(bundle.ControlPlane) {
		prefix = "k8s-master-"
	} else if n.Has(bundle.Worker) {
		prefix = "k8s-worker-"
	}
	for i := 0; ; i++ {
		if name := prefix + strconv.Itoa(i); !taken[name] {
			return name
		}
	}
}

// archOf asks the machine.
func (s *session) archOf(ctx context.Context, n config.Node) (string, error) {
	h, err := s.connect(ctx, n)
	if err != nil {
		return "", err
	}
	r, err := h.Run(ctx, node.Command{Script: "uname -m\n", Quiet: true})
	if err != nil {
		return "", err
	}
	is := strings.TrimSpace(event.Clean(string(r.Stdout)))
	arch, ok := map[string]string{"x86_64": "amd64", "aarch64": "arm64"}[is]
	if !ok {
		return "", event.NewFault(event.ClassPreflight, "preflight.arch", nil, "is", is, "says", "amd64, arm64").On(n.Name)
	}
	return arch, nil
}

// replace makes a new text the session's deploy.yaml, or tells why there is none; nothing is written yet.
func (s *session) replace(text []byte, why config.Problems) error {
	if text == nil {
		return s.take(s.env, nil, why)
	}
	c, problems, err := config.LoadText(text, s.file)
	if err != nil {
		return err
	}
	if c != nil {
		problems = nil                                // they were told when the session was opened
		c.SSH, c.Eggo = s.cluster.SSH, s.cluster.Eggo // with the secrets that were asked for
	}
	s.text = text
	return s.take(s.env, c, problems)
}

// useSaved goes from a deploy.yaml of the user's to the cluster's own, which alone says who is in the cluster.
func (s *session) useSaved(ctx context.Context) error {
	if s.saved == nil || s.file == s.savedPath() {
		return nil
	}
	text, _, err := s.files.Config()
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.read", err)
	}
	s.file = s.savedPath()
	return s.replace(text, nil)
}

// over ends a session that came to no plan: the fault goes to the event log too.
func (s *session) over(err error) error {
	fault := event.AsFault(err)
	if e := s.bus.Emit(event.RunStarted{Run: s.log.ID(), Cluster: s.cluster.Name, Verb: s.verb, Version: buildVersion(), Config: s.digest, Flags: s.flags}); e != nil {
		return e
	}
	if e := s.bus.Emit(event.RunEnded{Outcome: event.Failed, Exit: exitOf(err), Fault: fault}); e != nil {
		return e
	}
	return errReported{fault}
}

// onlyCluster is --id, or the one cluster that the state directory has.
func onlyCluster(env *environment, o runOptions) (string, error) {
	if o.id != "" {
		return o.id, nil
	}
	root := stateRoot(env, o.state)
	known, err := store.Dir{Root: root}.Clusters(context.Background())
	if err != nil {
		return "", err
	}
	if len(known) == 1 {
		return known[0], nil
	}
	if len(known) == 0 {
		return "", event.NewFault(event.ClassUsage, "usage.no-clusters", nil, "dir", root)
	}
	return "", event.NewFault(event.ClassUsage, "usage.which-cluster", nil, "dir", root, "known", strings.Join(known, ", "))
}

// joinAgain is the command line that goes on with a join.
func joinAgain(o joinOptions, args []string) string {
	if o.list != "" {
		return " -f " + shellWord(o.list)
	}
	out := " --type " + strings.Join(o.types, ",")
	for _, f := range [][2]string{{"arch", o.arch}, {"name", o.name}} {
		if f[1] != "" {
			out += " --" + f[0] + " " + shellWord(f[1])
		}
	}
	if o.port != 22 {
		out += fmt.Sprintf(" --port %d", o.port)
	}
	return out + " " + strings.Join(args, " ")
}
