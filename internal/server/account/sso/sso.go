// Package sso logs users in with an identity provider: OpenID Connect, authorization code with PKCE. The provider's
// groups decide about roles. It imports access, account, event and problem.
package sso

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// CallbackPath is where the provider sends browsers back to.
const CallbackPath = "/api/v1/login/sso/callback"

// BeginPath is where a login begins.
const BeginPath = "/api/v1/login/sso"

const (
	patience = 10 * time.Minute // to log in at the provider
	deadline = 15 * time.Second // for the provider's answers
)

// Provider is an identity provider.
type Provider struct {
	c        Config
	accounts *account.Accounts
	now      func() time.Time
	client   *http.Client
	refused  func(w http.ResponseWriter, r *http.Request, err error)
	begun    *begun

	mu    sync.Mutex
	found *oidc.Provider // once it has answered
}

// New gives the provider of a configuration. It is asked at the first login: a server starts without it.
func New(c Config, a *account.Accounts, now func() time.Time) (*Provider, error) {
	for _, g := range c.Groups {
		if g.Since.After(now()) { // it would be about clusters that are deleted later
			return nil, event.NewFault(event.ClassUsage, "sso.config", errors.New("groups: "+g.Group+
				": since is in the future"), "path", c.path)
		}
	}
	tlsConfig := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		text, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, event.NewFault(event.ClassUsage, "sso.config", err, "path", c.CA)
		}
		tlsConfig.RootCAs = x509.NewCertPool()
		if !tlsConfig.RootCAs.AppendCertsFromPEM(text) {
			return nil, event.NewFault(event.ClassUsage, "sso.config", errors.New("no certificate"), "path", c.CA)
		}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = tlsConfig
	b, err := newBegun(now)
	if err != nil {
		return nil, err
	}
	return &Provider{c: c, accounts: a, now: now, begun: b, refused: problem.Write,
		client: &http.Client{Transport: transport, Timeout: deadline}}, nil
}

// Refused has another one say what is wrong with a login, in place of a problem: a person has followed a link.
func (p *Provider) Refused(by func(w http.ResponseWriter, r *http.Request, err error)) {
	p.refused = by
}

func (p *Provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	found := p.found
	p.mu.Unlock()
	if found != nil {
		return found, nil
	}
	found, err := oidc.NewProvider(ctx, p.c.Issuer)
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "sso.unreachable", err, "issuer", p.c.Issuer)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found = found
	return found, nil
}

func (p *Provider) oauth(found *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{ClientID: p.c.ClientID, ClientSecret: p.c.ClientSecret, Endpoint: found.Endpoint(),
		RedirectURL: p.c.URL + CallbackPath, Scopes: p.c.Scopes}
}

// Begin sends a browser to the provider.
func (p *Provider) Begin(w http.ResponseWriter, r *http.Request) {
	found, err := p.discover(oidc.ClientContext(r.Context(), p.client))
	if err != nil {
		p.refused(w, r, err)
		return
	}
	l := login{Begun: p.now(), State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(),
		Before: account.Sent(r.Context()).Secret}
	c, err := p.begun.begin(l)
	if err != nil {
		p.refused(w, r, err)
		return
	}
	http.SetCookie(w, c)
	http.Redirect(w, r, p.oauth(found).AuthCodeURL(l.State, oidc.Nonce(l.Nonce),
		oauth2.S256ChallengeOption(l.Verifier)), http.StatusSeeOther)
}

// Callback ends a login: the browser comes back from the provider.
func (p *Provider) Callback(w http.ResponseWriter, r *http.Request) {
	ctx := oidc.ClientContext(r.Context(), p.client)
	http.SetCookie(w, cookieOf("", -1))
	l, ok := p.begun.back(r)
	if !ok {
		p.refused(w, r, event.NewFault(event.ClassAuth, "sso.state", nil))
		return
	}
	identity, err := p.identity(ctx, l, r)
	if err == nil && !p.begun.end(l) {
		err = event.NewFault(event.ClassAuth, "sso.state", nil)
	}
	if err != nil {
		p.refused(w, r, err)
		return
	}
	s, err := p.accounts.LoginProvider(ctx, account.Address(ctx), identity, l.Before)
	if err != nil {
		p.refused(w, r, err)
		return
	}
	http.SetCookie(w, p.accounts.CookieOf(s))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, ahead) // who does not read it is gone
}

// ahead leads to the page of the server. A redirect would not do: it would still be the provider that leads there, and
// to what another site leads to no browser sends a cookie with SameSite=Strict, so that the user would have to log in
// again.
const ahead = `<!doctype html><title>Eggo</title><meta http-equiv="refresh" content="0;url=/"><a href="/">Eggo</a>
`

// identity is who the provider says that it is.
func (p *Provider) identity(ctx context.Context, l login, r *http.Request) (account.Identity, error) {
	if said := r.FormValue("error"); said != "" {
		if more := r.FormValue("error_description"); more != "" {
			said += ": " + more
		}
		return account.Identity{}, event.NewFault(event.ClassAuth, "sso.refused", errors.New(said))
	}
	found, err := p.discover(ctx)
	if err != nil {
		return account.Identity{}, err
	}
	fail := func(err error) (account.Identity, error) {
		return account.Identity{}, event.NewFault(event.ClassAuth, "sso.token", err)
	}
	answer, err := p.oauth(found).Exchange(ctx, r.FormValue("code"), oauth2.VerifierOption(l.Verifier))
	if away := (*url.Error)(nil); errors.As(err, &away) {
		return account.Identity{}, event.NewFault(event.ClassFailed, "sso.unreachable", err, "issuer", p.c.Issuer)
	}
	if err != nil {
		return fail(exchangeError(err))
	}
	raw, ok := answer.Extra("id_token").(string)
	if !ok {
		return fail(errors.New("no ID token"))
	}
	token, err := found.Verifier(&oidc.Config{ClientID: p.c.ClientID, Now: p.now}).Verify(ctx, raw)
	if err != nil {
		return fail(err)
	}
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(l.Nonce)) != 1 {
		return fail(errors.New("the nonce is another one"))
	}
	claims := map[string]any{}
	if err := token.Claims(&claims); err != nil {
		return fail(err)
	}
	if claims[p.c.NameClaim] == nil || claims[p.c.GroupsClaim] == nil { // some providers have them only there
		info, err := found.UserInfo(ctx, oauth2.StaticTokenSource(answer))
		if err == nil && info.Subject == token.Subject {
			more := map[string]any{}
			if err := info.Claims(&more); err == nil {
				for _, k := range []string{p.c.NameClaim, p.c.GroupsClaim} {
					if claims[k] == nil {
						claims[k] = more[k]
					}
				}
			}
		}
	}
	return p.c.identity(token.Issuer, token.Subject, claims)
}

// exchangeError has no more of the provider's answer than its code: a body may have secrets.
func exchangeError(err error) error {
	var e *oauth2.RetrieveError
	if errors.As(err, &e) {
		return errors.New("the provider answers " + e.Response.Status + " " + e.ErrorCode)
	}
	return err
}
