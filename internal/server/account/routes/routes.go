// Package routes are the routes of a server for users: login, users, API tokens, the audit log. It imports access,
// account, event and problem.
package routes

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// Base is before the path of every route.
const Base = "/api/v1"

type api struct {
	a    *account.Accounts
	with bool // an identity provider
	// there says whether a cluster exists.
	there func(cluster string) bool
}

// Register adds the routes to an API; provider says that logins with an identity provider are possible. Roles and API
// tokens are given on clusters that are there; nil: on any.
func Register(to huma.API, a *account.Accounts, provider bool, there func(cluster string) bool) {
	if there == nil {
		there = func(string) bool { return true }
	}
	x := &api{a: a, with: provider, there: there}
	sessions(to.OpenAPI())
	op := func(id, method, path, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: Base + path, Summary: text,
			Tags: []string{"users"}}
	}
	open := func(id, method, path, text string) huma.Operation {
		o := op(id, method, path, text)
		o.Security = []map[string][]string{}
		return o
	}
	person := func(id, method, path, text string) huma.Operation {
		o := op(id, method, path, text)
		o.Security = bySession()
		return o
	}
	huma.Register(to, open("login-methods", http.MethodGet, "/login", "Which logins are possible"), handled(x.methods))
	huma.Register(to, open("login", http.MethodPost, "/login", "Log in with a password"), handled(x.login))
	huma.Register(to, open("setup", http.MethodPost, "/setup", "Create the first administrator"), handled(x.setup))
	huma.Register(to, person("logout", http.MethodPost, "/logout", "End the session"), handled(x.logout))
	huma.Register(to, op("get-me", http.MethodGet, "/me", "Who sends the request"), handled(x.me))
	huma.Register(to, person("change-password", http.MethodPut, "/me/password", "Change one's own password"),
		handled(x.changePassword))
	administered(to, x, op("list-users", http.MethodGet, "/users", "List users"), x.users, nil)
	create := person("create-user", http.MethodPost, "/users", "Create a user")
	create.DefaultStatus = http.StatusCreated
	administered(to, x, create, x.createUser, func(in *createUserInput) string { return in.Body.Name })
	administered(to, x, op("get-user", http.MethodGet, "/users/{user}", "Read a user"), x.user, nil)
	administered(to, x, person("update-user", http.MethodPatch, "/users/{user}", "Change roles, or disable a user"),
		x.updateUser, func(in *updateUserInput) string { return in.User })
	administered(to, x, person("delete-user", http.MethodDelete, "/users/{user}", "Delete a user"), x.deleteUser,
		func(in *UserPath) string { return in.User })
	administered(to, x, person("reset-password", http.MethodPost, "/users/{user}/reset-password",
		"Set a password that the user has to change"), x.resetPassword, func(in *resetInput) string { return in.User })
	huma.Register(to, op("list-tokens", http.MethodGet, "/tokens", "List API tokens"), handled(x.tokens))
	create = person("create-token", http.MethodPost, "/tokens", "Create an API token")
	create.DefaultStatus = http.StatusCreated
	huma.Register(to, create, handled(x.createToken))
	revoke := op("delete-token", http.MethodDelete, "/tokens/{token}", "Revoke an API token")
	revoke.Description = "A session revokes the API tokens of its user, that of an administrator also those of " +
		"others; an API token only itself."
	huma.Register(to, revoke, handled(x.deleteToken))
	administered(to, x, op("list-audit", http.MethodGet, "/audit", "Read the audit log"), x.audit, nil)
}

// administered adds a route for administrators. A change is recorded with what it is about, and so is one that is
// refused. An API token changes no user: with one that leaked, somebody could create another way in.
func administered[I, O any](
	to huma.API, x *api, o huma.Operation, do func(context.Context, *I) (*O, error), target func(*I) string,
) {
	change := o.Method != http.MethodGet
	record := func(ctx context.Context, in *I, refused error) error {
		if known, is := access.From(ctx); is && change {
			if err := x.record(ctx, known, o.OperationID, target(in)); refused == nil {
				return err
			}
		}
		return refused
	}
	o.Middlewares = append(o.Middlewares, problem.Guard(func(ctx huma.Context) error {
		return x.administers(ctx.Context(), change)
	}))
	huma.Register(to, o, problem.Handler(func(ctx context.Context, in *I) (*O, error) {
		if err := record(ctx, in, x.administers(ctx, change)); err != nil {
			return nil, err
		}
		return do(ctx, in)
	}, record))
}

