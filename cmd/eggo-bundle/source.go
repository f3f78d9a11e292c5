package main

import (
	"cmp"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// netFlags say how servers are reached.
type netFlags struct {
	insecure, ca []string
}

func (f *netFlags) add(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringArrayVar(&f.insecure, "insecure", nil, env.P.T("bundle.cli.flag.insecure"))
	cmd.Flags().StringArrayVar(&f.ca, "ca", nil, env.P.T("bundle.cli.flag.ca"))
}

// sourceFlags are those of the verbs that resolve a spec.
type sourceFlags struct {
	netFlags
	arch, mirrors []string
	file, out, os string
	lock          string
	mirrorsFile   string
	preset        string
	cache         string
	verbose       bool
}

func (f *sourceFlags) add(cmd *cobra.Command, env *environment) {
	p, flags := env.P, cmd.Flags()
	flags.StringSliceVar(&f.arch, "arch", nil, p.T("bundle.cli.flag.arch"))
	flags.StringVar(&f.os, "os", "", osFlag(env))
	flags.StringVarP(&f.file, "file", "f", "", p.T("bundle.cli.flag.file"))
	flags.StringVarP(&f.out, "out", "o", "", p.T("bundle.cli.flag.out"))
	flags.StringVar(&f.lock, "lock", "", p.T("bundle.cli.flag.lock"))
	flags.StringVar(&f.cache, "cache", "", p.T("bundle.cli.flag.cache"))
	flags.StringArrayVar(&f.mirrors, "mirror", nil, p.T("bundle.cli.flag.mirror"))
	flags.StringVar(&f.mirrorsFile, "mirrors", "", p.T("bundle.cli.flag.mirrors"))
	flags.StringVar(&f.preset, "mirror-preset", "",
		p.T("bundle.cli.flag.mirror-preset", "presets", strings.Join(assets.MirrorPresets(), ", ")))
	f.netFlags.add(cmd, env)
	flags.BoolVarP(&f.verbose, "verbose", "v", false, p.T("bundle.cli.flag.verbose"))
}

// options reads everything that the flags name.
func (f *sourceFlags) options(env *environment, connections int) (*build.Options, error) {
	o := &build.Options{Out: f.out, Lock: f.lock, Insecure: f.insecure, Connections: connections}
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
	if o.Mirrors, err = f.mirrored(); err != nil {
		return nil, err
	}
	if o.Epoch, err = build.Epoch(env.Getenv); err != nil {
		return nil, err
	}
	if o.Netrc, err = fetch.LoadNetrc(env.Getenv); err != nil {
		return nil, err
	}
	o.Transport, err = fetch.NewTransport(fetch.TransportOptions{CAFiles: f.ca, Insecure: f.insecure,
		Getenv: env.Getenv, Connections: connections})
	if err != nil {
		return nil, err
	}
	o.Cache, err = openCache(f.cache)
	return o, err
}

// mirrored reads --mirror, --mirrors and --mirror-preset.
func (f *sourceFlags) mirrored() (*fetch.Mirrors, error) {
	pairs := f.mirrors
	if f.mirrorsFile != "" {
		more, err := readMirrors(f.mirrorsFile)
		if err != nil {
			return nil, err
		}
		pairs = append(more, pairs...)
	}
	m, err := fetch.ParseMirrors(pairs)
	if err != nil {
		return nil, err
	}
	return build.Preset(m, f.preset)
}

func openCache(dir string) (*fetch.Cache, error) {
	if dir == "" {
		var err error
		if dir, err = fetch.DefaultDir(); err != nil {
			return nil, err
		}
	}
	return fetch.OpenCache(dir)
}

// spec reads the spec that was asked for: one's own, or that of the default cluster for an operating system.
func (f *sourceFlags) spec() (*spec.Spec, error) {
	if f.file != "" {
		if f.os != "" {
			return nil, event.NewFault(event.ClassUsage, "usage.os-and-file", nil)
		}
		return spec.Load(f.file)
	}
	text, err := defaultSpec(f.os)
	if err != nil {
		return nil, err
	}
	return spec.Parse(text)
}

func defaultSpec(system string) ([]byte, error) {
	return build.SpecText(cmp.Or(system, build.DefaultSystem))
}

// readMirrors reads a file of FROM=TO lines.
func readMirrors(name string) ([]string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fileFault(name, err)
	}
	return fetch.PairLines(data), nil
}
