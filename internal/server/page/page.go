// Package page is the web page of a server: what the API and the logs of runs have, drawn as HTML in the language of
// the reader. It calls the methods of the API in the same process: rights are checked there, and nothing is shown
// that they do not give. The logs are reduced by run/state and said by i18n, as on a terminal; the scripts of the page
// only put in place what they are sent.
package page

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"html/template"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/server"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/account/routes"
	"github.com/eggo-k8s/eggo/internal/server/manager/clusterspec"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

//go:embed all:templates static
var files embed.FS

// Log is the log of a run, read from its beginning. Next gives io.EOF when there are no more records for now.
type Log interface {
	Next() (event.Record, error)
	// Alive says whether more may come.
	Alive() bool
	Close()
}

// Options of a page.
type Options struct {
	// Open opens the log of a run.
	Open func(ctx context.Context, cluster, run string) (Log, error)
	// Usual is how long steps took in earlier runs; nil: nobody knows.
	Usual  func(ctx context.Context, cluster, run string) state.History
	Access *account.Accounts
	// Users are the methods about users. They have to be there before Handler is called.
	Users *routes.Service
	Rules clusterspec.Rules
	// Bundles is the directory of bundles, for people to read.
	Bundles string
	// Dir is where the files of a new cluster will be.
	Dir     func(cluster string) string
	Version string
	Now     func() time.Time
}

// Page has the routes.
type Page struct {
	Options
	api    *server.Service
	pages  map[i18n.Lang]map[string]*template.Template
	static map[string]asset
	hubs   hubs
}

// asset is a file of the page, with the address that it has as long as it does not change.
type asset struct {
	kind      string
	text, zip []byte
	path      string
}

// New reads the files of the page.
func New(o Options) (*Page, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &Page{Options: o, static: map[string]asset{}}
	p.hubs.page = p
	err := p.readStatic()
	if err == nil {
		p.pages, err = p.parse()
	}
	return p, err
}

// Handler answers the requests of browsers by the methods of a service. Requests have their caller (access.From).
func (p *Page) Handler(api *server.Service) http.Handler {
	p.api = api
	return p.routes()
}

// readStatic reads the files of the page, and packs them once. They have one directory, so that they find each other.
func (p *Page) readStatic() error {
	list, err := fs.Glob(files, "static/*")
	if err != nil {
		return err
	}
	sum := sha256.New()
	for _, name := range list {
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		sum.Write(text)
		packed, err := zipped(text, gzip.BestCompression)
		if err != nil {
			return err
		}
		p.static[path.Base(name)] = asset{kind: mime.TypeByExtension(path.Ext(name)), text: text, zip: packed}
	}
	dir := "/static/" + hex.EncodeToString(sum.Sum(nil)[:6]) + "/"
	for base, a := range p.static {
		a.path = dir + base
		p.static[base] = a
	}
	return nil
}

// routes are those of the page.
func (p *Page) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, h := range p.patterns() {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, h) })
	}
	mux.HandleFunc("GET /static/{sum}/{file}", p.asset)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		p.serve(w, r, func(v *visit) error {
			return event.NewFault(event.ClassUsage, "api.no-route", nil, "path", v.r.URL.Path)
		})
	})
	return mux
}

// Routes are the patterns of the page, without its files.
func (p *Page) Routes() []string { return slices.Sorted(maps.Keys(p.patterns())) }