// sessions has a document say that a session is as good as an API token, which is all that it knows.
func sessions(doc *huma.OpenAPI) {
	if doc.Components.SecuritySchemes == nil {
		doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{}
	}
	doc.Components.SecuritySchemes["session"] = &huma.SecurityScheme{Type: "apiKey", In: "cookie",
		Name: account.Cookie}
	doc.Security = append(doc.Security, bySession()...)
}

// bySession is the security of what a person does: an API token is refused.
func bySession() []map[string][]string { return []map[string][]string{{"session": {}}} }

// handled has errors said as problems.
func handled[I, O any](do func(context.Context, *I) (*O, error)) func(context.Context, *I) (*O, error) {
	return problem.Handler(do)
}

// caller is who sent the request, and is still known. Routes that need no role ask nothing else.
func (x *api) caller(ctx context.Context) (access.Caller, error) {
	c, ok := access.From(ctx)
	if !ok {
		return c, event.NewFault(event.ClassAuth, "access.unauthenticated", nil)
	}
	return c, x.a.Recheck(ctx)
}

// person is the caller, who has logged in: an API token must not make itself another one.
func (x *api) person(ctx context.Context) (access.Caller, error) {
	c, err := x.caller(ctx)
	if err == nil && c.Token != "" {
		err = event.NewFault(event.ClassAuth, "account.session-only", nil)
	}
	return c, err
}

func (x *api) record(ctx context.Context, c access.Caller, action, target string) error {
	return x.a.Record(ctx, access.Entry{Caller: c, Action: action, Target: target, Address: account.Address(ctx)})
}

// self is the caller, who changes something of his own, which is recorded, and so is a change that is refused. allowed
// says whether he may.
func (x *api) self(
	ctx context.Context, action, target string, allowed func(context.Context) (access.Caller, error),
) (access.Caller, error) {
	c, err := allowed(ctx)
	if known, is := access.From(ctx); is {
		if bad := x.record(ctx, known, action, target); err == nil {
			err = bad
		}
	}
	return c, err
}

// administers refuses who is no administrator; a change, also an API token.
func (x *api) administers(ctx context.Context, change bool) error {
	_, err := access.Check(ctx, x.a, access.Administer, "")
	if err == nil && change {
		_, err = x.person(ctx)
	}
	return err
}

// onClusters refuses roles on clusters that do not exist: they would be rights on whatever gets the name.
func (x *api) onClusters(roles map[string]string) error {
	var out problem.All
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		if !x.there(name) {
			out = append(out, problem.At{Location: "body.clusters." + name, Fault: noCluster(name)})
		}
	}
	return out.Err()
}

func noCluster(name string) *event.Fault {
	return event.AsFault(event.NewFault(event.ClassUsage, "account.no-cluster", nil, "cluster", name))
}

// onCluster refuses an API token for a cluster that does not exist, or that the caller may not see.
func (x *api) onCluster(ctx context.Context, c access.Caller, cluster string) error {
	if cluster == "" {
		return nil
	}
	role, err := x.a.RoleOf(ctx, c, cluster)
	if err != nil || role.May(access.View) && x.there(cluster) {
		return err
	}
	return problem.All{{Location: "body.cluster", Fault: noCluster(cluster)}}
}

// User is a user as the API shows one.
type User struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Role     string            `json:"role" enum:",viewer,operator,admin" doc:"The role on all clusters."`
	Clusters map[string]string `json:"clusters" doc:"Roles on single clusters."`
	Provider bool              `json:"provider" doc:"The user logs in with the identity provider, which has the roles."`
	Disabled bool              `json:"disabled"`
	Reset    bool              `json:"reset" doc:"The user has to change the password first."`
	Created  time.Time         `json:"created"`
	Seen     *time.Time        `json:"seen,omitempty" doc:"The last login."`
	LikeID   bool              `json:"name_like_id,omitempty" doc:"The name has the form of an ID. Create a user with another name, and delete this one."`
}

