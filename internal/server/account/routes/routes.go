// Package routes has the routes of a server for users: login, users, API tokens, the audit log. Begin with Register.
//
// It may import access, account, route, problem and run/event.
package routes

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/problem"
	"github.com/eggo-k8s/eggo/internal/server/route"
)

// Base is before the path of every route.
const Base = "/api/v1"

// Service has the methods that the web page calls in this process.
type Service struct {
	Methods    *route.Route[none, body[Methods]]
	Login      *route.Route[LoginInput, loggedIn]
	Me         *route.Route[none, body[Me]]
	ListUsers  *route.Route[problem.Page, body[problem.List[User]]]
	ListTokens *route.Route[TokensInput, body[problem.List[Token]]]
	ListAudit  *route.Route[AuditInput, body[problem.List[Audited]]]
}

type api struct {
	a    *account.Accounts
	with bool // an identity provider
	// there reports whether a cluster exists.
	there func(cluster string) bool
}

// Register adds the routes to an API, and returns the methods that the web page calls. With provider, logins with an
// identity provider are possible. Roles and API tokens are given on clusters that are there; nil: on any.
func Register(to huma.API, a *account.Accounts, provider bool, there func(cluster string) bool) *Service {
	if there == nil {
		there = func(string) bool { return true }
	}
	x, s := &api{a: a, with: provider, there: there}, &Service{}
	sessions(to.OpenAPI())
	s.Methods = open(to, x, op("login-methods", http.MethodGet, "/login", "Which logins are possible"), x.methods)
	s.Login = open(to, x, op("login", http.MethodPost, "/login", "Log in with a password"), x.login)
	open(to, x, op("setup", http.MethodPost, "/setup", "Create the first administrator"), x.setup)
	end := person(op("logout", http.MethodPost, "/logout", "End the session"))
	route.Add(to, a, route.Route[none, loggedOut]{Operation: end, Allow: x.person, Method: x.logout,
		Audit: route.Refusals}) // an end of a session is recorded by itself
	s.Me = route.Add(to, a, route.Route[none, body[Me]]{Operation: op("get-me", http.MethodGet, "/me",
		"Who sends the request"), Allow: x.known, Method: x.me})
	change := person(op("change-password", http.MethodPut, "/me/password", "Change one's own password"))
	route.Add(to, a, route.Route[passwordInput, none]{Operation: change, Allow: x.person, Method: x.changePassword,
		Self: true})
	s.ListUsers = administered(to, x, op("list-users", http.MethodGet, "/users", "List users"), x.users, nil)
	create := person(op("create-user", http.MethodPost, "/users", "Create a user"))
	create.DefaultStatus = http.StatusCreated
	administered(to, x, create, x.createUser, func(in *createUserInput) string { return in.Body.Name })
	administered(to, x, op("get-user", http.MethodGet, "/users/{user}", "Read a user"), x.user, nil)
	administered(to, x, person(op("update-user", http.MethodPatch, "/users/{user}", "Change roles, or disable a user")),
		x.updateUser, func(in *updateUserInput) string { return in.User })
	administered(to, x, person(op("delete-user", http.MethodDelete, "/users/{user}", "Delete a user")), x.deleteUser,
		func(in *UserPath) string { return in.User })
	administered(to, x, person(op("reset-password", http.MethodPost, "/users/{user}/reset-password",
		"Set a password that the user has to change")), x.resetPassword,
		func(in *resetInput) string { return in.User })
	x.tokenRoutes(to, s)
	s.ListAudit = administered(to, x, op("list-audit", http.MethodGet, "/audit", "Read the audit log"), x.audit, nil)
	return s
}

// tokenRoutes adds the routes of API tokens.
func (x *api) tokenRoutes(to huma.API, s *Service) {
	s.ListTokens = route.Add(to, x.a, route.Route[TokensInput, body[problem.List[Token]]]{Operation: op("list-tokens",
		http.MethodGet, "/tokens", "List API tokens"), Allow: x.known, Method: x.tokens})
	create := person(op("create-token", http.MethodPost, "/tokens", "Create an API token"))
	create.DefaultStatus = http.StatusCreated
	route.Add(to, x.a, route.Route[createTokenInput, body[Token]]{Operation: create, Allow: x.lasting,
		Method: x.createToken, About: func(in *createTokenInput) (string, string) { return "", in.Body.Name }})
	revoke := op("delete-token", http.MethodDelete, "/tokens/{token}", "Revoke an API token")
	revoke.Description = "A session revokes the API tokens of its user, that of an administrator also those of " +
		"others; an API token only itself."
	route.Add(to, x.a, route.Route[tokenInput, none]{Operation: revoke, Allow: x.revokes, Method: x.deleteToken,
		About: func(in *tokenInput) (string, string) { return "", in.Token }})
}

func op(id, method, path, text string) huma.Operation {
	return huma.Operation{OperationID: id, Method: method, Path: Base + path, Summary: text, Tags: []string{"users"}}
}

// person is an operation that an API token is refused.
func person(o huma.Operation) huma.Operation {
	o.Security = bySession()
	return o
}

