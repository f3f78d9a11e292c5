package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/staging"
	"github.com/eggo-k8s/eggo/internal/operator/bundles"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/operator/render"
	"github.com/eggo-k8s/eggo/internal/operator/runner"
	"github.com/eggo-k8s/eggo/internal/output/cli"
)

// lockWait is how long a run waits for the lock of its cluster.
const lockWait = 10 * time.Minute

func newRunCmd(env *environment) *cobra.Command {
	p := env.P
	o := runner.Options{State: pod.StateDir, Runs: os.TempDir(), Logins: render.LoginsDir, Out: env.Stdout,
		Fetch: (&bundles.Fetcher{PullDir: pod.PullDir}).Fetch,
		Deps: operation.Deps{Dialer: dialer(config.SpecialAddresses), Bundles: staging.New(pod.StageDir),
			Version: cli.Version(version)}}
	cmd := &cobra.Command{Use: "run", Short: p.T("operator.cli.run.short"), Long: p.T("operator.cli.run.long"),
		Args: cli.NoArguments, RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Client, err = runner.Connect(); err != nil {
				return err
			}
			host, _ := os.Hostname() // the name of the pod, unless it uses the network of its node
			o.Pod = cmp.Or(env.Getenv("POD_NAME"), host)
			o.Snapshots, o.Backups, o.Signers = there(pod.SnapshotsDir), there(pod.BackupsDir), there(pod.SignersFile)
			o.Terminate = cmd.Context().Done()
			ctx, release := untilSecondSignal(cmd.Context())
			defer release()
			return runner.Run(ctx, o)
		}}
	f := cmd.Flags()
	f.StringVar(&o.Namespace, "namespace", "", p.T("operator.cli.flag.namespace"))
	f.StringVar(&o.Operation, "operation", "", p.T("operator.cli.flag.operation"))
	f.DurationVar(&o.Wait, "lock-wait", lockWait, p.T("operator.cli.flag.lock-wait"))
	for _, name := range []string{"namespace", "operation"} {
		_ = cmd.MarkFlagRequired(name) // it is defined above
	}
	return cmd
}

// untilSecondSignal returns a context that ends with the second signal to end. The first one ends the given context:
// running steps end then.
func untilSecondSignal(first context.Context) (context.Context, func()) {
	ctx, abort := context.WithCancel(context.WithoutCancel(first))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for range 2 {
			select {
			case <-signals:
			case <-ctx.Done():
				return
			}
		}
		abort()
	}()
	return ctx, func() {
		signal.Stop(signals)
		abort()
	}
}

// there returns a path if something is there, else "".
func there(path string) string {
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

func newVersionCmd(env *environment) *cobra.Command {
	return &cobra.Command{Use: "version", Short: env.P.T("cli.version.short"), Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(env.Stdout, "eggops %s (%s, %s/%s)\n", cli.Version(version), runtime.Version(),
				runtime.GOOS, runtime.GOARCH)
			return err
		}}
}
