package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/present"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func newBackupCmd(env *environment) *cobra.Command {
	cmd := group(env, "backup", env.P.T("cli.backup.short"))
	cmd.AddCommand(newBackupRunCmd(env), newBackupListCmd(env), newBackupVerifyCmd(env), newBackupRestoreCmd(env),
		newBackupKeygenCmd(env))
	return cmd
}

// keyOptions say where the key of a backup is.
type keyOptions struct{ from, identity string }

func (k *keyOptions) flags(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringVar(&k.from, "passphrase-from", "", env.P.T("cli.flag.passphrase-from"))
}

func (k *keyOptions) identityFlag(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringVar(&k.identity, "identity", "", env.P.T("cli.flag.identity"))
	cmd.MarkFlagsMutuallyExclusive("identity", "passphrase-from")
}

// key is what the flags say; a passphrase is asked for unless something else is said.
func (k *keyOptions) key(public bool) (out request.BackupKey, err error) {
	if out.Identity, err = absolutePath(k.identity); err != nil {
		return out, err
	}
	if out.Passphrase = k.from; k.from == "" && k.identity == "" && !public {
		out.Passphrase = "prompt"
	}
	return out, nil
}

// absolutePath is that of a file that a flag names, if it names one.
func absolutePath(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", usageFault(err)
	}
	return abs, nil
}

type backupOptions struct {
	runOptions
	keyOptions
	dir        string
	keep       int
	recipients []string
}

func newBackupRunCmd(env *environment) *cobra.Command {
	var o backupOptions
	cmd := &cobra.Command{Use: "run", Short: env.P.T("cli.backup.run.short"), Long: env.P.T("cli.backup.run.long"),
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return backupRun(cmd.Context(), env, o) }}
	o.runOptions.flags(cmd, env)
	o.keyOptions.flags(cmd, env)
	cmd.Flags().StringVar(&o.dir, "dir", "", env.P.T("cli.flag.backup-dir"))
	cmd.Flags().IntVar(&o.keep, "keep", 0, env.P.T("cli.flag.backup-keep"))
	cmd.Flags().StringArrayVar(&o.recipients, "recipient", nil, env.P.T("cli.flag.recipient"))
	cmd.MarkFlagsMutuallyExclusive("recipient", "passphrase-from")
	return cmd
}

func backupRun(ctx context.Context, env *environment, o backupOptions) error {
	c, err := o.request(ctx, env)
	if err != nil {
		return err
	}
	q := request.Backup{Common: c, Keep: o.keep, Recipients: o.recipients}
	if q.Key, err = o.key(len(o.recipients) > 0); err != nil {
		return err
	}
	if q.Dir, err = absolutePath(o.dir); err != nil {
		return err
	}
	return env.begin(ctx, o.runOptions, q, nil)
}

func newBackupListCmd(env *environment) *cobra.Command {
	var q request.BackupList
	var output string
	cmd := &cobra.Command{Use: "list", Short: env.P.T("cli.backup.list.short"), Long: env.P.T("cli.backup.list.long"),
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return backupList(cmd.Context(), env, q, output) }}
	cmd.Flags().StringVar(&q.Cluster, "id", "", env.P.T("cli.flag.id.fileless"))
	cmd.Flags().StringVar(&q.Dir, "dir", "", env.P.T("cli.flag.backup-list-dir"))
	env.outputFlag(cmd, &output)
	return cmd
}

func backupList(ctx context.Context, env *environment, q request.BackupList, output string) error {
	if q.Dir == "" {
		var err error
		if q.Cluster, err = env.cluster(ctx, q.Cluster); err != nil {
			return err
		}
	}
	list, err := operation.Backups(ctx, env.stateStore(), q)
	if err != nil {
		return err
	}
	if output == cli.JSON {
		out := env.lines()
		for _, b := range list {
			out.Put(b)
		}
		return out.Err
	}
	if len(list) == 0 {
		fmt.Fprintln(env.Stdout, env.P.T("backup.none", "where", cmp.Or(q.Dir, q.Cluster, env.stateRoot())))
		return nil
	}
	env.print(present.Backups(env.P, list, env.now()))
	return nil
}

