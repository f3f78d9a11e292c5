package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/backup"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/server"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/account/routes"
	"github.com/eggo-k8s/eggo/internal/server/database"
	"github.com/eggo-k8s/eggo/internal/server/listen"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/clusterspec"
	"github.com/eggo-k8s/eggo/internal/server/manager/records"
	"github.com/eggo-k8s/eggo/internal/server/manager/runs"
	"github.com/eggo-k8s/eggo/internal/server/manager/upkeep"
	"github.com/eggo-k8s/eggo/internal/server/page"
)

// endIn is how long requests may take to end when the server does.
const endIn = 10 * time.Second

// setupToken in the data directory is what the first administrator is made with.
const setupToken = "setup-token"

// databaseFile in the data directory has users, records of clusters and the audit log.
const databaseFile = "server.db"

type serveOptions struct {
	address, state, data, bundles string
	cert, key, sso                string
	names                         []string
	plain, shared                 bool
	upkeep                        upkeep.Plan
	auditDays, perAddress         int
}

func newServe(env *environment) *cobra.Command {
	p := env.P
	var o serveOptions
	cmd := &cobra.Command{
		Use: "serve", SuggestFor: []string{"start", "run"},
		Short: p.T("server.cli.serve.short"), Long: p.T("server.cli.serve.long"), Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), env, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.address, "listen", "127.0.0.1:7443", p.T("server.cli.flag.listen"))
	f.StringVar(&o.state, "state-dir", journal.StateDir(env.Getenv, os.Geteuid()), p.T("server.cli.flag.state-dir"))
	f.StringVar(&o.data, "data-dir", dataDir, p.T("server.cli.flag.data-dir"))
	f.StringVar(&o.bundles, "bundles", "", p.T("server.cli.flag.bundles"))
	f.StringVar(&o.cert, "tls-cert", "", p.T("server.cli.flag.tls-cert"))
	f.StringVar(&o.key, "tls-key", "", p.T("server.cli.flag.tls-key"))
	f.StringVar(&o.sso, "sso", "", p.T("server.cli.flag.sso"))
	f.StringSliceVar(&o.names, "name", nil, p.T("server.cli.flag.name"))
	f.BoolVar(&o.plain, "no-tls", false, p.T("server.cli.flag.no-tls"))
	f.BoolVar(&o.shared, "shared-roles", false, p.T("server.cli.flag.shared-roles"))
	f.BoolVar(&o.upkeep.Renew, "renew", true, p.T("server.cli.flag.renew"))
	f.DurationVar(&o.upkeep.Every, "backup-every", 0, p.T("server.cli.flag.backup-every"))
	f.IntVar(&o.upkeep.Keep, "backup-keep", 14, p.T("server.cli.flag.backup-keep"))
	f.StringArrayVar(&o.upkeep.Recipients, "backup-recipient", nil, p.T("server.cli.flag.backup-recipient"))
	f.IntVar(&o.auditDays, "audit-days", auditDays, p.T("server.cli.flag.audit-days"))
	f.IntVar(&o.perAddress, "connections-per-address", listen.Usual().OfAddress,
		p.T("server.cli.flag.connections-per-address"))
	return cmd
}

// limits are those of requests and connections.
func (o serveOptions) limits() listen.Limits {
	l := listen.Usual()
	l.OfAddress = max(0, o.perAddress)
	return l
}

// checkBackups refuses a schedule of backups that cannot be kept.
func (o serveOptions) checkBackups() error {
	if _, err := backup.RecipientsLock(o.upkeep.Recipients); err != nil {
		return err
	}
	if o.upkeep.Every != 0 && (o.upkeep.Every < time.Hour || len(o.upkeep.Recipients) == 0) {
		return event.NewFault(event.ClassUsage, "server.backup-every", nil, "value", o.upkeep.Every.String())
	}
	if o.upkeep.Keep < 0 {
		return event.NewFault(event.ClassUsage, "server.backup-keep", nil, "value", strconv.Itoa(o.upkeep.Keep))
	}
	return nil
}

// check completes the options, and refuses those with which nothing is served.
func (o *serveOptions) check() error {
	if err := errors.Join(o.complete(), o.checkBackups(), o.checkAudit()); err != nil {
		return err
	}
	return othersWrite(o.data, o.state)
}

