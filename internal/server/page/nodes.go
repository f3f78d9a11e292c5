package page

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/config/machines"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/manager/clusterspec"
)

// nodeTable is nodes as they were understood.
type nodeTable struct {
	Nodes []clusterspec.Node
	// Joins and Gone: the addresses of those that are new, and those that are removed.
	Joins    []string
	Gone     []clusterspec.Node
	Balancer *clusterspec.Balancer
	Preview  []string // what a new cluster consists of
}

// nodesForm is the page on which the nodes of a cluster are changed.
type nodesForm struct {
	sheet
	Name  string
	Lines string
	Rows  int
	// Fresh: the creation can be sent again with another login.
	Fresh bool
}

// changing is the form on which nodes join or are removed.
func (p *Page) changing() wizard {
	return wizard{may: access.Administer, show: p.nodes, draft: p.nodesDraft, check: p.nodesPlan, send: p.nodesSet}
}

func (p *Page) nodes(v *visit, s sheet, status int) error {
	name := v.r.PathValue("cluster")
	r, err := p.oneCluster(v, name)
	if err != nil {
		return err
	}
	p.render(v, status, "nodes", name, formOf(r, s))
	return nil
}

func formOf(r row, s sheet) nodesForm {
	var lines []string
	for _, n := range r.Nodes {
		lines = append(lines, lineOf(n))
	}
	if s.values == nil {
		s.ETag = etagOf(r)
	}
	return nodesForm{s, r.Name, strings.Join(lines, "\n") + "\n", min(30, len(lines)+3), r.Fresh()}
}

// Fresh says whether what failed is the creation, with the nodes of a change or those of before. Where it failed before
// any node was changed, the API takes other nodes and another login for it; else it refuses them.
func (r row) Fresh() bool {
	return r.State == "Unavailable" && (r.Continue == "create" || r.Continue == "update" && !r.Installed)
}

// etagOf is what a change is bound to, so that it is made only to the cluster that the reader was shown.
func etagOf(r row) string { return strconv.Quote(strconv.FormatUint(r.Revision, 10)) }

// lineOf is a node as a line that can be read again.
func lineOf(n clusterspec.Node) string {
	where := n.Address
	if n.Port != 0 && n.Port != 22 {
		if strings.Contains(where, ":") {
			where = "[" + where + "]"
		}
		where += ":" + strconv.Itoa(n.Port)
	}
	out := []string{n.Name, where, strings.Join(n.Roles, ",")}
	if n.Arch != "" && n.Arch != "amd64" {
		out = append(out, n.Arch)
	}
	return strings.Join(out, " ")
}

// readNodes reads the lines of nodes of a cluster that exists. Its deploy.yaml says how they are logged in to: a login
// in a line would be lost.
func (v *visit) readNodes() (typed, error) {
	t, err := v.read()
	if err == nil {
		t.onlyNodes()
	}
	return t.ownLogin(), err
}

// ownLogin rejects lines that have a login.
func (t typed) ownLogin() typed {
	t.told = slices.DeleteFunc(t.told, func(m event.Msg) bool { return m.Key == "machines.bastion" })
	t.told = append(t.told, draft.WithoutBastions(machines.List{Entries: t.entries}).Notes...)
	for _, e := range t.entries {
		if word := cmp.Or(e.User, e.Key); word != "" {
			t.rejected = append(t.rejected, machines.Rejected{Line: e.Line, Text: e.String(),
				Why: event.M("page.nodes.login", "word", word)})
		}
	}
	return t
}

// nodesDraft says what the lines come to: who joins, who is removed, and what is wrong.
func (p *Page) nodesDraft(v *visit) (checkedForm, error) {
	name := v.r.PathValue("cluster")
	t, err := v.readNodes()
	if err != nil {
		return checkedForm{}, err
	}
	r, err := p.oneCluster(v, name)
	if err != nil {
		return checkedForm{}, err
	}
	out := v.answerTo(t)
	out.ETag = etagOf(r)
	list := append(p.Rules.Update(r.Nodes, t.Nodes, ""), p.Rules.Beside(r.Nodes, t.Nodes, r.Balancer,
		t.LoadBalancer)...)
	login := t.otherLogin()
	if r.Fresh() {
		list = append(p.Rules.Update(nil, t.Nodes, ""), login.Wrong()...)
		list = append(list, p.Rules.Balancer(cmp.Or(t.LoadBalancer, r.Balancer), t.Nodes, "")...)
	}
	out.Wrong = append(out.Wrong, v.wrongNodes(t, list)...)
	table := changed(r.Nodes, t.Nodes)
	out.OK = len(out.Wrong) == 0 && (len(table.Joins)+len(table.Gone) > 0 || r.Fresh() && login != nil)
	out.Count = v.p.T("page.nodes.change.count", "joins", strconv.Itoa(len(table.Joins)), "gone",
		strconv.Itoa(len(table.Gone)))
	if len(out.Wrong) > 0 {
		out.Count = v.p.T("page.new.wrong", "count", strconv.Itoa(len(out.Wrong)))
	}
	v.ask(&out, name, table, v.purges())
	out.Nodes, err = p.piece(v.lang, "node-table", table)
	return out, err
}

