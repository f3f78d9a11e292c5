package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func newEtcdCmd(env *environment) *cobra.Command {
	cmd := group(env, "etcd", env.P.T("cli.etcd.short"))
	cmd.AddCommand(newEtcdSnapshotCmd(env), newEtcdRestoreCmd(env))
	return cmd
}

func newEtcdSnapshotCmd(env *environment) *cobra.Command {
	var o runOptions
	var out string
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: env.P.T("cli.etcd.snapshot.short"),
		Long:  env.P.T("cli.etcd.snapshot.long"),
		Args:  cli.NoArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return etcdSnapshot(cmd.Context(), env, o, out) },
	}
	o.flags(cmd, env)
	cmd.Flags().StringVarP(&out, "out", "o", "", env.P.T("cli.flag.snapshot-out"))
	return cmd
}

func etcdSnapshot(ctx context.Context, env *environment, o runOptions, out string) error {
	if out != "" {
		var err error
		if out, err = filepath.Abs(out); err != nil {
			return event.NewFault(event.ClassUsage, "usage", err)
		}
	}
	c, err := o.request(ctx, env)
	if err != nil {
		return err
	}
	return env.begin(ctx, o, request.Snapshot{Common: c, Out: out}, nil)
}

func newEtcdRestoreCmd(env *environment) *cobra.Command {
	var o runOptions
	var yes bool
	cmd := &cobra.Command{
		Use:   "restore " + env.P.T("cli.arg.file"),
		Short: env.P.T("cli.etcd.restore.short"),
		Long:  env.P.T("cli.etcd.restore.long"),
		Args:  cli.Exactly(env.P.T("cli.arg.file")),
		RunE: func(cmd *cobra.Command, args []string) error {
			return etcdRestore(cmd.Context(), env, o, args[0], yes)
		},
	}
	o.destroying(cmd, env)
	cmd.Flags().BoolVar(&yes, "yes", false, env.P.T("cli.flag.yes"))
	return cmd
}

func etcdRestore(ctx context.Context, env *environment, o runOptions, file string, yes bool) error {
	if err := env.needsCluster(ctx, "etcd restore", o.named()); err != nil {
		return err
	}
	if err := env.needsYes(yes, "etcd restore"); err != nil {
		return err
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return event.NewFault(event.ClassUsage, "usage", err)
	}
	// A snapshot that cannot be used is told before anything else is looked at.
	snap, err := phases.ReadSnapshot(ctx, path)
	if err != nil {
		return err
	}
	fmt.Fprintln(env.Stderr, env.P.T("ask.restore", "path", path, "revision", strconv.FormatInt(snap.Revision, 10),
		"size", strconv.FormatInt(snap.Size, 10), "members", event.Clean(strings.Join(snap.Members, ", "))))
	c, err := o.request(ctx, env)
	if err != nil {
		return err
	}
	q := request.Restore{Common: c, Snapshot: path}
	if yes {
		return env.begin(ctx, o, q, nil)
	}
	return env.begin(ctx, o, q, env.confirmRestore)
}
