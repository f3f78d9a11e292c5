package routes

import (
	"context"
	"strconv"
	"time"

	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

func listOf[F, T any](from []F, limit int, of func(F) T, key func(F) string) *body[problem.List[T]] {
	out := problem.List[T]{Items: []T{}}
	for i, f := range from {
		if i == limit {
			out.Next = key(from[i-1])
			break
		}
		out.Items = append(out.Items, of(f))
	}
	return &body[problem.List[T]]{out}
}

func (x *api) users(ctx context.Context, _ access.Grant, in *problem.Page) (*body[problem.List[User]], error) {
	list, err := x.a.Users(ctx, in.After, in.Limit+1)
	return listOf(list, in.Limit, userOf, func(u account.User) string { return u.Name }), err
}

// UserPath names a user.
type UserPath struct {
	User string `path:"user" maxLength:"256" doc:"Name or ID."`
}

type createUserInput struct {
	Body struct {
		Name     string            `json:"name" maxLength:"256"`
		Password string            `json:"password" maxLength:"1024"`
		Role     string            `json:"role,omitempty" enum:",viewer,operator,admin"`
		Clusters map[string]string `json:"clusters,omitempty" maxProperties:"1000"`
		Reset    bool              `json:"reset,omitempty" doc:"The user has to change the password first."`
	}
}

func (x *api) createUser(ctx context.Context, _ access.Grant, in *createUserInput) (*body[User], error) {
	if err := x.onClusters(in.Body.Clusters); err != nil {
		return nil, err
	}
	u, err := x.a.Create(ctx, account.New{Name: in.Body.Name, Password: in.Body.Password,
		Role: access.Role(in.Body.Role), Grants: grantsOf(in.Body.Clusters), Reset: in.Body.Reset})
	return &body[User]{userOf(u)}, err
}

func (x *api) user(ctx context.Context, _ access.Grant, in *UserPath) (*body[User], error) {
	u, err := x.a.Find(ctx, in.User)
	return &body[User]{userOf(u)}, err
}

type updateUserInput struct {
	UserPath
	Body struct {
		Role     *string            `json:"role,omitempty" enum:",viewer,operator,admin"`
		Clusters *map[string]string `json:"clusters,omitempty" doc:"All roles on single clusters."`
		Disabled *bool              `json:"disabled,omitempty"`
	}
}

func (x *api) updateUser(ctx context.Context, _ access.Grant, in *updateUserInput) (*body[User], error) {
	c := account.Change{Disabled: in.Body.Disabled}
	if in.Body.Role != nil {
		role := access.Role(*in.Body.Role)
		c.Role = &role
	}
	if in.Body.Clusters != nil {
		if err := x.onClusters(*in.Body.Clusters); err != nil {
			return nil, err
		}
		grants := grantsOf(*in.Body.Clusters)
		c.Grants = &grants
	}
	u, err := x.a.Change(ctx, in.User, c)
	return &body[User]{userOf(u)}, err
}

func (x *api) deleteUser(ctx context.Context, _ access.Grant, in *UserPath) (*none, error) {
	return nil, x.a.Delete(ctx, in.User)
}

type resetInput struct {
	UserPath
	Body struct {
		Password string `json:"password" maxLength:"1024"`
	}
}

func (x *api) resetPassword(ctx context.Context, _ access.Grant, in *resetInput) (*none, error) {
	return nil, x.a.Reset(ctx, in.User, in.Body.Password)
}

// Token is an API token as the API shows one.
type Token struct {
	ID      string    `json:"id"`
	User    string    `json:"user"`
	Name    string    `json:"name"`
	Role    string    `json:"role" doc:"At most; the role of the user counts, too."`
	Cluster string    `json:"cluster,omitempty" doc:"The only cluster that it is for."`
	Created time.Time `json:"created"`
	Ends    time.Time `json:"ends"`
	Token   string    `json:"token,omitempty" doc:"The token itself. It is shown once."`
}

func tokenOf(t account.Token) Token {
	return Token{ID: t.ID, User: t.User, Name: t.Name, Role: string(t.Role), Cluster: t.Cluster, Created: t.Created,
		Ends: t.Ends}
}

// TokensInput selects API tokens.
type TokensInput struct {
	problem.Page
	All bool `query:"all" doc:"Those of all users, for administrators."`
}

func (x *api) tokens(ctx context.Context, who access.Grant, in *TokensInput) (*body[problem.List[Token]], error) {
	owner := who.ID()
	if in.All {
		if _, err := x.administers(ctx, false); err != nil {
			return nil, err
		}
		owner = ""
	}
	list, err := x.a.Tokens(ctx, owner, in.After, in.Limit+1)
	return listOf(list, in.Limit, tokenOf, func(t account.Token) string { return t.ID }), err
}

type createTokenInput struct {
	Body struct {
		Name    string    `json:"name" maxLength:"64" doc:"What it is for."`
		Role    string    `json:"role" enum:"viewer,operator,admin"`
		Cluster string    `json:"cluster,omitempty" maxLength:"253"`
		Ends    time.Time `json:"ends"`
	}
}

func (x *api) createToken(ctx context.Context, who access.Grant, in *createTokenInput) (*body[Token], error) {
	if err := x.onCluster(ctx, who.Caller(), in.Body.Cluster); err != nil {
		return nil, err
	}
	t, text, err := x.a.NewToken(ctx, who.ID(), account.Token{Name: in.Body.Name, Role: access.Role(in.Body.Role),
		Cluster: in.Body.Cluster, Ends: in.Body.Ends})
	out := tokenOf(t)
	out.Token = text
	return &body[Token]{out}, err
}

type tokenInput struct {
	Token string `path:"token" maxLength:"64" doc:"ID."`
}

func (x *api) deleteToken(ctx context.Context, who access.Grant, in *tokenInput) (*none, error) {
	owner := who.ID()
	role, err := x.a.RoleOf(ctx, who.Caller(), "")
	if err != nil {
		return nil, err
	}
	if role.May(access.Administer) {
		owner = ""
	}
	return nil, x.a.DeleteToken(ctx, in.Token, owner)
}

// Audited is an entry of the audit log.
type Audited struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	User    string    `json:"user"`
	Token   string    `json:"token,omitempty"`
	Address string    `json:"address"`
	Action  string    `json:"action" doc:"The ID of the operation."`
	Cluster string    `json:"cluster,omitempty"`
	Target  string    `json:"target,omitempty"`
	Result  string    `json:"result,omitempty" doc:"ok, failed or an HTTP status; empty if it is unknown."`
	Repeats *Repeats  `json:"repeats,omitempty" doc:"Later requests of the user that were refused in the same way, within an hour. They have no entries of their own."`
}

