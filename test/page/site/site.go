// Package site is a server with its web page over a state directory that has clusters and runs of a story, for tests
// and screenshots: all is real but the machines. An API server of each cluster answers on loopback.
package site

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/local"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/run/control"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/server"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/account/routes"
	"github.com/eggo-k8s/eggo/internal/server/database"
	"github.com/eggo-k8s/eggo/internal/server/listen"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/records"
	"github.com/eggo-k8s/eggo/internal/server/manager/runs"
	"github.com/eggo-k8s/eggo/internal/server/page"
	"github.com/eggo-k8s/eggo/internal/testkit/managertest"
)

// Password of all users.
const Password = "correct horse battery"

// Site is a server that answers on loopback.
type Site struct {
	URL      string
	State    string // directory
	Accounts *account.Accounts
	Manager  *manager.Manager
	Runner   *Runner
	Handler  http.Handler // what answers
	Page     *page.Page
	// Between stands between the API and browsers; nil: nothing does.
	Between func(api http.Handler) http.Handler
	// Answer answers for the methods that the page calls, into the body of what they return; nil: they do.
	Answer func(op huma.Operation, body any) error
	// Hold has the API servers of clusters not answer about their nodes until it is closed; nil: they answer.
	Hold chan struct{}

	web, kube *httptest.Server
	db        *database.DB
	cancel    context.CancelFunc
	mu        sync.Mutex
	nodes     map[string][]string // that the API server of a cluster knows
	runs      []*Run
}

// Runner begins stories in place of processes.
type Runner struct {
	*runs.Runner
	site *Site
	// Begin is called when a run is to begin; nil: it is refused.
	Begin func(rec manager.Record) (*Run, error)
}

// Start implements manager.Runner.
func (r *Runner) Start(_ context.Context, rec manager.Record) (manager.Run, error) {
	if r.Begin == nil {
		return nil, event.NewFault(event.ClassFailed, "internal", nil)
	}
	if rec.Operation != nil && len(rec.Operation.Runs) > 0 {
		return nil, nil
	}
	run, err := r.Begin(rec)
	if run == nil {
		return nil, err
	}
	return run, err
}

// New begins a server below a directory. Users are ann (admin), otto (operator), vera (viewer), and rosa, who is an
// operator of the cluster rack alone.
func New(ctx context.Context, dir string) (s *Site, err error) {
	ctx, cancel := context.WithCancel(ctx)
	s = &Site{State: filepath.Join(dir, "state"), cancel: cancel, nodes: map[string][]string{}}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	data := filepath.Join(dir, "data")
	for _, d := range []string{s.State, data, filepath.Join(data, "bundles")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return s, err
		}
	}
	if s.db, err = database.Open(ctx, filepath.Join(data, "server.db")); err != nil {
		return s, err
	}
	s.Accounts, err = account.Open(ctx, s.db, account.Options{Cost: account.Cost{Passes: 1, Memory: 8, Threads: 1}})
	if err != nil {
		return s, err
	}
	for name, role := range map[string]access.Role{"ann": access.Admin, "otto": access.Operator,
		"vera": access.Viewer, "rosa": access.None} {
		n := account.New{Name: name, Password: Password, Role: role}
		if role == access.None {
			n.Grants = account.Grants{"rack": access.Operator}
		}
		if _, err := s.Accounts.Create(ctx, n); err != nil {
			return s, err
		}
	}
	kept, err := records.Open(ctx, s.db, s.Accounts.ForgetCluster)
	if err != nil {
		return s, err
	}
	s.kube = httptest.NewTLSServer(http.HandlerFunc(s.answerNodes))
	s.Runner = &Runner{Runner: runs.New(runs.Options{Root: s.State, Data: data}), site: s}
	s.Manager, err = manager.New(ctx, manager.Options{Store: kept, Runner: s.Runner, Clock: managertest.Clock{}})
	if err != nil {
		return s, err
	}
	return s, s.serve(ctx, filepath.Join(data, "bundles"))
}

