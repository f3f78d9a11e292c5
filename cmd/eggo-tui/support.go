package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/store"
)

func newSupportCmd(env *environment) *cobra.Command {
	var o logOptions
	var file string
	cmd := &cobra.Command{Use: "support [" + env.P.T("cli.arg.run") + "]", Short: env.P.T("cli.support.short"),
		Long: env.P.T("cli.support.long"), Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return support(cmd.Context(), env, o, strings.Join(args, ""), file)
		}}
	o.which(cmd, env)
	cmd.Flags().StringVarP(&file, "out", "o", "", env.P.T("cli.support.out"))
	return cmd
}

// support packs what was logged of a run, without the secrets, for somebody who is to find a fault.
func support(ctx context.Context, env *environment, o logOptions, run, file string) error {
	file, names, err := supportFile(ctx, env, o, run, file, func(c request.ClusterInfo) map[string]string {
		list, err := unitStates(ctx, env, o, c)
		out := map[string]string{}
		if err != nil {
			out["units.txt"] = why(env, err) + "\n"
			fmt.Fprintln(env.Stderr, env.P.T("support.no-units", "node", c.Name, "cause", why(env, err)))
		}
		for _, u := range list {
			name := "nodes/" + u.Node.Name + ".units.txt"
			if out[name] = u.Value; u.Err != nil {
				out[name] = why(env, u.Err) + "\n"
				fmt.Fprintln(env.Stderr, env.P.T("support.no-units", "node", u.Node.Name, "cause", why(env, u.Err)))
			}
		}
		return out
	})
	if err != nil {
		return err
	}
	for _, n := range names {
		fmt.Fprintln(env.Stdout, "  "+n)
	}
	fmt.Fprintln(env.Stdout, env.P.T("support.written", "file", file))
	return nil
}

// supportFile writes the bundle and gives its name, and the names of what is in it. more, if given, has texts beside
// what was logged, by name.
func supportFile(
	ctx context.Context, env *environment, o logOptions, run, file string,
	more func(request.ClusterInfo) map[string]string,
) (string, []string, error) {
	st := stateStore(env, o.state)
	c, err := operation.FindLogged(ctx, st, o.id, run, "")
	if err != nil {
		return "", nil, err
	}
	file = cmp.Or(file, "eggo-support-"+c.Name+"-"+c.LastRun+".tar.gz")
	if exists(file) {
		return "", nil, event.NewFault(event.ClassUsage, "support.exists", nil, "file", file)
	}
	texts := operation.SupportTexts{Readme: fmt.Sprintf("%s\n\ncluster %s\nrun %s\neggo-tui %s (%s/%s)\n",
		env.P.T("support.readme"), c.Name, c.LastRun, buildVersion(), runtime.GOOS, runtime.GOARCH)}
	if more != nil {
		texts.More = more(c)
	}
	var out bytes.Buffer
	names, err := operation.Support(ctx, st, request.Ref{Cluster: c.Name, Run: c.LastRun}, texts, &out)
	if err == nil {
		err = store.Create(file, out.Bytes(), false)
	}
	return file, names, err
}
