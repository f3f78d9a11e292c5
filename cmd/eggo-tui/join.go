package main

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/machines"
	"github.com/eggo-k8s/eggo/internal/operation/host"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

type joinOptions struct {
	runOptions
	list  string // -f: a file with lists of machines
	types []string
	arch  string
	name  string
	port  int

	labels, taints []string
}

func newJoinCmd(env *environment) *cobra.Command {
	p := env.P
	var o joinOptions
	cmd := &cobra.Command{
		Use:        "join [IP...]",
		SuggestFor: []string{"add", "scale"},
		Short:      p.T("cli.join.short"),
		Long:       p.T("cli.join.long"),
		Example: "  eggo-tui join --id k8s-cluster --type master,worker --arch arm64 --port 22 192.168.0.5\n  " +
			"eggo-tui join --id k8s-cluster -f join.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			return join(cmd.Context(), env, o, args)
		},
	}
	o.common(cmd, env)
	o.undoFlag(cmd, env)
	o.trustFlags(cmd, env)
	o.hooks.nodeFlags(cmd, env)
	o.limitFlag(cmd, env)
	o.machineFlags(cmd, env)
	return cmd
}

// machineFlags say which machines join, and as what.
func (o *joinOptions) machineFlags(cmd *cobra.Command, env *environment) {
	f, p := cmd.Flags(), env.P
	f.Lookup("id").Usage = p.T("cli.flag.id.fileless")
	f.StringVarP(&o.list, "file", "f", "", p.T("cli.join.file"))
	f.StringSliceVarP(&o.types, "type", "t", []string{"worker"}, p.T("cli.join.type"))
	f.StringVarP(&o.arch, "arch", "a", "", p.T("cli.join.arch"))
	f.StringVarP(&o.name, "name", "n", "", p.T("cli.join.name"))
	f.IntVarP(&o.port, "port", "p", 22, p.T("cli.join.port"))
	f.StringArrayVar(&o.labels, "label", nil, p.T("cli.join.label"))
	f.StringArrayVar(&o.taints, "taint", nil, p.T("cli.join.taint"))
	for _, flag := range []string{"type", "arch", "name", "port", "label", "taint"} {
		cmd.MarkFlagsMutuallyExclusive("file", flag)
	}
}

// join is deploy of the cluster's own deploy.yaml with nodes more. The longer file becomes the cluster's own when
// preflight has passed: then the same command, or deploy, continues one that was interrupted.
func join(ctx context.Context, env *environment, o joinOptions, args []string) error {
	q, err := o.request(ctx, env, args)
	if err != nil {
		return err
	}
	return env.begin(ctx, o.runOptions, q, nil)
}

// request is what the flags ask for.
func (o *joinOptions) request(ctx context.Context, env *environment, args []string) (q request.Join, err error) {
	q.List = o.list
	q.Logins, q.Settings = map[string]request.Login{}, map[string]config.NodeSettings{}
	if q.Nodes, err = o.machines(ctx, env, args, &q); err != nil {
		return q, err
	}
	o.fileless = true
	q.Common, err = o.runOptions.request(ctx, env)
	return q, err
}

