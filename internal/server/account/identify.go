package account

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// Cookie is the name of the cookie of a session. A browser takes it over TLS only, and of this host only.
const Cookie = "__Host-eggo"

// fresh is how long what is known of a caller holds. A stream lives longer, and asks again.
const fresh = 10 * time.Second

// known is what a request came with, and who sent it. What is known of the caller changes only by what the database
// has; an error leaves it as it is.
type known struct {
	a       *Accounts
	session string // secret
	bearer  string // secret

	mu      sync.Mutex
	at      time.Time // when the database was asked last
	changes int64     // of the accounts, by then
	until   time.Time // the credential may end then
	user    User
	token   Token
	ended   error // why the credential has ended; it does not hold again
}

type (
	knownKey   struct{}
	addressOf  struct{}
	trailKey   struct{}
	cookieText struct{}
)

// Address is where a request came from, without the port.
func Address(ctx context.Context) string {
	s, _ := ctx.Value(addressOf{}).(string)
	return s
}

// Sent is the session that a request came with, whose user is known or not.
func Sent(ctx context.Context) Session {
	s := Session{}
	s.Secret, _ = ctx.Value(cookieText{}).(string)
	if k, ok := ctx.Value(knownKey{}).(*known); ok {
		k.mu.Lock()
		defer k.mu.Unlock()
		s.User = k.user
	}
	return s
}

// trail is what a request had recorded.
type trail struct {
	mu  sync.Mutex
	ids []int64
}

func (t *trail) add(id int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ids = append(t.ids, id)
}

// answer keeps the status of a response.
type answer struct {
	http.ResponseWriter
	status int
}

func (w *answer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *answer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Identify implements access.Control: an API token in the header Authorization, else a cookie. Requests that another
// site had a browser send are refused.
func (a *Accounts) Identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if forged(a.forged, r) {
			problem.Write(w, r, event.NewFault(event.ClassAuth, "account.forged", nil))
			return
		}
		address, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			address = r.RemoteAddr
		}
		ctx := withBrowser(context.WithValue(r.Context(), addressOf{}, address), r)
		ctx, err = a.identified(ctx, w, r, address)
		if err != nil {
			if event.AsFault(err).Code == "account.token" {
				w.Header().Set("WWW-Authenticate", `Bearer realm="eggo", error="invalid_token"`)
			}
			problem.Write(w, r, err)
			return
		}
		who, _ := access.From(ctx)
		if err := a.failed.check(who); err != nil {
			problem.Write(w, r, err)
			return
		}
		seen := &answer{ResponseWriter: w}
		ctx, over := a.Trail(ctx)
		defer func() {
			status := seen.status
			if status == 0 {
				status = http.StatusOK
			}
			over(status)
		}()
		next.ServeHTTP(seen, r.WithContext(ctx))
	})
}

// Trail gives a context in which what is recorded gets a result: the HTTP status that over is called with. The caller
// may be gone by then, and the result counts all the same; an entry without one says that nobody knows.
func (a *Accounts) Trail(ctx context.Context) (with context.Context, over func(status int)) {
	t := &trail{}
	return context.WithValue(ctx, trailKey{}, t), func(status int) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if who, known := access.From(ctx); known && status >= 400 && status < 500 {
			a.failed.add(who, len(t.ids))
		}
		_ = a.answered(context.WithoutCancel(ctx), t.ids, status)
	}
}

func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// forged says whether another site made a browser send a request that changes something, or that opens a WebSocket,
// which browsers allow for every site.
func forged(by *http.CrossOriginProtection, r *http.Request) bool {
	if r.Header.Get("Upgrade") != "" && safe(r.Method) {
		r = r.Clone(r.Context())
		r.Method = http.MethodPost
	}
	return by.Check(r) != nil
}

// identified adds the caller to a context. A cookie whose session has ended is none: with it, too, one can log in.
func (a *Accounts) identified(ctx context.Context, w http.ResponseWriter, r *http.Request,
	address string) (context.Context, error) {
	k := &known{a: a}
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, text, _ := strings.Cut(header, " ")
		if strings.EqualFold(scheme, "Bearer") {
			k.bearer = strings.TrimSpace(text)
		}
		if err := k.load(ctx); err != nil {
			if locked := a.wrongToken(err, address); locked != nil {
				return nil, locked
			}
			return nil, err
		}
	} else if c, err := r.Cookie(Cookie); err == nil && c.Value != "" {
		ctx = context.WithValue(ctx, cookieText{}, c.Value)
		k.session = c.Value
		err := k.load(ctx)
		if f := (*event.Fault)(nil); errors.As(err, &f) && f.Code == "account.ended" {
			http.SetCookie(w, Emptied())
			return ctx, nil
		}
		if err != nil {
			return nil, err
		}
	} else {
		return ctx, nil
	}
	ctx = context.WithValue(ctx, knownKey{}, k)
	return access.With(ctx, access.Caller{ID: k.user.ID, Name: k.user.Name, Token: k.token.ID}), nil
}

