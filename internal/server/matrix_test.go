package server

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/account/routes"
	"github.com/eggo-k8s/eggo/internal/server/database"
	"github.com/eggo-k8s/eggo/internal/server/manager/records"
	"github.com/eggo-k8s/eggo/internal/testkit/operationtest"
)

// matrix says of every operation of the document, and of the routes beside it, who may send it about the cluster one:
// + he may, else the status that refuses him. Elsewhere is an administrator of another cluster alone; token is an API
// token of the administrator, with his role. What follows a slash is another request to the same route: with machines
// that the cluster does not have. The token that is revoked is none of these.
const matrix = `
operation            nobody plain elsewhere viewer operator admin global token
list-clusters        401    +     +         +      +        +     +      +
create-cluster       401    403   403       403    403      403   +      +
import-cluster       401    403   403       403    403      403   +      +
get-cluster          401    404   404       +      +        +     +      +
update-cluster       401    404   404       403    403      +     +      +
delete-cluster       401    404   404       403    403      +     +      +
cancel-cluster       401    404   404       403    +        +     +      +
continue-cluster     401    404   404       403    +        +     +      +
renew-certificates   401    404   404       403    +        +     +      +
upgrade-cluster      401    404   404       403    +        +     +      +
take-snapshot        401    404   404       403    +        +     +      +
list-snapshots       401    404   404       +      +        +     +      +
restore-snapshot     401    404   404       403    403      +     +      +
take-backup          401    404   404       403    +        +     +      +
list-backups         401    404   404       +      +        +     +      +
verify-backup        401    404   404       403    +        +     +      +
restore-backup       401    404   404       403    403      +     +      +
list-certificates    401    404   404       +      +        +     +      +
get-status           401    404   404       +      +        +     +      +
inspect-certificates 401    404   404       +      +        +     +      +
inspect-status       401    404   404       +      +        +     +      +
check                401    403   403       403    403      403   +      +
plan                 401    404   404       403    +        +     +      +
plan/machines        401    404   404       403    403      +     +      +
list-health          401    404   404       +      +        +     +      +
list-nodes           401    404   404       +      +        +     +      +
issue-kubeconfig     401    404   404       +      +        +     +      +
get-admin-kubeconfig 401    404   404       403    403      +     +      +
list-runs            401    404   404       +      +        +     +      +
get-run              401    404   404       +      +        +     +      +
follow-run           401    404   404       +      +        +     +      +
decide               401    404   404       403    +        +     +      +
follow-clusters      401    +     +         +      +        +     +      +
list-bundles         401    403   403       +      +        +     +      +
login-methods        +      +     +         +      +        +     +      +
login                +      +     +         +      +        +     +      +
setup                +      +     +         +      +        +     +      +
logout               401    +     +         +      +        +     +      403
get-me               401    +     +         +      +        +     +      +
change-password      401    +     +         +      +        +     +      403
list-users           401    403   403       403    403      403   +      +
create-user          401    403   403       403    403      403   +      403
get-user             401    403   403       403    403      403   +      +
update-user          401    403   403       403    403      403   +      403
delete-user          401    403   403       403    403      403   +      403
reset-password       401    403   403       403    403      403   +      403
list-tokens          401    +     +         +      +        +     +      +
create-token         401    +     +         +      +        +     +      403
delete-token         401    +     +         +      +        +     +      403
list-audit           401    403   403       403    403      403   +      +
metrics              401    +     +         +      +        +     +      +
healthz              +      +     +         +      +        +     +      +
readyz               +      +     +         +      +        +     +      +
`

// validBodies are valid ones, of requests that come to nothing even if they are allowed: so each is sent by everybody.
func validBodies() map[string]string {
	return map[string]string{
		"create-cluster":   oneCluster,
		"import-cluster":   `{"name":"one"}`,
		"update-cluster":   `{"nodes":[]}`,
		"upgrade-cluster":  `{}`,
		"restore-snapshot": `{"snapshot":"none.db"}`,
		"take-backup":      `{"passphrase":"a long passphrase"}`,
		"verify-backup":    `{}`,
		"restore-backup":   `{}`,
		"check":            `{"name":"one","server_address":"","domain":"","ssh":{"user":""},"nodes":[]}`,
		"plan":             `{"nodes":[]}`,
		"plan/machines":    `{"nodes":[{"name":"x","address":"192.0.2.9","roles":["worker"]}]}`,
		"inspect-status":   `{}`,

		"inspect-certificates": `{}`,
		"issue-kubeconfig":     `{}`,
		"decide":               `{"step":"s","decision":"retry"}`,
		"login":                `{"name":"stranger","password":"not a password"}`,
		"setup":                `{"token":"x","name":"stranger","password":"not a password"}`,
		"change-password":      `{"old":"not the password","new":"a good new password"}`,
		"create-user":          `{"name":"","password":"x"}`,
		"update-user":          `{}`,
		"reset-password":       `{"password":"x"}`,
		"create-token":         `{"name":"t","role":"viewer","ends":"2020-01-01T00:00:00Z"}`,
	}
}