// patterns are the addresses of the page.
func (p *Page) patterns() map[string]func(*visit) error {
	return map[string]func(*visit) error{
		"GET /{$}":                                         p.clusters,
		"GET /live":                                        p.clustersLive,
		"GET /new":                                         p.opened(p.creation()),
		"POST /new":                                        p.sent(p.creation()),
		"POST /new/draft":                                  p.drafted(p.creation()),
		"POST /new/check":                                  p.looked(p.creation()),
		"GET /clusters/{cluster}":                          p.cluster,
		"GET /clusters/{cluster}/live":                     p.clusterLive,
		"GET /clusters/{cluster}/nodes":                    p.opened(p.changing()),
		"POST /clusters/{cluster}/nodes/draft":             p.drafted(p.changing()),
		"POST /clusters/{cluster}/nodes/plan":              p.looked(p.changing()),
		"POST /clusters/{cluster}/nodes":                   p.sent(p.changing()),
		"GET /clusters/{cluster}/certificates":             p.certificates,
		"GET /clusters/{cluster}/status":                   p.status,
		"GET /clusters/{cluster}/health":                   p.history,
		"POST /clusters/{cluster}/certificates":            p.certificates,
		"POST /clusters/{cluster}/status":                  p.status,
		"POST /clusters/{cluster}/backups/{backup}/verify": p.verified,
		"GET " + restorePath:                               p.opened(p.restoring()),
		"POST " + restorePath:                              p.sent(p.restoring()),
		"POST " + restorePath + "/draft":                   p.drafted(p.restoring()),
		"GET " + upgradePath:                               p.opened(p.upgrading()),
		"POST " + upgradePath:                              p.sent(p.upgrading()),
		"POST " + upgradePath + "/draft":                   p.drafted(p.upgrading()),
		"POST /login":                                      p.loggedIn,
		"GET /import":                                      p.importing,
		"GET /clusters/{cluster}/runs":                     p.runs,
		"GET /clusters/{cluster}/runs/{run}":               p.board,
		"GET /clusters/{cluster}/runs/{run}/live":          p.boardLive,
		"GET /clusters/{cluster}/runs/{run}/log":           p.nodeLog,
		"GET /account":                                     p.account,
		"GET /users":                                       p.users,
		"GET /audit":                                       p.audit,
		"GET /login":                                       p.login,
		"POST " + unscripted: func(*visit) error {
			return event.NewFault(event.ClassUsage, "page.script", nil)
		},
	}
}

// restorePath is where a backup is restored.
const restorePath = "/clusters/{cluster}/backups/{backup}/restore"

// unscripted is where forms go without the script of the page: nothing of them may be done, or stand in an address.
const unscripted = "/unscripted"

// visit is a request of somebody who reads the page.
type visit struct {
	w     http.ResponseWriter
	r     *http.Request
	p     *i18n.Printer
	lang  i18n.Lang
	theme string // light, dark, or "" for what the browser prefers
	by    access.Control
	me    routes.Me
}

// preferences are cookies that no secret is in.
const (
	langCookie  = "eggo_lang"
	themeCookie = "eggo_theme"
)

// serve answers a request: in the language that the reader chose, and to those alone who have logged in.
func (p *Page) serve(w http.ResponseWriter, r *http.Request, do func(*visit) error) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Vary", "Cookie, Accept-Language")
	if prefer(w, r) {
		return
	}
	v := visitOf(w, r)
	v.by = p.Access
	err := p.enter(v)
	if err == nil {
		err = do(v)
	}
	if err != nil {
		p.fail(v, err)
	}
}

// Refused says on a page what is wrong with a request of a browser that is answered elsewhere, and as a problem to
// others.
func (p *Page) Refused(w http.ResponseWriter, r *http.Request, err error) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		problem.Write(w, r, err)
		return
	}
	p.fail(visitOf(w, r), err)
}

// visitOf is a request with what its reader has chosen.
func visitOf(w http.ResponseWriter, r *http.Request) *visit {
	v := &visit{w: w, r: r, lang: problem.Printer(r.Header.Get("Accept-Language")).Lang()}
	if c, err := r.Cookie(langCookie); err == nil && (c.Value == "en" || c.Value == "zh") {
		v.lang = i18n.Lang(c.Value)
	}
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		v.theme = c.Value
	}
	v.p = i18n.NewPrinter(v.lang)
	v.r = r.WithContext(problem.Speaking(r.Context(), string(v.lang)))
	return v
}