// Repeats are requests that an entry of the audit log counts.
type Repeats struct {
	Count  int       `json:"count"`
	Last   time.Time `json:"last" doc:"When the last of them came."`
	Others bool      `json:"others,omitempty" doc:"Some were about another cluster or target, or came from another address or with another API token."`
}

// repeatsOf are the repetitions as the API shows them.
func repeatsOf(r *account.Repeats) *Repeats {
	if r == nil {
		return nil
	}
	return &Repeats{r.Count, r.Last, r.Others}
}

// AuditInput selects entries of the audit log.
type AuditInput struct {
	problem.Page
	User    string    `query:"user" maxLength:"256"`
	Cluster string    `query:"cluster" maxLength:"253"`
	Action  string    `query:"action" maxLength:"64"`
	Since   time.Time `query:"since"`
	Until   time.Time `query:"until"`
}

func (x *api) audit(ctx context.Context, _ access.Grant, in *AuditInput) (*body[problem.List[Audited]], error) {
	before, err := strconv.ParseInt(in.After, 10, 64)
	if err != nil {
		before = 0 // the first page
	}
	list, err := x.a.Audit(ctx, account.Filter{User: in.User, Cluster: in.Cluster, Action: in.Action, Since: in.Since,
		Until: in.Until, Before: before}, in.Limit+1)
	id := func(e account.Audited) string { return strconv.FormatInt(e.ID, 10) }
	return listOf(list, in.Limit, func(e account.Audited) Audited {
		return Audited{ID: id(e), At: e.Entry.At, User: e.Entry.Caller.Name, Token: e.Entry.Caller.Token,
			Address: e.Entry.Address, Action: e.Entry.Action, Cluster: e.Entry.Cluster, Target: e.Entry.Target,
			Result: e.Result, Repeats: repeatsOf(e.Repeats)}
	}, id), err
}