// complete makes paths absolute, and says where bundles are if nothing else was said.
func (o *serveOptions) complete() (err error) {
	for _, dir := range []*string{&o.state, &o.data} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return event.NewFault(event.ClassUsage, "state.read", err)
		}
	}
	o.bundles = cmp.Or(o.bundles, filepath.Join(o.data, "bundles"))
	return nil
}

// serve is the server, until ctx ends. Runs continue after it.
func serve(ctx context.Context, env *environment, o serveOptions) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(env.Stderr, nil))
	unlock, err := alone(o.data, o.state)
	if err != nil {
		return err
	}
	defer unlock()
	sure, certs, err := clockAndCertificates(env, log, o)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.bundles, 0o700); err != nil { // so that a bundle can be copied there
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	db, err := database.Open(ctx, filepath.Join(o.data, databaseFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	accounts, err := account.Open(ctx, db, account.Options{})
	if err != nil {
		return err
	}
	identity, err := provider(ctx, o.sso, accounts, func(m event.Msg) { log.Warn(env.P.Msg(m)) })
	if err != nil {
		return err
	}
	store, err := records.Open(ctx, db, accounts.ForgetCluster)
	if err != nil {
		return err
	}
	report := func(cluster string, err error) { log.Error(event.AsFault(err).Error(), "cluster", cluster) }
	shared := deps(o.state, env.Own) // connections are counted over all
	runner := runs.New(runs.Options{Root: o.state, Data: o.data, Launcher: launcher(o.state, env.P.Lang(),
		withSystemd()), Deps: func(secrets map[string]string) operation.Deps {
		d := shared
		d.Asker = stored(secrets)
		return d
	}})
	m, err := manager.New(ctx, manager.Options{Store: store, Runner: runner, Clock: clock{}, Report: report,
		Follow: following(log, env.P)})
	if err != nil {
		return err
	}
	defer m.Close()
	due := &upkeep.Upkeep{Plan: o.upkeep, Clusters: recorded{m, accounts}, Files: runner, Clock: clock{},
		Trusted: sure.Now, Report: report}
	defer lookAfter(ctx, due)()
	defer keepAudit(ctx, accounts, o.auditDays, cautious{sure}, report)()
	rules := clusterspec.Rules{Shared: o.shared, Own: env.Own}
	site, err := page.New(page.Options{Rules: rules, Access: accounts,
		Dir: runner.Dir, Usual: runner.Usual, Bundles: o.bundles, Version: buildVersion(),
		Open: func(ctx context.Context, cluster, run string) (page.Log, error) {
			return runner.Log(ctx, cluster, run)
		}})
	if err != nil {
		return err
	}
	handler := server.New(server.Options{
		Manager: m, Runs: runner, Access: accounts, Bundles: o.bundles, Version: buildVersion(), Page: site.Handler,
		Rules: rules, Deps: func() operation.Deps { return shared }, Keep: o.upkeep.Keep,
		Asker: stored,
		More:  func(api huma.API) { site.Users = routes.Register(api, accounts, identity != nil, m.Has) },
	})
	listener, err := listen.Listen(ctx, o.address, certs, o.limits())
	if err != nil {
		return err
	}
	needed, err := accounts.BeginSetup(ctx, filepath.Join(o.data, setupToken))
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	scheme := map[bool]string{true: "http", false: "https"}[certs == nil]
	announce(env, scheme+"://"+listener.Addr().String(), filepath.Join(o.data, setupToken), needed)
	return answer(ctx, env, listener, withProvider(identity, accounts, site, handler), o.limits(), log)
}

// clockAndCertificates are the clock by which certificates are replaced, and those of TLS.
func clockAndCertificates(
	env *environment, log *slog.Logger, o serveOptions,
) (sure *trusted, certs *listen.Certificates, err error) {
	if sure, err = newTrusted(o.data, warnOfClock(env, log)); err != nil {
		return nil, nil, err
	}
	if certs, err = certificates(o, sure); err != nil {
		return nil, nil, err
	}
	warnOfCA(env, log, certs, filepath.Join(o.data, "tls"))
	return sure, certs, nil
}

// warnOfCA says what clients, or the administrator, have to do about the CA of the server.
func warnOfCA(env *environment, log *slog.Logger, certs *listen.Certificates, dir string) {
	switch {
	case certs == nil:
	case certs.Replaced():
		log.Warn(env.P.T("server.log.new-ca", "dir", dir))
	case certs.Unbounded():
		log.Warn(env.P.T("server.log.unbounded-ca", "dir", dir))
	}
}

// warnOfClock says that the clock of the machine is not trusted.
func warnOfClock(env *environment, log *slog.Logger) func(now, trusted time.Time) {
	return func(now, trusted time.Time) {
		log.Warn(env.P.T("server.log.clock-ahead", "now", now.UTC().Format(time.RFC3339),
			"last", trusted.UTC().Format(time.RFC3339), "days", strconv.Itoa(int(heldFor.Hours()/24))))
	}
}

// cautious is the machine's clock with the time that is trusted.
type cautious struct{ *trusted }

// Sleep implements manager.Clock.
func (cautious) Sleep(ctx context.Context, d time.Duration) error { return clock{}.Sleep(ctx, d) }

// following logs each operation that begins, and each that has ended.
func following(log *slog.Logger, p *i18n.Printer) func(string, manager.Operation, *manager.Outcome) {
	return func(cluster string, o manager.Operation, how *manager.Outcome) {
		about := []any{"cluster", cluster, "operation", string(o.Kind), "by", o.By}
		switch {
		case how == nil:
			log.Info(p.T("server.log.begins"), about...)
		case how.Fault == nil:
			log.Info(p.T("server.log.ended"), append(about, "outcome", "ok")...)
		default:
			log.Warn(p.T("server.log.ended"), append(about, "outcome", how.Fault.Code)...)
		}
	}
}

// announce says where the server is, and with what the first administrator is made if there is none.
func announce(env *environment, url, token string, needed bool) {
	fmt.Fprintln(env.Stdout, env.P.T("server.listening", "url", url))
	if needed {
		fmt.Fprintln(env.Stdout, env.P.T("server.setup", "file", token))
	}
}

// lookAfter has what is due begun, until the function returned is called.
func lookAfter(ctx context.Context, u *upkeep.Upkeep) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		u.Run(ctx)
	}()
	return func() {
		cancel()
		<-over
	}
}