// prefer keeps a language or a theme that was chosen, and leads back to the page without the choice.
func prefer(w http.ResponseWriter, r *http.Request) bool {
	q, chosen := r.URL.Query(), false
	for name, c := range map[string]struct {
		cookie string
		values string
	}{"lang": {langCookie, " en zh "}, "theme": {themeCookie, " light dark auto "}} {
		value := q.Get(name)
		if value == "" || !strings.Contains(c.values, " "+value+" ") || r.Method != http.MethodGet {
			continue
		}
		chosen = true
		q.Del(name)
		http.SetCookie(w, &http.Cookie{Name: c.cookie, Value: value, Path: "/", MaxAge: 365 * 24 * 3600,
			SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil, HttpOnly: true})
	}
	if chosen {
		to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/\\"), RawQuery: q.Encode()}
		http.Redirect(w, r, to.String(), http.StatusSeeOther)
	}
	return chosen
}

// errLogin: nobody has logged in.
var errLogin = errors.New("nobody has logged in")

// enter finds out who reads the page. The login page is for all.
func (p *Page) enter(v *visit) error {
	if v.r.URL.Path == "/login" || v.r.URL.Path == unscripted {
		return nil
	}
	if _, known := access.From(v.r.Context()); !known {
		return errLogin
	}
	me, err := p.Users.Me.Call(v.context(), nil)
	if err != nil {
		return err
	}
	v.me = me.Body
	if v.me.Reset && v.r.URL.Path != "/account" {
		http.Redirect(v.w, v.r, "/account", http.StatusSeeOther)
		return errAnswered
	}
	return nil
}

// errAnswered: the answer was sent.
var errAnswered = errors.New("answered")

// fail says what is wrong: on a page, or to a script.
func (p *Page) fail(v *visit, err error) {
	if errors.Is(err, errAnswered) {
		return
	}
	native := v.r.URL.Path == unscripted || v.r.URL.Path == "/login" || v.r.PostForm.Has("do")
	script := v.r.Method != http.MethodGet && !native || strings.HasSuffix(v.r.URL.Path, "/live") ||
		v.r.Header.Get("Accept") == "application/json"
	if errors.Is(err, errLogin) {
		if !script {
			to := "/login"
			if v.r.URL.Path != "/" {
				to += "?next=" + url.QueryEscape(v.r.URL.RequestURI())
			}
			http.Redirect(v.w, v.r, to, http.StatusSeeOther)
			return
		}
		err = event.NewFault(event.ClassAuth, "access.unauthenticated", nil)
	}
	var no *refusal
	if errors.As(err, &no) && script { // with the fields that it is about
		v.w.Header().Set("Content-Type", no.ContentType(""))
		v.w.WriteHeader(no.Status)
		_ = json.NewEncoder(v.w).Encode(no) // who does not read it is gone
		return
	}
	said := problem.Of(v.p, err)
	said.Next = advice(v.p, said.Code, said.Next)
	if script {
		v.r.Header.Set("Accept-Language", string(v.lang))
		problem.Write(v.w, v.r, said)
		return
	}
	p.render(v, said.Status, "error", v.p.T("page.error.title"), said)
}

// asset gives a file. Its address changes with it, so that browsers keep it.
func (p *Page) asset(w http.ResponseWriter, r *http.Request) {
	a, known := p.static[r.PathValue("file")]
	if !known || a.path != r.URL.Path {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("Vary", "Accept-Encoding")
	if unpacks(r) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(a.zip)
		return
	}
	_, _ = w.Write(a.text)
}

func unpacks(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") }

// pack packs a text for a browser that can unpack it; nil: it cannot.
func pack(r *http.Request, text []byte) []byte {
	if !unpacks(r) {
		return nil
	}
	packed, err := zipped(text, gzip.DefaultCompression)
	if err != nil {
		return nil
	}
	return packed
}

func zipped(text []byte, level int) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, level)
	if err == nil {
		_, err = z.Write(text)
	}
	if err == nil {
		err = z.Close()
	}
	return b.Bytes(), err
}
