package main

import (
	"context"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/present"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// logOptions say which run is meant, and what of it.
type logOptions struct {
	id, node, step, output, log string
	failed, list, follow        bool
}

func newLogsCmd(env *environment) *cobra.Command {
	var o logOptions
	cmd := &cobra.Command{Use: "logs [" + env.P.T("cli.arg.run") + "]", Short: env.P.T("cli.logs.short"),
		Long: env.P.T("cli.logs.long"),
		Args: func(cmd *cobra.Command, args []string) error { return runOrLog(o.log)(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			return logs(cmd.Context(), env, o, strings.Join(args, ""))
		}}
	o.which(cmd, env)
	cmd.Flags().StringVar(&o.node, "node", "", env.P.T("cli.logs.node"))
	cmd.Flags().StringVar(&o.step, "step", "", env.P.T("cli.logs.step"))
	cmd.Flags().BoolVar(&o.failed, "failed", false, env.P.T("cli.logs.failed"))
	cmd.Flags().BoolVar(&o.list, "list", false, env.P.T("cli.logs.list"))
	cmd.Flags().BoolVarP(&o.follow, "follow", "F", false, env.P.T("cli.logs.follow"))
	cmd.Flags().StringVar(&o.log, "log", "", env.P.T("cli.flag.log"))
	cmd.MarkFlagsMutuallyExclusive("follow", "failed", "list")
	cmd.MarkFlagsMutuallyExclusive("log", "list")
	cmd.MarkFlagsMutuallyExclusive("log", "id")
	env.outputFlag(cmd, &o.output)
	return cmd
}

func (o *logOptions) which(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringVar(&o.id, "id", "", env.P.T("cli.flag.log-id"))
}

// logs shows what was logged of a run, in the words in which it was told then.
func logs(ctx context.Context, env *environment, o logOptions, run string) error {
	if o.list {
		return listRuns(ctx, env, o)
	}
	records, closeLog, err := logged(ctx, env, o, run)
	if err != nil {
		return err
	}
	defer closeLog.Close()
	var sink event.Sink = report.NewJSON(env.Stdout)
	if o.output == cli.Text {
		plain := report.NewPlain(env.Stdout, env.where().Printer(env.P.Lang()))
		plain.Debug = true
		sink = plain
	}
	for rec, err := range records {
		if err != nil {
			return err
		}
		if err := sink.Emit(rec); err != nil {
			return err
		}
	}
	return nil
}

// logged gives what is wanted of a run that is logged here, or of a log of anywhere.
func logged(
	ctx context.Context, env *environment, o logOptions, run string,
) (iter.Seq2[event.Record, error], io.Closer, error) {
	wanted := operation.LogFilter{Node: o.node, Step: o.step, Failed: o.failed}
	if o.log != "" {
		in, name, err := openLog(env, o.log)
		if err != nil {
			return nil, nil, err
		}
		return operation.Filter(operation.Stream(ctx, in, name, o.follow && o.log != stdinLog), wanted), in, nil
	}
	if err := env.knows(ctx, o.id); err != nil {
		return nil, nil, err
	}
	st := env.stateStore()
	c, err := operation.FindLogged(ctx, st, o.id, run, "")
	if err != nil {
		return nil, nil, err
	}
	records, err := operation.Logs(ctx, st, request.Ref{Cluster: c.Name, Run: c.LastRun}, wanted, o.follow)
	return records, io.NopCloser(nil), err
}

// listRuns shows the runs that are kept, newest last.
func listRuns(ctx context.Context, env *environment, o logOptions) error {
	if err := env.knows(ctx, o.id); err != nil {
		return err
	}
	all, err := operation.Overview(ctx, env.stateStore())
	if err != nil {
		return err
	}
	if o.id != "" {
		all = slices.DeleteFunc(all, func(c request.ClusterRuns) bool { return c.Name != o.id })
	}
	if o.output == cli.JSON {
		out := env.lines()
		present.RunLines(out, all)
		return out.Err
	}
	if len(present.Runs(env.P, all)[0].Rows) == 0 {
		return event.NewFault(event.ClassUsage, "logs.none", nil, "dir", env.stateRoot())
	}
	env.print(present.Runs(env.P, all))
	return nil
}