func (s *Site) serve(ctx context.Context, bundles string) error {
	var err error
	s.Page, err = page.New(page.Options{Access: s.Accounts, Dir: s.Runner.Dir, Usual: s.Runner.Usual,
		Bundles: bundles, Version: "v1.2.0", Open: func(ctx context.Context, cluster, run string) (page.Log, error) {
			return s.Runner.Log(ctx, cluster, run)
		}})
	if err != nil {
		return err
	}
	d := local.Deps(local.Options{Root: s.State})
	s.Handler = server.New(server.Options{Manager: s.Manager, Runs: s.Runner.Runner, Access: s.Accounts,
		Bundles: bundles, Version: "v1.2.0", Deps: func() operation.Deps { return d },
		Page:  func(api *server.Service) http.Handler { return s.Page.Handler(standIn(s, api)) },
		Asker: func(secrets map[string]string) ask.Asker { return ask.WithAnswers(ask.Nobody{}, secrets) },
		More:  func(api huma.API) { s.Page.Users = standIn(s, routes.Register(api, s.Accounts, false, nil)) }})
	s.web = httptest.NewUnstartedServer(nil)
	s.web.Config = listen.Server(ctx, s.between(s.Handler), listen.Usual(), slog.New(slog.DiscardHandler))
	s.web.StartTLS()
	s.URL = s.web.URL
	return nil
}

// between has Between answer for the API.
func (s *Site) between(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Between != nil && strings.HasPrefix(r.URL.Path, server.Prefix+"/") {
			s.Between(next).ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Client trusts the server.
func (s *Site) Client() *http.Client { return s.web.Client() }

// Close ends the server and its runs.
func (s *Site) Close() {
	s.cancel()
	if s.Manager != nil {
		s.Manager.Close()
	}
	for _, w := range []*httptest.Server{s.web, s.kube} {
		if w != nil {
			w.CloseClientConnections()
			w.Close()
		}
	}
	s.mu.Lock()
	list := s.runs
	s.mu.Unlock()
	for _, r := range list {
		r.End()
	}
	if s.db != nil {
		_ = s.db.Close()
	}
}

// Login gives the cookie of a user.
func (s *Site) Login(ctx context.Context, name string) (*http.Cookie, error) {
	session, err := s.Accounts.Login(ctx, "127.0.0.1", name, Password, "")
	if err != nil {
		return nil, err
	}
	return s.Accounts.CookieOf(session), nil
}

// answerNodes is the API server of all clusters: the first part of the path says of which.
func (s *Site) answerNodes(w http.ResponseWriter, r *http.Request) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if !strings.HasSuffix(rest, "/nodes") {
		_, _ = w.Write([]byte("ok"))
		return
	}
	type object = map[string]any
	items := []object{}
	if s.Hold != nil {
		select {
		case <-s.Hold:
		case <-r.Context().Done():
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, n := range s.nodes[name] {
		host, address, _ := strings.Cut(n, " ")
		ready, why := "True", ""
		if i == 4 && len(s.nodes[name]) == 5 {
			ready, why = "False", "container runtime is down"
		}
		items = append(items, object{"metadata": object{"name": host}, "status": object{
			"nodeInfo":   object{"kubeletVersion": "v1.34.2"},
			"addresses":  []object{{"type": "InternalIP", "address": address}},
			"conditions": []object{{"type": "Ready", "status": ready, "message": why}}}})
	}
	_ = json.NewEncoder(w).Encode(object{"items": items})
}

// Install has a cluster in the state directory, with the nodes of a plan.
func (s *Site) Install(ctx context.Context, name string, plan event.PlanMade) error {
	d := config.Draft{}.WithValues(map[string]string{"cluster-id": name, "username": "root",
		config.BundleKey("amd64"): "/srv/bundle-amd64.tar.gz"})
	var known []string
	for _, h := range plan.Hosts {
		if h.Name == "" {
			continue
		}
		m := config.Machine{Name: h.Name, IP: h.Addr}
		for _, r := range h.Roles {
			m.Roles = append(m.Roles, bundle.Role(r))
		}
		d.Machines = append(d.Machines, m)
		known = append(known, h.Name+" "+h.Addr)
	}
	s.mu.Lock()
	s.nodes[name] = known
	s.mu.Unlock()
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: s.kube.Certificate().Raw}))
	text := fmt.Sprintf("current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"+
		"clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %q}}]\n"+
		"users: [{name: u, user: {token: t}}]\n", s.kube.URL+"/"+name, ca)
	dir := filepath.Join(s.State, name) // the kubeconfig first: the server looks for it when there is a deploy.yaml
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "admin.conf"), []byte(text), 0o600)
	}
	if err != nil {
		return err
	}
	files, err := store.Dir{Root: s.State}.Open(ctx, name)
	if err != nil {
		return err
	}
	return errors.Join(files.SaveConfig(ctx, d.YAML()), files.Close())
}

