package main

import (
	"context"
	"net/http"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/account/sso"
	"github.com/eggo-k8s/eggo/internal/server/page"
)

// provider is the identity provider of a configuration file; nil: there is none. What does not count in the file is
// logged.
func provider(
	ctx context.Context, file string, a *account.Accounts, log func(event.Msg),
) (*sso.Provider, error) {
	if file == "" {
		return nil, nil
	}
	c, err := sso.Load(file)
	if err != nil {
		return nil, err
	}
	gone, err := c.Lapsed(ctx, a)
	if err != nil {
		return nil, err
	}
	for _, m := range gone {
		log(m)
	}
	return sso.New(c, a, time.Now)
}

// withProvider adds the routes of logins with a provider, which browsers follow as links, to those of the API. What is
// wrong with a login is said on a page.
func withProvider(p *sso.Provider, a *account.Accounts, site *page.Page, api http.Handler) http.Handler {
	if p == nil {
		return api
	}
	p.Refused(site.Refused)
	mux := http.NewServeMux()
	mux.Handle("GET "+sso.BeginPath, a.Identify(http.HandlerFunc(p.Begin)))
	mux.Handle("GET "+sso.CallbackPath, a.Identify(http.HandlerFunc(p.Callback)))
	mux.Handle("/", api)
	return mux
}
