package server

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/clusterspec"
	"github.com/eggo-k8s/eggo/internal/server/manager/runs"
	"github.com/eggo-k8s/eggo/internal/server/problem"
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
	Asker   func(secrets map[string]string) operation.Asker
	Keep    int    // backups of each cluster by the server's plan; 0: all
	Bundles string // the directory of bundles
	Version string
	// More adds the routes of others, such as those of accounts; nil: none.
	More func(huma.API)
	// Page gives the web page over the routes; nil: there is none.
	Page func(api http.Handler) http.Handler
}

// Server has the routes.
type Server struct {
	Options
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
	c.Transformers = append([]huma.Transformer{s.misshapen, problem.Located(c.Components.Schemas)}, c.Transformers...)
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
		mux.Handle("/", o.Page(bodies.decoding(mux)))
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

// route is one route: what it is to rights, and which cluster it is about.
type route[I any] struct {
	huma.Operation
	may     access.Action
	cluster func(*I) string // nil: all of them
}

// add adds a route. The rights of the caller are checked first; a change is written down before it is made, and so is
// one that is refused. about is what the audit log has of a request besides: another cluster, and what it is about.
func add[I, O any](
	s *Server, api huma.API, r route[I], do func(context.Context, access.Caller, *I) (*O, error),
	about ...func(*I) (cluster, target string),
) {
	recorded := r.Method != http.MethodGet || r.may == access.Administer // who reads a secret is written down, too
	r.Path = Prefix + r.Path
	r.Errors = append(r.Errors, http.StatusUnauthorized, http.StatusForbidden)
	r.Middlewares = append(r.Middlewares, problem.Guard(func(ctx huma.Context) error {
		name := ""
		if r.cluster != nil {
			name = ctx.Param("cluster")
		}
		_, err := access.Check(ctx.Context(), s.Access, r.may, name)
		return err
	}))
	of := func(in *I) string {
		if r.cluster == nil {
			return ""
		}
		return r.cluster(in)
	}
	record := func(ctx context.Context, in *I, refused error) error { // also what is refused
		known, is := access.From(ctx)
		if !recorded || !is {
			return refused
		}
		entry := access.Entry{At: time.Now(), Caller: known, Address: address(ctx), Action: r.OperationID,
			Cluster: of(in)}
		for _, more := range about {
			cluster, target := more(in)
			entry.Cluster, entry.Target = cmp.Or(entry.Cluster, cluster), event.Clean(target)
		}
		if err := s.Access.Record(ctx, entry); refused == nil {
			return err
		}
		return refused
	}
	huma.Register(api, r.Operation, problem.Handler(func(ctx context.Context, in *I) (*O, error) {
		who, err := access.Check(ctx, s.Access, r.may, of(in))
		if l, is := any(in).(loggingIn); err == nil && is && l.logsIn() {
			leave, busy := s.logins.enter(who)
			if busy != nil { // nothing was done, and nothing is written down: this may come in any number
				return nil, busy
			}
			defer leave()
		}
		if err = record(ctx, in, err); err != nil {
			return nil, err
		}
		return do(ctx, who, in)
	}, record))
}

// misshapen is a transformer of huma, which answers requests by itself that do not have the shape of their route: those
// that would change something are written down, too. Such a request is refused also if that fails.
func (s *Server) misshapen(ctx huma.Context, _ string, v any) (any, error) {
	_, is := v.(*huma.ErrorModel)
	who, known := access.From(ctx.Context())
	if op := ctx.Operation(); is && known && op != nil && op.Method != http.MethodGet {
		name := []rune(event.Clean(ctx.Param("cluster")))
		_ = s.Access.Record(ctx.Context(), access.Entry{At: time.Now(), Caller: who, Address: address(ctx.Context()),
			Action: op.OperationID, Cluster: string(name[:min(len(name), longestName)])})
	}
	return v, nil
}

// longestName is that of a cluster.
const longestName = 64

// privileged refuses who is no administrator of a cluster; "": of all clusters.
func (s *Server) privileged(ctx context.Context, cluster string) error {
	_, err := access.Check(ctx, s.Access, access.Administer, cluster)
	return err
}

// acceptNew is what RunOptions say so that unknown host keys are accepted.
const acceptNew = "accept-new"

// trusted refuses who is no administrator and asks for more than an operator may: bundles without a signature, unknown
// host keys, and fewer backups than the server's plan keeps. Bundles from elsewhere need an administrator of all
// clusters.
func (s *Server) trusted(ctx context.Context, cluster string, p runs.Parameters) error {
	fewer := p.Keep > 0 && (s.Keep == 0 || p.Keep < s.Keep)
	if p.Unsigned || p.HostKeys == acceptNew || fewer || s.elsewhere(p.Bundles) {
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
