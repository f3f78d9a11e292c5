package page

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/eggo-k8s/eggo/internal/server"
	"github.com/eggo-k8s/eggo/internal/server/account/routes"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// userList is the users of the server.
type userList struct {
	Users []userRow
	Me    string
	Next  string
}

// userRow is a user, with the clusters that roles may be given on: those that there are, and those of the user's roles.
// A request sets all roles at once; one that the form does not have would be lost.
type userRow struct {
	routes.User
	On []string
}

// users is the page of users, for administrators.
func (p *Page) users(v *visit) error {
	var page problem.List[routes.User]
	if err := p.get(v, "/users?limit=200&after="+url.QueryEscape(v.r.URL.Query().Get("after")), &page); err != nil {
		return err
	}
	out := userList{Next: page.Next, Me: v.me.ID}
	all, err := p.everyCluster(v)
	if err != nil {
		return err
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	for _, u := range page.Items {
		on := slices.Concat(names, slices.Collect(maps.Keys(u.Clusters)))
		slices.Sort(on)
		out.Users = append(out.Users, userRow{u, slices.Compact(on)})
	}
	p.render(v, http.StatusOK, "users", v.p.T("page.users"), out)
	return nil
}

// own is what a user has: a password and API tokens.
type own struct {
	Me       routes.User
	Tokens   []routes.Token
	Clusters []server.Cluster
	Ends     string // the latest end of a token that is proposed
	Roles    []string
}

// account is the page of the reader.
func (p *Page) account(v *visit) error {
	out := own{Me: v.me.User, Ends: p.Now().AddDate(0, 3, 0).UTC().Format(time.DateOnly)}
	if !v.me.Reset { // else nothing but the password may be changed
		var page problem.List[routes.Token]
		if err := p.get(v, "/tokens?limit=500", &page); err != nil {
			return err
		}
		out.Tokens = page.Items
		var err error
		if out.Clusters, err = p.everyCluster(v); err != nil {
			return err
		}
	}
	p.render(v, http.StatusOK, "account", v.p.T("page.account"), out)
	return nil
}

// auditList is a part of the audit log.
type auditList struct {
	Entries                      []routes.Audited
	User, Cluster, Action, Since string
	Next                         string // the address of the next page
}

// audit is the page of the audit log, for administrators.
func (p *Page) audit(v *visit) error {
	q := v.r.URL.Query()
	out := auditList{User: q.Get("user"), Cluster: q.Get("cluster"), Action: q.Get("action"), Since: q.Get("since")}
	ask := url.Values{"limit": {"100"}}
	for _, name := range []string{"user", "cluster", "action", "after"} {
		if value := q.Get(name); value != "" {
			ask.Set(name, value)
		}
	}
	if day, err := time.Parse(time.DateOnly, out.Since); err == nil {
		ask.Set("since", day.Format(time.RFC3339))
	} else {
		out.Since = ""
	}
	var page problem.List[routes.Audited]
	if err := p.get(v, "/audit?"+ask.Encode(), &page); err != nil {
		return err
	}
	out.Entries = page.Items
	if page.Next != "" {
		q.Set("after", page.Next)
		out.Next = "?" + q.Encode()
	}
	p.render(v, http.StatusOK, "audit", v.p.T("page.audit"), out)
	return nil
}
