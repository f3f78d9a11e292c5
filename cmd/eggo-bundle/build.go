package main

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/event"
)

type buildFlags struct {
	arch, mirrors []string
	file, out, os string
	mirrorsFile   string
	cache         string
}

func newBuild(env *environment) *cobra.Command {
	p := env.P
	var f buildFlags
	cmd := &cobra.Command{Use: "build --arch ARCH -o DIR", Short: p.T("bundle.cli.build.short"), Args: cobra.NoArgs}
	cmd.Flags().StringSliceVar(&f.arch, "arch", nil, p.T("bundle.cli.flag.arch"))
	cmd.Flags().StringVarP(&f.file, "file", "f", "", p.T("bundle.cli.flag.file"))
	cmd.Flags().StringVar(&f.os, "os", "", p.T("bundle.cli.flag.os", "systems", strings.Join(assets.Systems(), ", ")))
	cmd.Flags().StringVarP(&f.out, "out", "o", "", p.T("bundle.cli.flag.out"))
	cmd.Flags().StringArrayVar(&f.mirrors, "mirror", nil, p.T("bundle.cli.flag.mirror"))
	cmd.Flags().StringVar(&f.mirrorsFile, "mirrors", "", p.T("bundle.cli.flag.mirrors"))
	cmd.Flags().StringVar(&f.cache, "cache", "", p.T("bundle.cli.flag.cache"))
	for _, required := range []string{"arch", "out"} {
		if err := cmd.MarkFlagRequired(required); err != nil {
			panic(err) // a flag that was added above
		}
	}
	output := outputFlag(cmd, env)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		asJSON, err := output()
		if err != nil {
			return err
		}
		o, err := f.options(env)
		if err != nil {
			return err
		}
		r := newReporter(env, asJSON, o.Spec.Name)
		o.Report = r.event
		res, err := build.Build(cmd.Context(), *o)
		r.close(res)
		return err
	}
	return cmd
}

func (f *buildFlags) options(env *environment) (*build.Options, error) {
	o := &build.Options{Out: f.out}
	seen := map[string]bool{}
	for _, a := range f.arch {
		if a != "amd64" && a != "arm64" {
			return nil, event.NewFault(event.ClassUsage, "usage.arch", nil, "arch", a)
		}
		if !seen[a] {
			seen[a] = true
			o.Arches = append(o.Arches, a)
		}
	}
	var err error
	if o.Spec, err = f.spec(); err != nil {
		return nil, err
	}
	pairs := f.mirrors
	if f.mirrorsFile != "" {
		more, err := readMirrors(f.mirrorsFile)
		if err != nil {
			return nil, err
		}
		pairs = append(more, pairs...)
	}
	if o.Mirrors, err = fetch.ParseMirrors(pairs); err != nil {
		return nil, err
	}
	if v := env.Getenv("SOURCE_DATE_EPOCH"); v != "" {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 0 {
			return nil, event.NewFault(event.ClassUsage, "usage.epoch", nil, "value", v)
		}
		o.Epoch = time.Unix(n, 0)
	}
	dir := f.cache
	if dir == "" {
		if dir, err = fetch.DefaultDir(); err != nil {
			return nil, err
		}
	}
	o.Cache, err = fetch.OpenCache(dir)
	return o, err
}

// defaultOS is what a bundle is for when neither --os nor a spec says.
const defaultOS = "debian-12"

// spec reads the spec that was asked for: one's own, or that of the default cluster for an operating system.
func (f *buildFlags) spec() (*spec.Spec, error) {
	if f.file != "" {
		if f.os != "" {
			return nil, event.NewFault(event.ClassUsage, "usage.os-and-file", nil)
		}
		return spec.Load(f.file)
	}
	system := f.os
	if system == "" {
		system = defaultOS
	}
	text, err := assets.BundleSpec(system)
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "usage.os", nil, "os", system, "systems", strings.Join(assets.Systems(), ", "))
	}
	return spec.Parse(text)
}

func fileFault(name string, err error) error {
	if pe := (*os.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	return event.NewFault(event.ClassUsage, "usage.file", err, "file", name)
}

// readMirrors reads FROM=TO lines; empty lines and those that begin with # are passed over.
func readMirrors(name string) ([]string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fileFault(name, err)
	}
	var out []string
	for _, l := range strings.Split(string(data), "\n") {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
			out = append(out, l)
		}
	}
	return out, nil
}
