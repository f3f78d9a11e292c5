package server

import (
	"slices"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
)

// Roles on a cluster, and API tokens for it alone, end with it, whichever way it is deleted: who was an operator of the
// old one sees nothing of a new one with its name. Roles on others stay, and the audit log says what went.
func TestRolesEndWithTheirCluster(t *testing.T) {
	g := beginGuarded(t)
	ann := g.as("global")
	both := account.Grants{"one": access.Operator, "two": access.Admin}
	if _, err := g.accounts.Change(t.Context(), "elsewhere", account.Change{Grants: &both}); err != nil {
		t.Fatal(err)
	}
	token, text, err := g.accounts.NewToken(t.Context(), g.id("global"), account.Token{Name: "ci", Cluster: "one",
		Role: access.Operator, Ends: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"?machines=keep", ""} {
		g.want(g.call("", "POST", Prefix+"/clusters", oneCluster, ann...), 202, "")
		g.reach("Creating", func() bool { v, _ := g.m.Cluster("one"); return v.Operation.Run() != "" })
		g.world.Newest("one").Finish(nil)
		g.reach("Running", nil)
		switch how {
		case "?machines=keep":
			g.want(g.call("", "GET", Prefix+"/clusters/one", "", "Authorization", "Bearer "+text), 200, "")
			g.want(g.call("", "DELETE", Prefix+"/clusters/one"+how, "", ann...), 200, "")
			g.world.Begin("one", "delete").Finish(nil) // somebody cleans its machines
		default:
			for _, who := range []string{"viewer", "operator", "admin", "elsewhere"} {
				g.want(g.call("", "GET", Prefix+"/clusters/one", "", g.as(who)...), 404, "manager.unknown")
			}
			g.want(g.call("", "GET", Prefix+"/clusters/one", "", "Authorization", "Bearer "+text), 401, "account.token")
		}
	}
	u, err := g.accounts.Find(t.Context(), "elsewhere")
	if err != nil || len(u.Grants) != 1 || u.Grants["two"] != access.Admin {
		t.Errorf("%v %v", u.Grants, err)
	}
	log, err := g.accounts.Audit(t.Context(), account.Filter{User: "server", Cluster: "one"}, 100)
	var got []string
	for _, e := range log {
		got = append(got, e.Entry.Action+" "+e.Entry.Target)
	}
	slices.Sort(got)
	want := []string{"delete-token global " + token.ID, "revoke-role admin admin", "revoke-role elsewhere operator",
		"revoke-role operator operator", "revoke-role viewer viewer"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %q, want %q", err, got, want)
	}
}