// wrongNodes is what is wrong with nodes, and with their lines.
func (v *visit) wrongNodes(t typed, list []clusterspec.Finding) (out []wrong) {
	for _, f := range list {
		text, next := guide.Words(v.p, "plain", f.Fault)
		at := t.fieldAt(f.Location)
		if !strings.HasPrefix(f.Location, "body.ssh.") && at != "known_hosts" {
			at = "nodes"
		}
		out = append(out, wrong{at, text, next})
	}
	return append(out, v.unread(t)...)
}

// changed are nodes as they were and as they are to be.
func changed(was, now []clusterspec.Node) nodeTable {
	out := nodeTable{Nodes: now}
	has := func(list []clusterspec.Node, address string) bool {
		return slices.ContainsFunc(list, func(n clusterspec.Node) bool {
			return n.Address == address || clusterspec.SameAddress(n.Address, address)
		})
	}
	for _, n := range now {
		if !has(was, n.Address) {
			out.Joins = append(out.Joins, n.Address)
		}
	}
	for _, n := range was {
		if !has(now, n.Address) {
			out.Gone = append(out.Gone, n)
		}
	}
	return out
}

// ask names the nodes that the change is about. To remove some, the name of the cluster has to be typed.
func (v *visit) ask(out *checkedForm, cluster string, table nodeTable, purge bool) {
	var joins, gone []string
	for _, n := range table.Nodes {
		if slices.Contains(table.Joins, n.Address) {
			joins = append(joins, event.Clean(n.Name))
		}
	}
	for _, n := range table.Gone {
		gone = append(gone, event.Clean(n.Name))
	}
	var ask []string
	if len(joins) > 0 {
		ask = append(ask, v.p.T("page.nodes.add.about", "nodes", v.p.List(joins), "cluster", cluster))
	}
	if len(gone) > 0 {
		ask = append(ask, v.p.T("page.nodes.remove.about", "nodes", v.p.List(gone), "cluster", cluster))
		if out.Name = cluster; purge {
			ask = append(ask, v.p.T("page.nodes.purge.ask"))
		}
	}
	out.Ask = strings.Join(ask, " ")
}

// purges says whether images and data of the nodes that are removed are to go, too.
func (v *visit) purges() bool { return v.r.PostForm.Get("purge") != "" }

// otherLogin is what replaces the login of a creation; nil: nothing was typed.
func (t typed) otherLogin() *clusterspec.SSH {
	s := clusterspec.SSH{User: t.SSH.User, Key: t.SSH.Key, Password: t.SSH.Password, SudoPassword: t.SSH.SudoPassword}
	if s == (clusterspec.SSH{}) {
		return nil
	}
	return &s
}

// nodesPlan is the dry run of the change.
func (p *Page) nodesPlan(v *visit) (string, error) {
	t, err := v.readNodes()
	if err == nil {
		err = v.sound(t)
	}
	if err != nil {
		return "", err
	}
	q := &server.PlanInput{InCluster: v.cluster()}
	q.Body.Nodes, q.Body.Secrets = listed(t.Nodes), t.Options.Secrets
	res, err := p.api.Plan.Call(v.context(), q)
	if err != nil {
		return "", v.refuse(t, err, nil)
	}
	return p.piece(v.lang, "plan", res.Body)
}

// nodesSet begins the change, if the cluster is still the one that the reader was told about.
func (p *Page) nodesSet(v *visit) (string, error) {
	t, err := v.readNodes()
	if err == nil {
		err = v.sound(t)
	}
	if err != nil {
		return "", err
	}
	q := &server.UpdateInput{InCluster: v.cluster(), Matching: v.matching(), Purge: v.purges()}
	q.Body.Nodes, q.Body.LoadBalancer, q.Body.SSH = t.Nodes, t.LoadBalancer, t.otherLogin()
	q.Body.Options = t.Options
	if _, err := p.api.UpdateCluster.Call(v.context(), q); err != nil {
		return "", v.refuse(t, err, nil)
	}
	return "/clusters/" + escaped(q.Cluster), nil
}
