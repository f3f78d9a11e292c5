package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/journal"
	"github.com/eggo-k8s/eggo/internal/redact"
)

func newSupportCmd(env *environment) *cobra.Command {
	var o logOptions
	var file string
	cmd := &cobra.Command{Use: "support [" + env.P.T("cli.arg.run") + "]", Short: env.P.T("cli.support.short"), Long: env.P.T("cli.support.long"), Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return support(cmd.Context(), env, o, strings.Join(args, ""), file)
		}}
	o.which(cmd, env)
	cmd.Flags().StringVarP(&file, "out", "o", "", env.P.T("cli.support.out"))
	return cmd
}

// supportDir is the directory in the archive.
const supportDir = "eggo-support/"

// support packs what was logged of a run, without the secrets, for somebody who is to find a fault.
func support(ctx context.Context, env *environment, o logOptions, run, file string) error {
	file, names, err := supportFile(env, o, run, file, func(c known) map[string]string {
		list, err := unitStates(ctx, env, o, c)
		out := map[string]string{}
		if err != nil {
			out["units.txt"] = why(env, err) + "\n"
			fmt.Fprintln(env.Stderr, env.P.T("support.no-units", "node", c.Name, "cause", why(env, err)))
		}
		for _, u := range list {
			if out["nodes/"+u.node+".units.txt"] = u.text; u.err != nil {
				out["nodes/"+u.node+".units.txt"] = why(env, u.err) + "\n"
				fmt.Fprintln(env.Stderr, env.P.T("support.no-units", "node", u.node, "cause", why(env, u.err)))
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

// supportFile writes the bundle and gives its name, and the names of what is in it. more, if given, has texts beside what was logged, by name.
func supportFile(env *environment, o logOptions, run, file string, more func(known) map[string]string) (string, []string, error) {
	c, dir, err := loggedRun(env, o, run, "")
	if err != nil {
		return "", nil, err
	}
	file = cmp.Or(file, "eggo-support-"+c.Name+"-"+c.LastRun+".tar.gz")
	if exists(file) {
		return "", nil, event.NewFault(event.ClassUsage, "support.exists", nil, "file", file)
	}
	home := filepath.Join(stateRoot(env, o.state), c.Name)
	hide, err := redact.New(home)
	if err != nil {
		return "", nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	var out bytes.Buffer
	var beside map[string]string
	if more != nil {
		beside = more(c)
	}
	names, err := writeSupport(&out, env, c, dir, hide, beside)
	if err == nil {
		err = saveNew(file, out.Bytes(), false)
	}
	return file, names, err
}

// writeSupport writes the archive and gives the names of what is in it.
func writeSupport(out *bytes.Buffer, env *environment, c known, dir string, hide *redact.Redactor, more map[string]string) ([]string, error) {
	var names []string
	z := gzip.NewWriter(out)
	t := tar.NewWriter(z)
	add := func(name string, data []byte) error {
		names = append(names, supportDir+name)
		if err := t.WriteHeader(&tar.Header{Name: supportDir + name, Mode: 0o600, Size: int64(len(data)), ModTime: time.Now(), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err := t.Write(data)
		return err
	}
	about := fmt.Sprintf("%s\n\ncluster %s\nrun %s\neggo-tui %s (%s/%s)\n", env.P.T("support.readme"), c.Name, c.LastRun, buildVersion(), runtime.GOOS, runtime.GOARCH)
	if err := add("README.txt", []byte(about)); err != nil {
		return nil, err
	}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == journal.ReserveName {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if rel == savedName { // that of the run; the cluster's own follows
			return add("run-"+savedName, hide.YAML(data))
		}
		if strings.HasSuffix(rel, ".jsonl") {
			return add(filepath.ToSlash(rel), hide.JSON(data))
		}
		return add(filepath.ToSlash(rel), hide.Text(data))
	})
	if err == nil && c.File != "" {
		var data []byte
		if data, err = os.ReadFile(c.File); err == nil {
			err = add(savedName, hide.YAML(data))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		if err == nil {
			err = add(name, hide.Text([]byte(more[name])))
		}
	}
	if err = errors.Join(err, t.Close(), z.Close()); err != nil {
		return nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	return names, nil
}
