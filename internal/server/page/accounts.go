package page

import (
	"maps"
	"net/http"
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
	part := v.upTo(200)
	list, err := p.Users.ListUsers.Call(v.context(), &part)
	if err != nil {
		return err
	}
	out := userList{Next: list.Body.Next, Me: v.me.ID}
	all, err := p.everyCluster(v)
	if err != nil {
		return err
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	for _, u := range list.Body.Items {
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
		list, err := p.Users.ListTokens.Call(v.context(), &routes.TokensInput{Page: problem.Page{Limit: 500}})
		if err != nil {
			return err
		}
		out.Tokens = list.Body.Items
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
	ask := routes.AuditInput{Page: v.upTo(100), User: out.User, Cluster: out.Cluster, Action: out.Action}
	var err error
	if ask.Since, err = time.Parse(time.DateOnly, out.Since); err != nil {
		out.Since = ""
	}
	list, err := p.Users.ListAudit.Call(v.context(), &ask)
	if err != nil {
		return err
	}
	out.Entries = list.Body.Items
	if next := list.Body.Next; next != "" {
		q.Set("after", next)
		out.Next = "?" + q.Encode()
	}
	p.render(v, http.StatusOK, "audit", v.p.T("page.audit"), out)
	return nil
}
