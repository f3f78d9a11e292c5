package page

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/server"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account/routes"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// everyCluster reads the clusters that the reader may see.
func (p *Page) everyCluster(v *visit) ([]server.Cluster, error) {
	var out []server.Cluster
	for after := ""; ; {
		list, err := p.api.ListClusters.Call(v.context(),
			&server.ListInput{Page: problem.Page{After: after, Limit: 500}})
		if err != nil {
			return nil, err
		}
		out = append(out, list.Body.Items...)
		if after = list.Body.Next; after == "" {
			return out, nil
		}
	}
}

// row is a cluster in the list.
type row struct {
	server.Cluster
	ID       string // of its part on the page
	Planes   int
	Workers  int
	Trouble  bool
	Asks     bool   // a step that failed waits for a decision
	Run      string // what goes on, or went on last
	Busy     bool
	Doing    *server.Operation
	Versions string
}

func rowOf(c server.Cluster) row {
	r := row{Cluster: c, ID: "c-" + c.Name, Trouble: c.State == "Unavailable" || c.State == "Unreachable" ||
		c.State == "Connecting" && c.Fault != nil}
	for _, n := range c.Nodes {
		if n.Has("controlplane") {
			r.Planes++
		}
		if n.Has("worker") {
			r.Workers++
		}
	}
	r.Asks = c.Operation != nil && len(c.Operation.Waits) > 0
	r.Busy, r.Doing = c.Operation != nil, cmp.Or(c.Operation, c.Last)
	if r.Doing != nil && len(r.Doing.Runs) > 0 {
		r.Run = r.Doing.Runs[len(r.Doing.Runs)-1]
	}
	return r
}

// rank orders the list: what needs attention, work, rest.
func (r row) rank() int {
	switch {
	case r.Trouble || r.Asks:
		return 0
	case r.Busy:
		return 1
	}
	return 2
}

// clusterList is the list as it is drawn.
type clusterList struct {
	Rows   []row
	Counts map[string]int
	Create bool
}

func (p *Page) clusterRows(v *visit) (clusterList, error) {
	all, err := p.everyCluster(v)
	if err != nil {
		return clusterList{}, err
	}
	out := clusterList{Counts: map[string]int{"all": len(all)}, Create: v.may(access.Administer, "")}
	for _, c := range all {
		r := rowOf(c)
		out.Rows = append(out.Rows, r)
		out.Counts[[]string{"trouble", "busy", "ready"}[r.rank()]]++
	}
	slices.SortStableFunc(out.Rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), strings.Compare(a.Name, b.Name))
	})
	return out, nil
}

// clusters is the first page.
func (p *Page) clusters(v *visit) error {
	list, err := p.clusterRows(v)
	if err != nil {
		return err
	}
	p.render(v, http.StatusOK, "clusters", v.p.T("page.clusters"), list)
	return nil
}

// clustersLive sends the list as it changes.
func (p *Page) clustersLive(v *visit) error {
	return p.stream(v, slow, func() (parts, error) {
		list, err := p.clusterRows(v)
		if err != nil {
			return parts{}, err
		}
		out := parts{order: map[string][]string{"clusters": {}}}
		for _, r := range list.Rows {
			if err := p.add(v.lang, &out, r.ID, "clusters", "cluster-row", r); err != nil {
				return out, err
			}
			out.order["clusters"] = append(out.order["clusters"], r.ID)
		}
		if len(list.Rows) == 0 {
			if err := p.add(v.lang, &out, "none", "empty", "clusters-none", list); err != nil {
				return out, err
			}
		}
		return out, p.add(v.lang, &out, "counts", "", "cluster-counts", list)
	})
}

// overview is the page of a cluster.
type overview struct {
	row
	sheet
	Status    []server.NodeStatus
	Later     bool             // the API server takes long: the script asks again
	StatusBad *problem.Problem // why the API server was not asked, or did not answer
	RunTable  runList
	Snapshots []server.Snapshot
	Backups   []server.Backup
	Operate   bool
	Admin     bool
}

// Resumable says whether the reader may continue the cluster: what failed or was canceled, or else the connecting. A
// deletion and a restore are for administrators.
func (o overview) Resumable() bool {
	return o.State == string(state.Unavailable) && !o.Busy && (o.Admin || o.Operate && o.Continue != "delete" &&
		o.Continue != "restore")
}

// TakesOver returns the request that continues in the place of another owner, as page.js takes it; "": there is none,
// or the form of the operation has a field for the number.
func (o overview) TakesOver() string {
	of := "POST /api/v1/clusters/" + escaped(o.Name)
	switch {
	case o.Fault == nil || o.Fault.TakeOver == 0 || !o.Admin || o.Busy:
	case o.Resumable():
		return of + "/continue"
	case o.Last != nil && o.Last.Kind == string(manager.Renew):
		return of + "/renew"
	}
	return ""
}

// Cancelable says whether the reader may cancel what goes on: an operation, or the connecting, which is none.
func (o overview) Cancelable() bool {
	cancels := o.Busy && manager.Kind(o.Operation.Kind).Quiet() // in every state
	for _, e := range []state.Event{state.Cancel, state.CancelDelete} {
		_, err := state.Full(state.State(o.State), e)
		cancels = cancels || err == nil
	}
	return o.Operate && cancels
}

// said gives a problem of the API; other errors are passed on.
func said(err error) (*problem.Problem, error) {
	var p *problem.Problem
	if errors.As(err, &p) {
		return p, nil
	}
	return nil, err
}

func (p *Page) oneCluster(v *visit, name string) (row, error) {
	c, err := p.api.GetCluster.Call(v.context(), &server.InCluster{Cluster: name})
	if err != nil {
		return row{}, err
	}
	return rowOf(c.Body), nil
}

