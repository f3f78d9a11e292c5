package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

func newVerify(env *environment) *cobra.Command {
	cmd := &cobra.Command{Use: "verify FILE...", Short: env.P.T("bundle.cli.verify.short"), Args: cobra.MinimumNArgs(1)}
	output := outputFlag(cmd, env)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		asJSON, err := output()
		if err != nil {
			return err
		}
		// Every file is looked at, and all that is wrong is told at the end.
		var bad []error
		for _, f := range files {
			if err := verifyOne(cmd, env, f, asJSON); err != nil {
				bad = append(bad, err)
			}
			if cmd.Context().Err() != nil {
				break
			}
		}
		return errors.Join(bad...)
	}
	return cmd
}

func verifyOne(cmd *cobra.Command, env *environment, file string, asJSON bool) error {
	r := newReporter(env, asJSON, "")
	start := mark{at: time.Now()}
	report, err := bundle.Verify(cmd.Context(), file, func(done, total int64) {
		if time.Since(r.last) < r.linesEvery || time.Since(start.at) < time.Second {
			return
		}
		r.last = time.Now()
		_, left := pace(start, r.last, done, total)
		if asJSON {
			emit(env.Stdout, map[string]any{"event": "progress", "file": file, "done": done, "total": total, "seconds_left": left.Seconds()})
			return
		}
		r.moving(env.P.T("bundle.cli.verifying", "file", file, "done", size(done), "total", size(total), "left", left.Round(time.Second).String()))
	})
	r.clear()
	if err != nil {
		return err
	}
	m := report.Manifest
	if asJSON {
		emit(env.Stdout, map[string]any{"event": "verified", "file": file, "id": report.ID, "name": m.Name, "arch": m.Arch, "kubernetes": m.Kubernetes,
			"members": report.Members, "bytes": report.Bytes, "images_sha256": report.ImagesSum})
		return nil
	}
	_, err = fmt.Fprintln(env.Stdout, env.P.T("bundle.cli.verified", "file", file, "name", m.Name, "arch", m.Arch, "kubernetes", m.Kubernetes,
		"members", fmt.Sprint(report.Members), "size", size(report.Bytes), "id", report.ID))
	return err
}