// wrongToken counts a token that is wrong. One that is right is accepted all the same: nobody can guess it, and a
// script with an old one must not lock out others at its address.
func (a *Accounts) wrongToken(err error, address string) error {
	if event.AsFault(err).Code != "account.token" {
		return nil
	}
	return a.tokens.attempt(addressKey(address))
}

// asked reads who the caller is, as it is now. The caller of a credential that has ended stays refused: an answer that
// does not reach the client must not be the only one. It is called with mu held.
func (k *known) asked(ctx context.Context) error {
	if k.ended != nil {
		return k.ended
	}
	changes := k.a.changes.Load() // before the database is read: a later change is read by the next one who asks
	now, found, code := k.a.now(), holder{}, "account.ended"
	var err error
	if k.session != "" {
		found, err = k.a.session(ctx, k.session, k.at.IsZero())
	} else {
		code = "account.token"
		found, err = k.a.token(ctx, k.bearer)
	}
	if err == nil && !found.holds {
		err = event.NewFault(event.ClassAuth, code, nil)
	}
	if f := (*event.Fault)(nil); errors.As(err, &f) && f.Class == event.ClassAuth {
		k.ended = err
	}
	if err != nil {
		return err
	}
	k.at, k.changes, k.until, k.user, k.token = now, changes, found.until, found.user, found.token
	return nil
}

// load is asked for one who does not hold mu.
func (k *known) load(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.asked(ctx)
}

// Recheck implements access.Control.
func (a *Accounts) Recheck(ctx context.Context) error {
	if k, ok := ctx.Value(knownKey{}).(*known); ok {
		return k.load(ctx)
	}
	return nil
}

// RoleOf implements access.Control. The caller of a request has the role that its credential leaves, and none when the
// credential has ended. Only where no request was identified, the role is that of the user.
func (a *Accounts) RoleOf(ctx context.Context, c access.Caller, cluster string) (access.Role, error) {
	if k, ok := ctx.Value(knownKey{}).(*known); ok {
		return k.roleOf(ctx, c, cluster)
	}
	return a.role(ctx, c, cluster)
}

// roleOf asks the database again when what is known is old, or may have changed since.
func (k *known) roleOf(ctx context.Context, c access.Caller, cluster string) (access.Role, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.a.now()
	if k.ended != nil || now.Sub(k.at) > fresh || !now.Before(k.until) || k.changes != k.a.changes.Load() {
		if err := k.asked(ctx); err != nil {
			return access.None, err
		}
	}
	if c.ID != k.user.ID || c.Token != k.token.ID { // a request has the rights of its own caller alone
		return access.None, nil
	}
	if k.token.ID != "" {
		return k.token.On(k.user, cluster), nil
	}
	if k.user.Reset {
		return access.None, event.NewFault(event.ClassAuth, "account.reset", nil)
	}
	return k.user.On(cluster), nil
}

// role is that of a user without a request. What an API token leaves of it only its request can say.
func (a *Accounts) role(ctx context.Context, c access.Caller, cluster string) (access.Role, error) {
	if c.Token != "" {
		return access.None, nil
	}
	u, err := a.ByID(ctx, c.ID)
	if err != nil && event.AsFault(err).Code == "account.unknown" || u.Disabled {
		return access.None, nil
	}
	return u.On(cluster), err
}

// CookieOf is the cookie of a session.
func (a *Accounts) CookieOf(s Session) *http.Cookie {
	c := Emptied()
	c.Value, c.MaxAge = s.Secret, int(a.life.Seconds())
	return c
}

// Emptied is a cookie that has a browser forget the session.
func Emptied() *http.Cookie {
	return &http.Cookie{Name: Cookie, Path: "/", MaxAge: -1, Secure: true, HttpOnly: true,
		SameSite: http.SameSiteStrictMode}
}