func userOf(u account.User) User {
	out := User{ID: u.ID, Name: u.Name, Role: string(u.Role), Clusters: map[string]string{}, Provider: u.Provider,
		Disabled: u.Disabled, Reset: u.Reset, Created: u.Created, LikeID: u.LikeID()}
	for cluster, role := range u.Grants {
		out.Clusters[cluster] = string(role)
	}
	if !u.Seen.IsZero() {
		out.Seen = &u.Seen
	}
	return out
}

func grantsOf(m map[string]string) account.Grants {
	out := account.Grants{}
	for cluster, role := range m {
		out[cluster] = access.Role(role)
	}
	return out
}

type body[T any] struct{ Body T }

type none struct{}

// loggedIn is the answer to a login.
type loggedIn struct {
	Cookies []string `header:"Set-Cookie"`
	Body    User
}

func (x *api) loggedIn(s account.Session, err error) (*loggedIn, error) {
	if err != nil {
		return nil, err
	}
	return &loggedIn{x.a.Cookies(s), userOf(s.User)}, nil
}

// Methods are the logins that are possible.
type Methods struct {
	Provider bool `json:"provider" doc:"An identity provider is configured: GET /api/v1/login/sso begins."`
	Setup    bool `json:"setup" doc:"The server has no administrator yet: POST /api/v1/setup creates one."`
}

func (x *api) methods(ctx context.Context, _ *none) (*body[Methods], error) {
	needed, err := x.a.SetupNeeded(ctx)
	return &body[Methods]{Methods{x.with, needed}}, err
}

type loginInput struct {
	Body struct {
		Name     string `json:"name" maxLength:"256"`
		Password string `json:"password" maxLength:"1024"`
	}
}

func (x *api) login(ctx context.Context, in *loginInput) (*loggedIn, error) {
	return x.loggedIn(x.a.Login(ctx, account.Address(ctx), in.Body.Name, in.Body.Password, account.Sent(ctx).Secret))
}

type setupInput struct {
	Body struct {
		Token    string `json:"token" maxLength:"256" doc:"From the file that the server names when it starts."`
		Name     string `json:"name" maxLength:"256"`
		Password string `json:"password" maxLength:"1024"`
	}
}

func (x *api) setup(ctx context.Context, in *setupInput) (*loggedIn, error) {
	return x.loggedIn(x.a.Setup(ctx, account.Address(ctx), in.Body.Token, in.Body.Name, in.Body.Password))
}

type loggedOut struct {
	Cookie string `header:"Set-Cookie"`
}

func (x *api) logout(ctx context.Context, _ *none) (*loggedOut, error) {
	if c, err := x.person(ctx); err != nil {
		if c.ID != "" { // an end of a session is recorded by itself
			err = errors.Join(err, x.record(ctx, c, "logout", ""))
		}
		return nil, err
	}
	return &loggedOut{account.Emptied().String()}, x.a.Logout(ctx, account.Address(ctx), account.Sent(ctx))
}

// Me is who sends a request.
type Me struct {
	User
	Token string `json:"token,omitempty" doc:"The ID of the API token of the request."`
}

func (x *api) me(ctx context.Context, _ *none) (*body[Me], error) {
	c, err := x.caller(ctx)
	if err != nil {
		return nil, err
	}
	u, err := x.a.ByID(ctx, c.ID)
	return &body[Me]{Me{userOf(u), c.Token}}, err
}

type passwordInput struct {
	Body struct {
		Old string `json:"old" maxLength:"1024"`
		New string `json:"new" maxLength:"1024"`
		// Tokens is for a user whose password may be known to others.
		Tokens bool `json:"revoke_tokens,omitempty" doc:"All API tokens of the user are revoked, too."`
	}
}

func (x *api) changePassword(ctx context.Context, in *passwordInput) (*none, error) {
	me, _ := access.From(ctx)
	c, err := x.self(ctx, "change-password", me.Name, x.person)
	if err != nil {
		return nil, err
	}
	return nil, x.a.ChangePassword(ctx, c.ID, in.Body.Old, in.Body.New, account.Sent(ctx), in.Body.Tokens)
}