// cluster is the page of one.
func (p *Page) cluster(v *visit) error {
	name := v.r.PathValue("cluster")
	r, err := p.oneCluster(v, name)
	if err != nil {
		return err
	}
	o := overview{row: r, sheet: sheet{p: v.p}, Operate: v.may(access.Operate, name),
		Admin: v.may(access.Administer, name)}
	if err := p.nodeStatus(v, &o); err != nil {
		return err
	}
	// What cannot be read is not shown, and the rest of the page is.
	of, few := v.cluster(), problem.Page{Limit: 8}
	o.RunTable.Cluster = name
	if l, err := p.api.ListRuns.Call(v.context(), &server.RunsInput{InCluster: of, Page: few}); err == nil {
		o.RunTable.Rows = runRows(name, l.Body.Items)
	}
	if l, err := p.api.ListSnapshots.Call(v.context(), &of); err == nil {
		o.Snapshots = l.Body.Items
	}
	if l, err := p.api.ListBackups.Call(v.context(), &of); err == nil {
		o.Backups = l.Body.Items
	}
	p.render(v, http.StatusOK, "cluster", name, o)
	return nil
}

// patience is how long a page waits for the API server of a cluster.
const patience = time.Second

// nodeStatus asks the API server about its nodes. One that takes long is waited for when the page is there.
func (p *Page) nodeStatus(v *visit, o *overview) error {
	if !o.Ready {
		return nil
	}
	ask := *v
	if !v.r.URL.Query().Has("wait") {
		ctx, cancel := context.WithTimeout(v.r.Context(), patience)
		defer cancel()
		ask.r = v.r.WithContext(ctx)
	}
	list, err := p.api.ListNodes.Call(ask.context(), &server.InCluster{Cluster: o.Name})
	if err == nil {
		o.Status = list.Body.Items
	}
	o.StatusBad, err = said(err)
	if ask.r.Context().Err() != nil && v.r.Context().Err() == nil {
		o.Later, o.StatusBad, err = true, nil, nil
	}
	return err
}

// bundles are those in the server's directory that can be read, by architecture and version.
func (p *Page) bundles(v *visit) ([]server.Bundle, error) {
	list, err := p.api.ListBundles.Call(v.context(), nil)
	if err != nil {
		_, err = said(err)
		return nil, err
	}
	out := slices.DeleteFunc(list.Body.Items, func(b server.Bundle) bool { return b.Fault != nil })
	slices.SortStableFunc(out, func(a, b server.Bundle) int {
		return cmp.Or(strings.Compare(a.Arch, b.Arch), strings.Compare(a.Kubernetes, b.Kubernetes))
	})
	return out, nil
}

// clusterLive sends the state of a cluster as it changes.
func (p *Page) clusterLive(v *visit) error {
	return p.stream(v, slow, func() (parts, error) {
		r, err := p.oneCluster(v, v.r.PathValue("cluster"))
		if err != nil {
			return parts{}, err
		}
		o := overview{row: r, Operate: v.may(access.Operate, r.Name), Admin: v.may(access.Administer, r.Name)}
		var out parts
		return out, p.add(v.lang, &out, "state", "", "cluster-state", o)
	})
}

// runList is runs of a cluster.
type runList struct {
	Cluster string
	Rows    []runRow
	Next    string
}

// runRow is one of them.
type runRow struct {
	Cluster string
	Run     server.Run
}

func runRows(cluster string, list []server.Run) (out []runRow) {
	for _, r := range list {
		out = append(out, runRow{cluster, r})
	}
	return out
}

func (p *Page) runs(v *visit) error {
	name := v.r.PathValue("cluster")
	list, err := p.api.ListRuns.Call(v.context(), &server.RunsInput{InCluster: v.cluster(), Page: v.upTo(100)})
	if err != nil {
		return err
	}
	p.render(v, http.StatusOK, "runs", v.p.T("page.runs.of", "cluster", name), runList{name,
		runRows(name, list.Body.Items), list.Body.Next})
	return nil
}

// login is where one logs in, or creates the first administrator.
func (p *Page) login(v *visit) error {
	return p.loginPage(v, http.StatusOK, v.r.URL.Query().Get("next"), nil)
}

func (p *Page) loginPage(v *visit, status int, next string, why *problem.Problem) error {
	m, err := p.Users.Methods.Call(v.context(), nil)
	if err != nil {
		return err
	}
	body := struct {
		routes.Methods
		Next    string
		Problem *problem.Problem
	}{m.Body, ownPath(next), why}
	p.render(v, status, "login", v.p.T("page.login"), body)
	return nil
}

// ownPath is a path of this server alone: nobody is led elsewhere.
func ownPath(text string) string {
	if u, err := url.Parse(text); err == nil && u.Host == "" && u.Scheme == "" && strings.HasPrefix(u.Path, "/") &&
		!strings.HasPrefix(u.Path, "//") && !strings.Contains(u.Path, "\\") {
		return u.String()
	}
	return "/"
}

// loggedIn logs somebody in whose browser runs no script.
func (p *Page) loggedIn(v *visit) error {
	q, err := v.form()
	if err != nil {
		return err
	}
	var who routes.LoginInput
	who.Body.Name, who.Body.Password = q.Get("name"), q.Get("password")
	in, err := p.Users.Login.Call(v.context(), &who)
	if err != nil {
		why, err := said(err)
		if err != nil {
			return err
		}
		return p.loginPage(v, why.Status, q.Get("next"), why)
	}
	v.w.Header()["Set-Cookie"] = in.Cookies
	http.Redirect(v.w, v.r, ownPath(q.Get("next")), http.StatusSeeOther)
	return nil
}