// Run is a run that a story writes, with the lock of its cluster. It implements manager.Run.
type Run struct {
	// Decided gets what was decided.
	Decided chan Decision
	id      string
	log     *journal.Writer
	lock    *journal.Lock
	control *control.Server
	done    chan struct{}
	once    sync.Once
	fault   *event.Fault
	last    event.Record
}

// Last is the record that was written last.
func (r *Run) Last() event.Record { return r.last }

// Decision about a step.
type Decision struct {
	Step string
	What event.Decision
}

// Begin begins a run of a cluster.
func (s *Site) Begin(cluster, verb string, at time.Time) (*Run, error) {
	j, err := journal.Open(s.State, cluster)
	if err != nil {
		return nil, err
	}
	lock, err := j.Lock(journal.Holder{PID: os.Getpid(), User: "root", Host: "control", Verb: verb, Since: at})
	if err != nil {
		return nil, err
	}
	log, err := j.NewRun(verb, at)
	if err != nil {
		return nil, err
	}
	r := &Run{id: log.ID(), log: log, lock: lock, done: make(chan struct{}), Decided: make(chan Decision, 8)}
	if r.control, err = control.Serve(log.Dir(), asked{r}); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.runs = append(s.runs, r)
	s.mu.Unlock()
	return r, lock.Writes(log.ID())
}

// Write writes records to the log of the run.
func (r *Run) Write(list []event.Record) error {
	for _, rec := range list {
		if err := r.log.Append(rec); err != nil {
			return err
		}
		r.last = rec
		if end, is := rec.Event.(event.RunEnded); is {
			r.fault = end.Fault
		}
	}
	return nil
}

// End ends the process of the run.
func (r *Run) End() {
	r.once.Do(func() {
		_ = errors.Join(r.log.Close(), r.control.Close(), r.lock.Unlock()) // a test looks at what is there
		close(r.done)
	})
}

// ID implements manager.Run.
func (r *Run) ID() string { return r.id }

// Done implements manager.Run.
func (r *Run) Done() <-chan struct{} { return r.done }

// Outcome implements manager.Run.
func (r *Run) Outcome() manager.Outcome { return manager.Outcome{Fault: r.fault} }

// Stop implements manager.Run.
func (r *Run) Stop() error {
	if r.fault == nil {
		r.fault = event.NewFault(event.ClassInterrupted, "run.interrupted", nil)
	}
	r.End()
	return nil
}

// Abort implements manager.Run.
func (r *Run) Abort() error { return r.Stop() }

// asked implements control.Handler.
type asked struct{ *Run }

// Decide implements control.Handler.
func (a asked) Decide(step string, d event.Decision) error {
	a.Decided <- Decision{step, d}
	return nil
}

// Stop implements control.Handler.
func (a asked) Stop() { _ = a.Run.Stop() }

// Abort implements control.Handler.
func (a asked) Abort() { _ = a.Run.Stop() }