// open adds a route for everybody, without an entry in the audit log: its method writes down what it does.
func open[I, O any](
	to huma.API, x *api, o huma.Operation, do func(context.Context, access.Grant, *I) (*O, error),
) *route.Route[I, O] {
	o.Security = []map[string][]string{}
	return route.Add(to, x.a, route.Route[I, O]{Operation: o, Method: do, Audit: route.None,
		Allow: func(ctx context.Context, _ route.Path) (access.Grant, error) { return access.Anybody(ctx), nil }})
}

// administered adds a route for administrators. A change is recorded with what it is about, and so is one that is
// refused. An API token changes no user: with one that leaked, somebody could create another way in.
func administered[I, O any](
	to huma.API, x *api, o huma.Operation, do func(context.Context, access.Grant, *I) (*O, error),
	target func(*I) string,
) *route.Route[I, O] {
	r := route.Route[I, O]{Operation: o, Method: do,
		Allow: func(ctx context.Context, _ route.Path) (access.Grant, error) {
			return x.administers(ctx, o.Method != http.MethodGet)
		}}
	if target != nil {
		r.About = func(in *I) (string, string) { return "", target(in) }
	}
	return route.Add(to, x.a, r)
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

// known allows who is known still. Routes that need no role ask nothing else.
func (x *api) known(ctx context.Context, _ route.Path) (access.Grant, error) {
	return access.Known(ctx, x.a)
}

// person allows who has logged in: an API token must not make itself another one.
func (x *api) person(ctx context.Context, path route.Path) (access.Grant, error) {
	g, err := x.known(ctx, path)
	if err == nil && g.Token() != "" {
		err = event.NewFault(event.ClassAuth, "account.session-only", nil)
	}
	return g, err
}

// lasting allows who has logged in and has a role: who has to change the password cannot avoid it with an API token.
func (x *api) lasting(ctx context.Context, path route.Path) (access.Grant, error) {
	g, err := x.person(ctx, path)
	if err == nil {
		_, err = x.a.RoleOf(ctx, g.Caller(), "")
	}
	return g, err
}

// revokes checks the access to revoke the API token of the path. A token cannot revoke others.
func (x *api) revokes(ctx context.Context, path route.Path) (access.Grant, error) {
	g, err := x.known(ctx, path)
	if err == nil && g.Token() != "" && g.Token() != path("token") {
		err = event.NewFault(event.ClassAuth, "account.token-self", nil)
	}
	if err == nil {
		_, err = x.a.RoleOf(ctx, g.Caller(), "")
	}
	return g, err
}

// administers refuses callers who are no administrators and, for a change, API tokens.
func (x *api) administers(ctx context.Context, change bool) (access.Grant, error) {
	g, err := access.Allow(ctx, x.a, access.Administer, "")
	if err == nil && change {
		return x.person(ctx, nil)
	}
	return g, err
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

func (x *api) methods(ctx context.Context, _ access.Grant, _ *none) (*body[Methods], error) {
	needed, err := x.a.SetupNeeded(ctx)
	return &body[Methods]{Methods{x.with, needed}}, err
}

// LoginInput contains the credentials of a login.
type LoginInput struct {
	Body struct {
		Name     string `json:"name" maxLength:"256"`
		Password string `json:"password" maxLength:"1024"`
	}
}

func (x *api) login(ctx context.Context, _ access.Grant, in *LoginInput) (*loggedIn, error) {
	return x.loggedIn(x.a.Login(ctx, account.Address(ctx), in.Body.Name, in.Body.Password, account.Sent(ctx).Secret))
}

type setupInput struct {
	Body struct {
		Token    string `json:"token" maxLength:"256" doc:"From the file that the server names when it starts."`
		Name     string `json:"name" maxLength:"256"`
		Password string `json:"password" maxLength:"1024"`
	}
}

func (x *api) setup(ctx context.Context, _ access.Grant, in *setupInput) (*loggedIn, error) {
	return x.loggedIn(x.a.Setup(ctx, account.Address(ctx), in.Body.Token, in.Body.Name, in.Body.Password))
}

type loggedOut struct {
	Cookie string `header:"Set-Cookie"`
}

func (x *api) logout(ctx context.Context, _ access.Grant, _ *none) (*loggedOut, error) {
	return &loggedOut{account.Emptied().String()}, x.a.Logout(ctx, account.Address(ctx), account.Sent(ctx))
}

// Me is who sends a request.
type Me struct {
	User
	Token string `json:"token,omitempty" doc:"The ID of the API token of the request."`
}

func (x *api) me(ctx context.Context, who access.Grant, _ *none) (*body[Me], error) {
	u, err := x.a.ByID(ctx, who.ID())
	return &body[Me]{Me{userOf(u), who.Token()}}, err
}

type passwordInput struct {
	Body struct {
		Old string `json:"old" maxLength:"1024"`
		New string `json:"new" maxLength:"1024"`
		// Tokens is for a user whose password may be known to others.
		Tokens bool `json:"revoke_tokens,omitempty" doc:"All API tokens of the user are revoked, too."`
	}
}

func (x *api) changePassword(ctx context.Context, who access.Grant, in *passwordInput) (*none, error) {
	return nil, x.a.ChangePassword(ctx, who.ID(), in.Body.Old, in.Body.New, account.Sent(ctx), in.Body.Tokens)
}
