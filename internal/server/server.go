package server

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/clusterspec"
	"github.com/eggo-k8s/eggo/internal/server/manager/runs"
	"github.com/eggo-k8s/eggo/internal/server/problem"
	"github.com/eggo-k8s/eggo/internal/server/route"
)

// Prefix of all routes.
const Prefix = "/api/v1"

// Options of a server.
type Options struct {
	Manager *manager.Manager
	Runs    *runs.Runner
	Access  access.Control
	Rules   clusterspec.Rules
	// Deps are those of operations that change nothing, in this process.
	Deps func() operation.Deps
	// Asker answers the questions of such an operation with secrets that a request has; nil: nobody does.
	Asker   func(secrets map[string]string) ask.Asker
	Keep    int    // backups of each cluster by the server's plan; 0: all
	Bundles string // the directory of bundles
	Version string
	// More adds the routes of others, such as those of accounts, before Page is called; nil: none.
	More func(huma.API)
	// Page returns the web page, which calls the service; nil: there is none.
	Page func(*Service) http.Handler
}

// Service has the methods that the web page calls in this process. Each is a route of the API as well, with the same
// check of access, entries of the audit log and limits.
type Service struct {
	ListClusters        *route.Route[ListInput, listOutput]
	CreateCluster       *route.Route[CreateInput, shown]
	GetCluster          *route.Route[InCluster, shown]
	UpdateCluster       *route.Route[UpdateInput, shown]
	UpgradeCluster      *route.Route[UpgradeInput, shown]
	ListNodes           *route.Route[InCluster, nodesOutput]
	Check               *route.Route[CheckInput, checkOutput]
	Plan                *route.Route[PlanInput, planOutput]
	ListBundles         *route.Route[struct{}, bundlesOutput]
	ListRuns            *route.Route[RunsInput, runsOutput]
	GetRun              *route.Route[InRun, runOutput]
	ListSnapshots       *route.Route[InCluster, snapshotsOutput]
	ListBackups         *route.Route[InCluster, backupsOutput]
	VerifyBackup        *route.Route[VerifyInput, VerifyOutput]
	RestoreBackup       *route.Route[RestoreBackupInput, shown]
	ListCertificates    *route.Route[CertificatesInput, certificatesOutput]
	InspectCertificates *route.Route[InspectInput, certificatesOutput]
	GetStatus           *route.Route[StatusInput, StatusOutput]
	InspectStatus       *route.Route[InspectInput, StatusOutput]
	ListHealth          *route.Route[HealthInput, healthOutput]
}

// Server has the routes.
type Server struct {
	Options
	Service
	replies replies
	opens   chan struct{} // has an element for each backup that is being opened
	logins  logins
}

// opensAtOnce is how many backups are opened at the same time: each takes the memory that age's scrypt wants, and an
// etcd.
const opensAtOnce = 2

// New gives the API as a handler.
func New(o Options) http.Handler {
	sweepScratch()
	s := &Server{Options: o, opens: make(chan struct{}, opensAtOnce)}
	mux := http.NewServeMux()
	c := config(o.Version)
	c.Transformers = append([]huma.Transformer{route.Misshapen(addressed{o.Access}),
		problem.Located(c.Components.Schemas)}, c.Transformers...)
	api := humago.New(mux, c)
	s.clusters(api)
	s.operations(api)
	s.reads(api)
	s.runs(api)
	s.kubeconfigs(api)
	s.backups(api)
	s.life(api)
	s.history(api)
	if o.More != nil {
		o.More(api)
	}
	bodies := newBodies(o.Access, mux, api.OpenAPI())
	document(api.OpenAPI())
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", s.ready)
	unknown := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if others := methods(mux, r); len(others) > 0 {
			w.Header().Set("Allow", strings.Join(others, ", "))
			problem.Write(w, r, event.NewFault(event.ClassUsage, "api.method", nil, "method", event.Clean(r.Method),
				"path", r.URL.Path, "methods", strings.Join(others, ", ")))
			return
		}
		problem.Write(w, r, event.NewFault(event.ClassUsage, "api.no-route", nil, "path", r.URL.Path))
	})
	if o.Page == nil {
		mux.Handle("/", unknown)
	} else {
		mux.Handle("/api/", unknown)
		mux.Handle("/", bodies.turning(o.Page(&s.Service)))
	}
	return speaking(o.Access.Identify(bodies.read(s.replies.once(o.Access, bodies.decoding(rooted(mux, unknown))))))
}

// methods are those that a path of the API can be sent with.
func methods(mux *http.ServeMux, r *http.Request) (out []string) {
	if !strings.HasPrefix(r.URL.Path, Prefix+"/") {
		return nil
	}
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		other := &http.Request{Method: m, URL: r.URL, Host: r.Host}
		if _, pattern := mux.Handler(other); strings.HasPrefix(pattern, m+" ") {
			out = append(out, m)
		}
	}
	return out
}

// rooted gives requests without a path, such as those to a proxy, to other: a mux answers them by itself, in plain
// text.
func rooted(next, other http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/") {
			next.ServeHTTP(w, r)
		} else {
			other.ServeHTTP(w, r)
		}
	})
}

