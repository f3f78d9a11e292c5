// Package access defines the identity and the rights of a caller, as the routes of a server check them. Package account
// implements it; tests have fakes. It imports only event.
package access

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Action is what a route does, as rights see it.
type Action string

// The actions.
const (
	// Authenticated requires a logged-in caller. The content of the answer depends on the caller's roles.
	Authenticated Action = "enter"
	// View reads what the server has of a cluster; nothing secret is in it.
	View Action = "view"
	// Operate begins, cancels and continues runs of a cluster, and decides about failures.
	Operate Action = "operate"
	// Administer creates, imports and deletes clusters, reads the administrator's kubeconfig, and manages users.
	Administer Action = "administer"
)

// Role is what somebody is on a cluster, or on all of them.
type Role string

// The roles. Each may do what those before it may.
const (
	None     Role = ""
	Viewer   Role = "viewer"
	Operator Role = "operator"
	Admin    Role = "admin"
)

// May says whether somebody with the role may do something.
func (r Role) May(a Action) bool {
	switch a {
	case Authenticated:
		return true
	case View:
		return r == Viewer || r == Operator || r == Admin
	case Operate:
		return r == Operator || r == Admin
	case Administer:
		return r == Admin
	}
	return false
}

// Caller is who sent a request.
type Caller struct {
	ID   string // stable
	Name string // shown to people, and the user name in kubeconfigs
	// Token is the ID of the API token that the request came with, "" if it came with none.
	Token string
}

// Control decides who may do what. Its methods may be called by many at once.
type Control interface {
	// Identify adds the caller of a request to its context (With). A request without credentials has none, and routes
	// refuse it; wrong credentials, a forged request of a browser, and too many attempts are refused here.
	Identify(next http.Handler) http.Handler
	// RoleOf is what the caller of a request is on a cluster; for the cluster "" it is what the caller is on all of
	// them. It is an error each time, once the credential of the request has ended.
	RoleOf(ctx context.Context, c Caller, cluster string) (Role, error)
	// Recheck looks up the credential of a request again, after what took time, such as reading a body. The error
	// refuses the request: its credential has ended, and does not hold again. A request without a caller has nothing
	// that can end.
	Recheck(ctx context.Context) error
	// Record writes down what was changed. An error refuses the change: nothing is done that nobody can account for.
	Record(ctx context.Context, e Entry) error
}

// Entry is what was asked for, as it is written down. It holds no secret.
type Entry struct {
	At      time.Time
	Caller  Caller
	Address string // where the request came from; "": as the Control knows
	Action  string // the operation of the API, such as update-cluster
	Cluster string
	Target  string // what else it is about: a run, a user, …
}

type callerKey struct{}

// With gives a context with the caller of a request.
func With(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// From is the caller in a context.
func From(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}

// Check refuses the caller of a context who may not do something on a cluster, and gives him otherwise. Who may not
// even look at the cluster is told that there is none.
func Check(ctx context.Context, by Control, a Action, cluster string) (Caller, error) {
	c, ok := From(ctx)
	if !ok {
		return Caller{}, event.NewFault(event.ClassAuth, "access.unauthenticated", nil)
	}
	role, err := by.RoleOf(ctx, c, cluster)
	switch {
	case err != nil:
		return Caller{}, err
	case role.May(a):
		return c, nil
	case cluster != "" && !role.May(View):
		return Caller{}, Unknown(cluster)
	}
	return Caller{}, event.NewFault(event.ClassAuth, "access.denied", nil, "user", c.Name, "action", string(a))
}

// Grant is the result of a check: its caller may do what was checked. Only Allow, Known and Anybody make one, and each
// method of a service takes one.
type Grant struct{ caller Caller }

// Caller returns the caller that has the grant; that of Anybody is empty.
func (g Grant) Caller() Caller { return g.caller }

// ID returns the ID of the caller.
func (g Grant) ID() string { return g.caller.ID }

// Name returns the name of the caller.
func (g Grant) Name() string { return g.caller.Name }

// Token returns the ID of the API token that the request came with, "" if it came with none.
func (g Grant) Token() string { return g.caller.Token }

// Allow checks as Check does, and returns a grant.
func Allow(ctx context.Context, by Control, a Action, cluster string) (Grant, error) {
	c, err := Check(ctx, by, a, cluster)
	if err != nil {
		return Grant{}, err
	}
	return Grant{c}, nil
}

// Known refuses a request without a caller, and one whose credential has ended. It is for what needs no role.
func Known(ctx context.Context, by Control) (Grant, error) {
	c, ok := From(ctx)
	if !ok {
		return Grant{}, event.NewFault(event.ClassAuth, "access.unauthenticated", nil)
	}
	if err := by.Recheck(ctx); err != nil {
		return Grant{}, err
	}
	return Grant{c}, nil
}

// Anybody returns a grant of what everybody may do, such as to log in.
func Anybody(context.Context) Grant { return Grant{} }

// Unknown is the fault of a cluster that there is not.
func Unknown(cluster string) error {
	return event.NewFault(event.ClassUsage, "manager.unknown", nil, "cluster", cluster)
}

// Network returns the same text for all addresses that one machine can choose from: those of an IPv6 network /64. A
// text that is no address is returned as it is.
func Network(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	a = a.Unmap().WithZone("")
	if p, err := a.Prefix(64); err == nil && a.Is6() {
		return p.String()
	}
	return a.String()
}
