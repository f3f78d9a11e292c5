package operation

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/desired"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// join is a deploy of the cluster's own deploy.yaml with nodes more. The longer file becomes the cluster's own when
// preflight has passed: then the same request, or deploy, continues one that was interrupted.
func (p *prepared) join(ctx context.Context, q request.Join) (*work, error) {
	fresh, err := p.extend(ctx, q)
	if err != nil {
		return nil, err
	}
	undo, err := p.undoing()
	if err != nil {
		return nil, err
	}
	return &work{nodes: names(fresh), undo: undo, plan: p.limited(phases.Deploy), next: func() []event.Msg {
		var out []event.Msg
		for _, n := range p.cluster.Nodes {
			if slices.ContainsFunc(fresh, func(f config.Node) bool { return f.IP == n.IP }) {
				out = append(out, nodeMsg(n))
			}
		}
		remove := event.Call{Verb: "delete", Nodes: []string{fresh[0].Name}}
		return append(out, event.Calling("next.delete", p.call(remove)))
	}}, nil
}

// extend makes the operation's deploy.yaml that with the nodes that join, which it returns with all that was not said.
func (p *prepared) extend(ctx context.Context, q request.Join) ([]config.Node, error) {
	fresh, err := p.complete(ctx, q.Nodes)
	if err != nil {
		return nil, err
	}
	if err := p.nodeHooks(fresh); err != nil {
		return nil, err
	}
	text, problems, err := config.AddNodes(p.text, p.file, fresh)
	if err == nil && text != nil && len(p.logins) > 0 {
		text, problems, err = config.AddLogins(text, p.file, p.logins)
	}
	settings := map[string]config.NodeSettings{}
	for _, n := range fresh {
		if s, is := q.Settings[n.IP.String()]; is {
			settings[n.Name] = s
		}
	}
	if err == nil && text != nil && len(settings) > 0 {
		text, problems, err = config.AddNodeSettings(text, p.file, settings)
	}
	if err != nil {
		return nil, err
	}
	if err := p.replace(text, problems); err != nil {
		return nil, err
	}
	p.report(news(problems, p.told))
	return fresh, p.setLimit(q.Limit)
}

// complete fills in what was not specified: of a node that the cluster has already, what the cluster says; else the
// next free name, and the architecture that the node reports.
func (p *prepared) complete(ctx context.Context, fresh []config.Node) ([]config.Node, error) {
	taken := map[string]bool{}
	for _, n := range append(slices.Clone(p.cluster.Nodes), fresh...) {
		taken[n.Name] = true
	}
	var out []config.Node
	for _, n := range fresh {
		n = desired.Joining(p.cluster, n)
		if i := slices.IndexFunc(p.cluster.Nodes, func(o config.Node) bool { return o.IP == n.IP }); i >= 0 {
			old := p.cluster.Nodes[i]
			if n.Name != "" && n.Name != old.Name {
				return nil, event.NewFault(event.ClassUsage, "join.other-name", nil, "ip", n.IP.String(), "name",
					old.Name)
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
			if n.Arch, err = p.archOf(ctx, n); err != nil {
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

// archOf asks the node.
func (p *prepared) archOf(ctx context.Context, n config.Node) (string, error) {
	h, err := p.connect(ctx, n)
	if err != nil {
		return "", err
	}
	r, err := h.Run(ctx, shell.Command{Script: "uname -m\n", Quiet: true})
	if err != nil {
		return "", err
	}
	is := strings.TrimSpace(event.Clean(string(r.Stdout)))
	arch, ok := map[string]string{"x86_64": "amd64", "aarch64": "arm64"}[is]
	if !ok {
		return "", event.NewFault(event.ClassPreflight, "preflight.arch", nil, "is", is, "says",
			"amd64, arm64").On(n.Name)
	}
	return arch, nil
}

// ownLogins makes logins that were said of nodes their own, from the first connection on: such a node gets its name at
// once, by which eggo.machines of deploy.yaml has it. A login that deploy.yaml has already is nothing new; where it has
// another one for that node, nobody knows which is right.
func (p *prepared) ownLogins(q request.Join) error {
	taken := map[string]bool{}
	for _, n := range append(slices.Clone(p.cluster.Nodes), q.Nodes...) {
		taken[n.Name] = true
	}
	for name := range p.cluster.Eggo.Machines { // also of a node that is not there yet
		taken[name] = true
	}
	q.Nodes = slices.Clone(q.Nodes)
	for i := range q.Nodes {
		n := &q.Nodes[i]
		said, is := q.Logins[n.IP.String()]
		if !is {
			continue
		}
		at := slices.IndexFunc(p.cluster.Nodes, func(o config.Node) bool { return o.IP == n.IP })
		if at < 0 && slices.ContainsFunc(p.cluster.Nodes, func(o config.Node) bool { return o.Name == n.Name }) {
			continue // the name of another node is refused where nodes are added; its login is not to change before
		}
		name := n.Name
		if at >= 0 {
			name = p.cluster.Nodes[at].Name
		}
		have := p.cluster.LoginOf(name)
		own := config.Login{User: said.User, PrivateKeyPath: said.Key}
		if own.User == have.User {
			own.User = ""
		}
		if own.PrivateKeyPath == have.PrivateKeyPath {
			own.PrivateKeyPath = ""
		}
		if own.User == "" && own.PrivateKeyPath == "" {
			continue
		}
		if _, other := p.cluster.Eggo.Machines[name]; at >= 0 || other && name != "" {
			return event.NewFault(event.ClassUsage, "join.login", nil, "value", cmp.Or(own.User, own.PrivateKeyPath),
				"name", name, "file", p.file)
		}
		if len(n.Roles) == 0 {
			n.Roles = []bundle.Role{bundle.Worker}
		}
		if n.Name == "" {
			n.Name = freeName(*n, taken)
			taken[n.Name] = true
		}
		if p.logins == nil {
			p.logins = map[string]config.Login{}
		}
		if p.cluster.Eggo.Machines == nil {
			p.cluster.Eggo.Machines = map[string]config.Login{}
		}
		p.logins[n.Name], p.cluster.Eggo.Machines[n.Name] = own, own
	}
	p.request = q
	return nil
}