// now is the time of the operations' clock.
func (env *environment) now() time.Time {
	if env.Clock != nil {
		return env.Clock.Now()
	}
	return time.Now()
}

type verifyOptions struct {
	keyOptions
	output, bundle string
}

func newBackupVerifyCmd(env *environment) *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{Use: "verify " + env.P.T("cli.arg.file"), Short: env.P.T("cli.backup.verify.short"),
		Long: env.P.T("cli.backup.verify.long"), Args: cli.Exactly(env.P.T("cli.arg.file")),
		RunE: func(cmd *cobra.Command, args []string) error { return backupVerify(cmd.Context(), env, o, args[0]) }}
	o.flags(cmd, env)
	o.identityFlag(cmd, env)
	env.outputFlag(cmd, &o.output)
	cmd.Flags().StringVar(&o.bundle, "bundle", "", env.P.T("cli.flag.verify-bundle"))
	return cmd
}

func backupVerify(ctx context.Context, env *environment, o verifyOptions, file string) error {
	key, err := o.key(false)
	if err != nil {
		return err
	}
	if file, err = absolutePath(file); err != nil {
		return err
	}
	if o.bundle, err = absolutePath(o.bundle); err != nil {
		return err
	}
	d, _, err := env.deps(runOptions{output: o.output})
	if err != nil {
		return err
	}
	d.Asker = env.asking()
	q := request.BackupVerify{File: file, Key: key, Bundle: o.bundle}
	proof, err := operation.VerifyBackup(ctx, q, d, env.reading())
	if err != nil {
		return err
	}
	if o.output == cli.JSON {
		out := env.lines()
		if out.Put(proof); out.Err != nil {
			return out.Err
		}
	} else {
		env.print(present.BackupProof(env.P, proof))
	}
	if !proof.Etcd {
		return reported(event.ClassPartial, "backup.no-etcd")
	}
	return nil
}

// reading shows how much of a backup is decrypted, on a terminal.
func (env *environment) reading() func(done, total int64) {
	if !onTerminal(env.Stderr) || env.Getenv("TERM") == "dumb" {
		return func(int64, int64) {}
	}
	last := int64(-1)
	return func(done, total int64) {
		if percent := done * 100 / max(total, 1); percent != last {
			last = percent
			end := "\r"
			if done == total {
				end = "\n"
			}
			fmt.Fprint(env.Stderr, env.P.T("backup.reading", "percent", fmt.Sprint(percent))+end)
		}
	}
}

type backupRestoreOptions struct {
	runOptions
	keyOptions
	filesOnly, yes bool
}

func newBackupRestoreCmd(env *environment) *cobra.Command {
	var o backupRestoreOptions
	cmd := &cobra.Command{Use: "restore " + env.P.T("cli.arg.file"), Short: env.P.T("cli.backup.restore.short"),
		Long: env.P.T("cli.backup.restore.long"), Args: cli.Exactly(env.P.T("cli.arg.file")),
		RunE: func(cmd *cobra.Command, args []string) error { return backupRestore(cmd.Context(), env, o, args[0]) }}
	cmd.Flags().StringVarP(&o.file, "file", "f", "", env.P.T("cli.flag.new-machines"))
	env.outputFlag(cmd, &o.output)
	cmd.Flags().StringVar(&o.hostKeys, "host-keys", "", env.P.T("cli.flag.host-keys"))
	cmd.Flags().StringVar(&o.failure, "on-failure", "", env.P.T("cli.flag.on-failure"))
	cmd.Flags().BoolVar(&o.foreground, "foreground", false, env.P.T("cli.flag.foreground"))
	o.takeOverFlag(cmd, env)
	o.trustFlags(cmd, env)
	o.keyOptions.flags(cmd, env)
	o.identityFlag(cmd, env)
	cmd.Flags().BoolVar(&o.filesOnly, "files-only", false, env.P.T("cli.flag.files-only"))
	cmd.Flags().BoolVar(&o.yes, "yes", false, env.P.T("cli.flag.yes"))
	cmd.MarkFlagsMutuallyExclusive("file", "files-only")
	return cmd
}