// config is that of huma: no links in bodies, and nothing that a browser would load from elsewhere.
func config(version string) huma.Config {
	c := huma.DefaultConfig("Eggo", version)
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = Prefix+"/openapi", "", ""
	c.CreateHooks, c.Transformers = nil, []huma.Transformer{problem.Transform}
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}
	c.Security = []map[string][]string{{"token": {}}}
	return c
}

// speaking gives every request its language.
func speaking(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := problem.Speaking(r.Context(), r.Header.Get("Accept-Language"))
		ctx = context.WithValue(ctx, addressKey{}, r.RemoteAddr)
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

type addressKey struct{}

// address is where a request came from.
func address(ctx context.Context) string {
	a, _ := ctx.Value(addressKey{}).(string)
	if host, _, err := net.SplitHostPort(a); err == nil {
		return host
	}
	return a
}

// add adds a route that needs a right on the cluster that its path names, or on all of them. about is what the audit
// log has of a request besides: another cluster, and what it is about.
func add[I, O any](
	s *Server, api huma.API, o huma.Operation, may access.Action,
	do func(context.Context, access.Grant, *I) (*O, error), about ...func(*I) (cluster, target string),
) *route.Route[I, O] {
	o.Path = Prefix + o.Path
	o.Errors = append(o.Errors, http.StatusUnauthorized, http.StatusForbidden)
	r := route.Route[I, O]{Operation: o, Allow: route.May(s.Access, may), Method: do, Enter: enter[I](s)}
	if may == access.Administer { // who reads a secret is written down, too
		r.Audit = route.All
	}
	if len(about) > 0 {
		r.About = about[0]
	}
	return route.Add(api, addressed{s.Access}, r)
}

// enter limits the requests whose answer may take logins to nodes.
func enter[I any](s *Server) func(access.Grant, *I) (func(), error) {
	return func(who access.Grant, in *I) (func(), error) {
		if l, is := any(in).(loggingIn); is && l.logsIn() {
			return s.logins.enter(who.Caller())
		}
		return func() {}, nil
	}
}

// addressed adds where a request came from to what is written down.
type addressed struct{ access.Control }

// Record implements access.Control.
func (a addressed) Record(ctx context.Context, e access.Entry) error {
	e.Address = address(ctx)
	return a.Control.Record(ctx, e)
}

// privileged refuses who is no administrator of a cluster; "": of all clusters.
func (s *Server) privileged(ctx context.Context, cluster string) error {
	_, err := access.Check(ctx, s.Access, access.Administer, cluster)
	return err
}

// acceptNew is what RunOptions say so that unknown host keys are accepted.
const acceptNew = "accept-new"

// trusted refuses who is no administrator and asks for more than an operator may: bundles without a signature, unknown
// host keys, a take-over, and fewer backups than the server's plan keeps. Bundles from elsewhere need an administrator
// of all clusters.
func (s *Server) trusted(ctx context.Context, cluster string, p runs.Parameters) error {
	fewer := p.Keep > 0 && (s.Keep == 0 || p.Keep < s.Keep)
	if p.Unsigned || p.HostKeys == acceptNew || p.TakeOver > 0 || fewer || s.elsewhere(p.Bundles) {
		if err := s.privileged(ctx, cluster); err != nil {
			return err
		}
	}
	return s.namesBundles(ctx, p.Bundles)
}

// elsewhere reports whether one of the paths is not in the server's directory of bundles.
func (s *Server) elsewhere(bundles []string) bool {
	return slices.ContainsFunc(bundles, func(b string) bool {
		return b != "" && filepath.Dir(filepath.Clean(b)) != filepath.Clean(s.Bundles)
	})
}

// namesBundles refuses who is no administrator of all clusters and names a bundle from elsewhere: what is said of such
// a path would tell others which files this host has, and what is in them.
func (s *Server) namesBundles(ctx context.Context, bundles []string) error {
	if !s.elsewhere(bundles) {
		return nil
	}
	_, err := access.Check(ctx, s.Access, access.Administer, "")
	if err != nil && event.AsFault(err).Code == "access.denied" {
		return event.NewFault(event.ClassAuth, "access.bundle", nil, "dir", s.Bundles)
	}
	return err
}

// findings are what is wrong with a request, as an error.
func findings(list []clusterspec.Finding) error {
	var out problem.All
	for _, f := range list {
		out = append(out, problem.At{Location: f.Location, Fault: f.Fault})
	}
	return out.Err()
}

// paged gives the part of a list that is sorted by order, and what the next page comes after; "" if there is none.
func paged[T any](all []T, p problem.Page, key func(T) string, order func(a, b string) int) ([]T, string) {
	from := 0
	if p.After != "" {
		from = slices.IndexFunc(all, func(x T) bool { return key(x) == p.After }) + 1
		if from == 0 { // it is gone: what would come after it
			if from = slices.IndexFunc(all, func(x T) bool { return order(key(x), p.After) > 0 }); from < 0 {
				from = len(all)
			}
		}
	}
	rest := all[from:]
	if len(rest) <= p.Limit {
		return rest, ""
	}
	return rest[:p.Limit], key(rest[p.Limit-1])
}
