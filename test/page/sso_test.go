package page_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"

	"github.com/eggo-k8s/eggo/internal/server/account/sso"
	"github.com/eggo-k8s/eggo/internal/server/listen"
	"github.com/eggo-k8s/eggo/test/page/site"
)

// onlySue is the directory of a provider.
type onlySue struct{ *storage.User }

func (a onlySue) GetUserByID(string) *storage.User       { return a.User }
func (a onlySue) GetUserByUsername(string) *storage.User { return a.User }
func (a onlySue) ExampleClientID() string                { return "other" }

// grouped has the user in a group, which may change.
type grouped struct {
	*storage.Storage
	group *atomic.Value
}

func (g grouped) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, id, subject, origin string) error {
	err := g.Storage.SetUserinfoFromToken(ctx, info, id, subject, origin)
	info.AppendClaims("groups", []any{g.group.Load()})
	return err
}

// withProvider is a server that logs in with a provider. Browsers reach it by a name that makes it another site than
// the provider.
func withProvider(t *testing.T, s *site.Site) (url string, group *atomic.Value) {
	t.Helper()
	group = &atomic.Value{}
	group.Store("ops")
	var op, api http.Handler
	provider := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op.ServeHTTP(w, r)
	}))
	t.Cleanup(provider.Close)
	web := httptest.NewUnstartedServer(nil)
	web.Config = listen.Server(t.Context(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(w, r)
	}), listen.Usual(), slog.New(slog.DiscardHandler))
	web.StartTLS()
	t.Cleanup(web.Close)
	url = strings.Replace(web.URL, "127.0.0.1", "localhost", 1)
	kept := storage.NewStorageWithClients(onlySue{&storage.User{ID: "sue", Username: "sue", Password: "sue"}},
		map[string]*storage.Client{"eggo": storage.WebClient("eggo", "a client's secret", url+sso.CallbackPath)})
	op = exampleop.SetupServer(provider.URL, grouped{kept, group}, slog.New(slog.DiscardHandler), true)
	dir := t.TempDir()
	ca, file := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "sso.yaml")
	text := fmt.Sprintf("issuer: %s\nclient-id: eggo\nclient-secret: a client's secret\nurl: %s\nca: %s\ngroups:\n"+
		"- {group: ops, role: viewer}\n", provider.URL, url, ca)
	for path, text := range map[string]string{file: text, ca: string(pem.EncodeToMemory(&pem.Block{
		Type: "CERTIFICATE", Bytes: provider.Certificate().Raw}))} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := sso.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := sso.New(c, s.Accounts, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	p.Refused(s.Page.Refused)
	mux := http.NewServeMux()
	mux.Handle("GET "+sso.BeginPath, s.Accounts.Identify(http.HandlerFunc(p.Begin)))
	mux.Handle("GET "+sso.CallbackPath, s.Accounts.Identify(http.HandlerFunc(p.Callback)))
	mux.Handle("/", s.Handler)
	api = mux
	return url, group
}