func backupRestore(ctx context.Context, env *environment, o backupRestoreOptions, file string) error {
	if err := env.needsYes(o.yes || o.filesOnly, "backup restore"); err != nil {
		return err
	}
	c, err := o.settings()
	if err == nil {
		c.Source.File, err = absolutePath(o.file)
	}
	if err != nil {
		return err
	}
	q := request.BackupRestore{Common: c, FilesOnly: o.filesOnly}
	if q.Key, err = o.key(false); err != nil {
		return err
	}
	if q.File, err = absolutePath(file); err != nil {
		return err
	}
	r, next, err := env.placed(ctx, o, q)
	if err != nil || next == nil {
		return err
	}
	begun := false
	o.begun = &begun
	err = env.begin(ctx, o.runOptions, next, nil)
	if err == nil || begun || !r.Replaces() {
		return err
	}
	return errors.Join(err, env.takenBack(ctx, o, r))
}

// placed opens a backup and, when that is confirmed, places what it has.
func (env *environment) placed(
	ctx context.Context, o backupRestoreOptions, q request.BackupRestore,
) (*operation.Restoring, request.Request, error) {
	d, root, err := env.deps(o.runOptions)
	if err != nil {
		return nil, nil, err
	}
	d.Asker = env.asking()
	r, err := operation.OpenRestore(ctx, q, d, env.reading())
	if err != nil {
		return nil, nil, err
	}
	defer r.Close() // before the run: nothing that was decrypted lies about meanwhile
	b := r.Content()
	env.printTo(env.Stderr, present.BackupContent(env.P, b))
	if !o.yes && !o.filesOnly {
		name, err := askLine(ctx, env, env.P.T("ask.backup-name", "cluster", b.Cluster))
		if err != nil {
			return nil, nil, err
		}
		if name != b.Cluster {
			return nil, nil, event.NewFault(event.ClassUsage, "usage.not-confirmed", nil)
		}
	}
	next, err := r.Place(ctx)
	switch {
	case err != nil && r.Replaces():
		return nil, nil, errors.Join(err, env.takenBack(ctx, o, r))
	case err != nil:
		return nil, nil, err
	}
	fmt.Fprintln(env.Stderr, env.P.T("backup.placed", "dir", filepath.Join(root, b.Cluster)))
	return r, next, nil
}

// takenBack has the cluster's directory as it was before a restore that comes to no run.
func (env *environment) takenBack(ctx context.Context, o backupRestoreOptions, r *operation.Restoring) error {
	if err := r.Undo(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	fmt.Fprintln(env.Stderr, env.P.T("backup.undone", "dir", filepath.Join(env.stateRoot(),
		r.Content().Cluster)))
	return nil
}

func newBackupKeygenCmd(env *environment) *cobra.Command {
	return &cobra.Command{Use: "keygen " + env.P.T("cli.arg.file"), Short: env.P.T("cli.backup.keygen.short"),
		Long: env.P.T("cli.backup.keygen.long"), Args: cli.Exactly(env.P.T("cli.arg.file")),
		RunE: func(_ *cobra.Command, args []string) error { return backupKeygen(env, args[0]) }}
}

// backupKeygen writes a private key to a file that only the user can read, and prints its public key.
func backupKeygen(env *environment, file string) error {
	pair, err := operation.NewBackupKey()
	if err != nil {
		return err
	}
	if err := store.Create(file, pair.Private, false); err != nil {
		if f := event.AsFault(err); f.Code == "template.exists" {
			return event.NewFault(event.ClassUsage, "backup.key-exists", nil, "file", file)
		}
		return err
	}
	_, err = fmt.Fprintln(env.Stdout, pair.Public)
	return err
}
