package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/bundle/lock"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/output/report/building"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func newUpdate(env *environment) *cobra.Command {
	p := env.P
	var f sourceFlags
	var dry bool
	cmd := &cobra.Command{
		Use:   "update --arch " + p.T("cli.arg.arch") + " -o " + p.T("cli.arg.dir"),
		Short: p.T("bundle.cli.update.short"), Long: p.T("bundle.cli.update.long"),
		Args: cli.Exactly(),
	}
	f.add(cmd, env)
	cmd.Flags().BoolVar(&dry, "dry-run", false, p.T("bundle.cli.flag.dry-run"))
	output := outputFlag(cmd, env)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if _, err := output(); err != nil {
			return err
		}
		if err := needed(cmd, "arch"); err != nil {
			return err
		}
		if f.lock == "" {
			if err := needed(cmd, "out"); err != nil {
				return err
			}
			f.lock = filepath.Join(f.out, lock.Name)
		}
		o, err := f.options(env, 0)
		if err != nil {
			return err
		}
		return runUpdate(cmd, env, o, dry, f.verbose)
	}
	return cmd
}

func runUpdate(cmd *cobra.Command, env *environment, o *build.Options, dry, verbose bool) error {
	written := o.Lock
	if dry {
		// The work is done on a copy, which nobody keeps.
		dir, err := os.MkdirTemp("", "eggo-bundle-")
		if err != nil {
			return writeFault(os.TempDir(), err)
		}
		defer os.RemoveAll(dir)
		o.Lock = filepath.Join(dir, lock.Name)
		data, err := os.ReadFile(written)
		if err == nil {
			err = os.WriteFile(o.Lock, data, 0o600)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fileFault(written, err)
		}
	}
	r := building.New(env.building(), o.Arches, verbose)
	o.Report = r.Event
	env.tell(env.P.T("bundle.cli.updating", "name", o.Spec.Name, "arch", strings.Join(o.Arches, ", ")))
	r.Start()
	res, err := build.Update(cmd.Context(), *o)
	r.Stop()
	if err != nil {
		return err
	}
	if env.json {
		for _, arch := range o.Arches {
			if err := env.emit("moved", differenceFields(res.Moved[arch], fields{"arch": arch})); err != nil {
				return err
			}
		}
		res.Lock = written
		r.CloseJSON(res)
		return nil
	}
	for _, arch := range o.Arches {
		if d := res.Moved[arch]; d == nil {
			err = env.say(env.P.T("bundle.cli.unmoved", "arch", arch))
		} else {
			err = printDifference(env, env.P.T("bundle.cli.moved", "arch", arch), d)
		}
		if err != nil {
			return err
		}
	}
	r.Warn(res.Warnings)
	key := "bundle.cli.lock"
	if dry {
		key = "bundle.cli.dry"
	}
	env.tell(env.P.T(key, "file", event.Clean(written)))
	return nil
}