// guarded is a site with the users of a real server, and how each of them is known.
type guarded struct {
	*site
	accounts *account.Accounts
	db       *database.DB
	later    *atomic.Int64 // how far the clock of the accounts is ahead, in nanoseconds
}

func cheap() account.Cost { return account.Cost{Passes: 1, Memory: 8, Threads: 1} }

const goodPassword = "correct horse battery"

func beginGuarded(t *testing.T, change ...func(*Options)) *guarded {
	t.Helper()
	db, err := database.Open(t.Context(), filepath.Join(t.TempDir(), "server.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	later := new(atomic.Int64)
	now := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	a, err := account.Open(t.Context(), db, account.Options{Now: now, Cost: cheap()})
	if err != nil {
		t.Fatal(err)
	}
	store, err := records.Open(t.Context(), db, a.ForgetCluster)
	if err != nil {
		t.Fatal(err)
	}
	g := &guarded{accounts: a, db: db, later: later}
	g.site = beginOn(t, store, func(o *Options) {
		o.Access, o.More = a, func(api huma.API) { routes.Register(api, a, false, o.Manager.Has) }
		d := o.Deps()
		d.Dialer, d.Clock = nowhere{}, operationtest.Swift{}
		o.Deps = func() operation.Deps { return d }
		for _, f := range change {
			f(o)
		}
	})
	for name, u := range map[string]account.New{
		"plain": {}, "global": {Role: access.Admin}, "elsewhere": {Grants: account.Grants{"two": access.Admin}},
		"viewer":   {Grants: account.Grants{"one": access.Viewer}},
		"operator": {Grants: account.Grants{"one": access.Operator}},
		"admin":    {Grants: account.Grants{"one": access.Admin}},
	} {
		u.Name, u.Password = name, goodPassword
		if _, err := a.Create(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// id returns the ID of a user.
func (g *guarded) id(name string) string {
	g.t.Helper()
	u, err := g.accounts.Find(g.t.Context(), name)
	if err != nil {
		g.t.Fatal(err)
	}
	return u.ID
}

// as gives the headers of somebody: a session that has just begun, an API token, or nothing.
func (g *guarded) as(who string) []string {
	g.t.Helper()
	switch who {
	case "nobody":
		return nil
	case "token":
		_, text, err := g.accounts.NewToken(g.t.Context(), g.id("global"), account.Token{Name: "t", Role: access.Admin,
			Ends: time.Now().Add(time.Hour)})
		if err != nil {
			g.t.Fatal(err)
		}
		return []string{"Authorization", "Bearer " + text}
	}
	s, err := g.accounts.Login(g.t.Context(), "192.0.2.1", who, goodPassword, "")
	if err != nil {
		g.t.Fatal(err)
	}
	return []string{"Cookie", account.Cookie + "=" + s.Secret}
}

// tried sends a request, and gives the status with the code of a problem. Of a stream it reads no more than that.
func (g *guarded) tried(method, path, body string, headers ...string) (int, string) {
	g.t.Helper()
	ctx, cancel := context.WithCancel(g.t.Context())
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, method, g.url+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	q.Header.Set("If-Match", `"99999"`)
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	kind := res.Header.Get("Content-Type")
	if kind == "application/jsonl" || kind == "text/event-stream" { // it would have no end
		g.keeps(method, q.URL.EscapedPath(), res.StatusCode, res.Header, nil)
		return res.StatusCode, ""
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	g.keeps(method, q.URL.EscapedPath(), res.StatusCode, res.Header, text)
	if res.StatusCode < 300 {
		return res.StatusCode, ""
	}
	p := struct{ Code string }{}
	if json.Unmarshal(text, &p) != nil || p.Code == "" {
		g.t.Errorf("%s %s: %d is no problem: %s", method, path, res.StatusCode, text)
	}
	return res.StatusCode, p.Code
}

// operationOfDocument is where an operation is found.
type operationOfDocument struct{ method, path string }

// documented are the operations of the document, by their IDs, and the routes beside it.
func (g *guarded) documented() map[string]operationOfDocument {
	g.t.Helper()
	var doc struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal([]byte(g.call("", "GET", Prefix+"/openapi.json", "").text), &doc); err != nil {
		g.t.Fatal(err)
	}
	out := map[string]operationOfDocument{"metrics": {"GET", "/metrics"}, "healthz": {"GET", "/healthz"},
		"readyz": {"GET", "/readyz"}}
	for path, item := range doc.Paths {
		for method, op := range item {
			if out[op.OperationID].path != "" || op.OperationID == "" {
				g.t.Errorf("%s %s: the ID %q is not its own", method, path, op.OperationID)
			}
			out[op.OperationID] = operationOfDocument{strings.ToUpper(method), path}
		}
	}
	return out
}

// refusal says whether an answer is one of rights.
func refusal(code string) bool {
	return slices.Contains([]string{"access.unauthenticated", "access.bundle", "access.denied", "access.machine",
		"account.session-only", "account.token-self", "manager.unknown"}, code)
}

// Every operation of the document has a row in the matrix, and answers everybody as it says.
func TestWhoMaySendWhat(t *testing.T) {
	g := beginGuarded(t)
	g.want(g.call("", "POST", Prefix+"/clusters", oneCluster, g.as("global")...), 202, "")
	g.reach("Creating", func() bool { return g.world.Newest("one") != nil })
	all := g.documented()
	rows := strings.Split(strings.TrimSpace(matrix), "\n")
	roles := strings.Fields(rows[0])[1:]
	known := map[string]bool{}
	for _, row := range rows[1:] {
		cells := strings.Fields(row)
		id := cells[0]
		route, _, _ := strings.Cut(id, "/")
		op, is := all[route]
		if known[id] = true; !is || len(cells) != len(roles)+1 {
			t.Errorf("%s: no such operation, or not a cell for each of %v", id, roles)
			continue
		}
		path := strings.NewReplacer("{cluster}", "one", "{run}", "r1", "{backup}", "b1", "{user}", "stranger",
			"{token}", "t1").Replace(op.path)
		for i, who := range roles {
			headers := g.as(who)
			if body := validBodies()[id]; body != "" {
				headers = append(headers, "Content-Type", "application/json")
			}
			status, code := g.tried(op.method, path, validBodies()[id], headers...)
			switch want := cells[i+1]; {
			case code == "api.request":
				t.Errorf("%s: the request of this test is not valid", id)
			case want == "+" && refusal(code):
				t.Errorf("%s by %s is refused: %d %s", id, who, status, code)
			case want != "+" && (!refusal(code) || want != strconv.Itoa(status)):
				t.Errorf("%s by %s: %d %s, want %s", id, who, status, code, want)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if !known[id] {
			t.Errorf("%s (%s %s) has no row in the matrix: say who may send it", id, all[id].method, all[id].path)
		}
	}
	if v, err := g.m.Cluster("one"); err != nil || v.State != "Creating" {
		t.Errorf("a request of the matrix came to something: %v %v", v.State, err)
	}
}

// Whoever sends a request that would change something is in the audit log, also if the request does not have the shape
// of its route: with the result, and with no more of the path than a name has. Who reads is not.
func TestRequestsWithoutTheirShapeAreWrittenDown(t *testing.T) {
	g := beginGuarded(t)
	headers := append(g.as("operator"), "Content-Type", "application/json")
	long := strings.Repeat("n", 300)
	want := map[string]string{}
	for id, op := range g.documented() {
		if op.method == "GET" || id == "logout" { // it would end the session
			continue
		}
		path, body := strings.ReplaceAll(op.path, "{cluster}", "one"), `{"unknown":1}`
		if a := g.call("", op.method, path, body, headers...); a.body["code"] == "api.request" ||
			a.status == http.StatusForbidden {
			want[id] = strconv.Itoa(a.status)
		}
	}
	if len(want) < 20 {
		t.Errorf("only %d routes have a shape: %v", len(want), want)
	}
	g.call("", "POST", Prefix+"/clusters/"+long+"/renew", `{"unknown":1}`, headers...)
	g.call("", "GET", Prefix+"/clusters?limit=0", "", headers...)
	g.call("", "POST", Prefix+"/clusters/one/renew", `{"unknown":1}`, "Content-Type", "application/json") // by nobody
	list, err := g.accounts.Audit(t.Context(), account.Filter{User: "operator"}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Result == want[e.Entry.Action] && (e.Entry.Cluster == "one" || e.Entry.Cluster == "") {
			delete(want, e.Entry.Action)
		}
		if e.Entry.Action == "list-clusters" || len(e.Entry.Cluster) > 64 {
			t.Errorf("%+v", e)
		}
	}
	if len(want) > 0 {
		t.Errorf("not in the audit log: %v", want)
	}
	if !slices.ContainsFunc(list, func(e account.Audited) bool {
		return strings.HasPrefix(long, e.Entry.Cluster) &&
			len(e.Entry.Cluster) == 64
	}) {
		t.Error("a request about a name that no cluster can have is not in the audit log")
	}
}