// answer answers requests until ctx ends.
func answer(
	ctx context.Context, env *environment, l net.Listener, h http.Handler, by listen.Limits, log *slog.Logger,
) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx)) // streams end with the server, not with its signal
	defer end()
	srv := listen.Server(life, h, by, log)
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	if env.Ready != nil {
		env.Ready(l.Addr().String())
	}
	select {
	case err := <-failed:
		return event.NewFault(event.ClassFailed, "listen.address", err, "address", l.Addr().String())
	case <-ctx.Done():
	}
	end()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endIn)
	defer cancel()
	if err := srv.Shutdown(ending); err != nil {
		return srv.Close()
	}
	return nil
}

// certificates are those of TLS; nil: there is none, on loopback alone.
func certificates(o serveOptions, sure *trusted) (*listen.Certificates, error) {
	switch {
	case o.plain && !listen.Loopback(o.address):
		return nil, event.NewFault(event.ClassUsage, "server.no-tls", nil, "address", o.address)
	case o.plain:
		return nil, nil
	case (o.cert == "") != (o.key == ""):
		return nil, event.NewFault(event.ClassUsage, "server.tls-pair", nil)
	case o.cert != "":
		return listen.FromFiles(o.cert, o.key, time.Now)
	}
	return listen.SelfMade(filepath.Join(o.data, "tls"), listen.Names(o.address, o.names...), time.Now, sure.Now)
}

// clock is the machine's.
type clock struct{}

// Now implements manager.Clock.
func (clock) Now() time.Time { return time.Now() }

// Sleep implements manager.Clock.
func (clock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func newVersion(env *environment) *cobra.Command {
	return &cobra.Command{Use: "version", Short: env.P.T("cli.version.short"), Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(env.Stdout, "eggo-server %s (%s, %s/%s)\n", buildVersion(), runtime.Version(),
				runtime.GOOS, runtime.GOARCH)
			return err
		}}
}