// machines are those of the command line, or of the file. What was not said is zero. Logins, labels and taints that
// were said of them are put in the request, by address.
func (o joinOptions) machines(
	ctx context.Context, env *environment, args []string, q *request.Join,
) ([]config.Node, error) {
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
		if ownLists.Match(data) {
			nodes, said, err := config.LoadNodes(data, o.list)
			for _, n := range nodes {
				if s, is := said[n.Name]; is && n.Name != "" {
					q.Settings[n.IP.String()] = s
				}
			}
			return nodes, err
		}
		return o.read(ctx, env, string(data), q.Logins)
	}
	if len(args) == 0 {
		return nil, usage("nobody")
	}
	var roles []bundle.Role
	for _, t := range o.types {
		role, ok := map[string]bundle.Role{"master": bundle.ControlPlane, "worker": bundle.Worker,
			"node": bundle.Worker, "etcd": bundle.Etcd}[strings.ToLower(strings.TrimSpace(t))]
		if !ok {
			return nil, usage("type", "type", t)
		}
		if !slices.Contains(roles, role) {
			roles = append(roles, role)
		}
	}
	out, err := o.read(ctx, env, strings.Join(args, "\n"), q.Logins)
	if err != nil {
		return nil, err
	}
	if o.name != "" && len(out) > 1 {
		return nil, usage("one-name", "name", o.name)
	}
	for i := range out {
		out[i].Name, out[i].Arch = cmp.Or(o.name, out[i].Name), cmp.Or(out[i].Arch, o.arch)
		out[i].Port = cmp.Or(out[i].Port, o.port)
		if len(out[i].Roles) == 0 {
			out[i].Roles = roles
		}
	}
	return out, o.settings(out, q)
}

// settings puts the labels and taints of the command line in the request, for every node.
func (o joinOptions) settings(nodes []config.Node, q *request.Join) error {
	s := config.NodeSettings{}
	for _, text := range o.labels {
		key, value, code := config.LabelOf(text)
		if code != "" {
			return event.NewFault(event.ClassUsage, code, nil, "key", "--label", "value", text)
		}
		if s.Labels == nil {
			s.Labels = map[string]string{}
		}
		s.Labels[key] = value
	}
	for _, text := range o.taints {
		t, code := config.TaintOf(text)
		if code != "" {
			return event.NewFault(event.ClassUsage, code, nil, "key", "--taint", "value", text)
		}
		s.Taints = append(s.Taints, t)
	}
	for _, n := range nodes {
		if len(s.Labels)+len(s.Taints) > 0 {
			q.Settings[n.IP.String()] = s
		}
	}
	return nil
}

// ownLists begin a file with lists of a deploy.yaml, as the manual has it.
var ownLists = regexp.MustCompile(`(?m)^["']?(masters|workers|etcds)["']?[ \t]*:` +
	`|^nodes[ \t]*:[^\n]*\n[ \t]*-[ \t]*\{?[ \t]*(name|ip|port|arch)[ \t]*:`)

// read reads machines in any of the ways of docs/machines.md.
func (o joinOptions) read(
	ctx context.Context, env *environment, text string, logins map[string]request.Login,
) ([]config.Node, error) {
	l := draft.WithoutBastions(machines.Read(text)).Resolve(ctx, host.LookUp)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for _, m := range draft.ImportRemarks(l) {
		if m.Key == "machines.secrets" { // no login step follows
			m = event.M("cli.join.secrets", "count", strconv.Itoa(l.Secrets))
		}
		fmt.Fprintln(env.Stderr, env.P.Msg(m))
	}
	if len(l.Rejected) > 0 {
		b := l.Rejected[0]
		next, _ := env.P.Under(b.Why, "next")
		return nil, event.NewFault(event.ClassUsage, "join.line", nil, "line", strconv.Itoa(b.Line), "text", b.Text,
			"why", env.P.Msg(b.Why), "do", next)
	}
	var out []config.Node
	for _, e := range l.Entries {
		ip, err := netip.ParseAddr(e.IP)
		if err != nil {
			return nil, err
		}
		if l := (request.Login{User: e.User, Key: e.Key}); e.User != "" || e.Key != "" {
			if l.Key != "" {
				l.Key = env.host().Path(l.Key)
			}
			logins[ip.Unmap().String()] = l
		}
		port, _ := strconv.Atoi(e.Port) // judged by the reader
		out = append(out, config.Node{Name: e.Name, IP: ip.Unmap(), Port: port, Arch: e.Arch, Roles: e.Roles})
	}
	if len(out) == 0 {
		return nil, event.NewFault(event.ClassUsage, "join.nobody", nil)
	}
	return out, nil
}
