package main

import (
	"context"
	"errors"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/bundle/importarchive"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/output/report/building"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

type adoptFlags struct {
	out, name, arch, os, kubernetes string
	verbose                         bool
}

func newAdopt(env *environment) *cobra.Command {
	p := env.P
	var f adoptFlags
	cmd := &cobra.Command{
		Use:   "adopt " + p.T("bundle.cli.arg.old") + "... -o " + p.T("cli.arg.dir"),
		Short: p.T("bundle.cli.adopt.short"), Long: p.T("bundle.cli.adopt.long"),
		Args: cli.Some(p.T("bundle.cli.arg.old")),
		Example: "  eggo-bundle adopt packages-x86.tar.gz -o out\n" +
			"  eggo-bundle adopt packages-x86.tar.gz packages-arm.tar.gz --os openeuler-22.03 -o out\n" +
			"  eggo-bundle adopt old.tar.gz --kubernetes v1.34.2 -o out",
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "", p.T("bundle.cli.flag.adopt-out"))
	flags.StringVar(&f.name, "name", "eggo", p.T("bundle.cli.flag.adopt-name"))
	flags.StringVar(&f.arch, "arch", "", p.T("bundle.cli.flag.adopt-arch"))
	flags.StringVar(&f.os, "os", "", p.T("bundle.cli.flag.adopt-os"))
	flags.StringVar(&f.kubernetes, "kubernetes", "", p.T("bundle.cli.flag.adopt-kubernetes"))
	flags.BoolVarP(&f.verbose, "verbose", "v", false, p.T("bundle.cli.flag.verbose"))
	output := outputFlag(cmd, env)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		if _, err := output(); err != nil {
			return err
		}
		if err := needed(cmd, "out"); err != nil {
			return err
		}
		return f.run(cmd.Context(), env, files)
	}
	return cmd
}

var kubernetesTag = regexp.MustCompile(`^v1\.\d{1,3}\.\d{1,3}([-+][0-9A-Za-z.+-]{1,40})?$`)

func (f *adoptFlags) options(env *environment) (importarchive.Options, error) {
	o := importarchive.Options{Out: f.out, Name: f.name, Arch: f.arch, Kubernetes: f.kubernetes}
	if f.arch != "" && f.arch != "amd64" && f.arch != "arm64" {
		return o, event.NewFault(event.ClassUsage, "usage.adopt-arch", nil, "arch", f.arch)
	}
	if !bundleName.MatchString(f.name) {
		return o, event.NewFault(event.ClassUsage, "usage.adopt-name", nil, "name", f.name)
	}
	if f.kubernetes != "" && !kubernetesTag.MatchString(f.kubernetes) {
		return o, event.NewFault(event.ClassUsage, "usage.adopt-kubernetes", nil, "version", f.kubernetes)
	}
	if f.os != "" {
		s, err := build.DefaultSpec(f.os)
		if err != nil {
			return o, err
		}
		o.OS = s.OS
	}
	var err error
	o.Epoch, err = build.Epoch(env.Getenv)
	return o, err
}

func (f *adoptFlags) run(ctx context.Context, env *environment, files []string) error {
	o, err := f.options(env)
	if err != nil {
		return err
	}
	w, err := importarchive.New(o)
	if err != nil {
		return err
	}
	defer w.Close()
	var bad []error
	for _, file := range files {
		err := watched(env, file, func(progress func(done, total int64)) error {
			return w.Read(ctx, file, progress)
		})
		if ctx.Err() != nil {
			return err
		}
		bad = append(bad, err)
	}
	if err := errors.Join(bad...); err != nil {
		return err
	}
	r := building.New(env.building(), w.Arches(), f.verbose)
	r.Start()
	res, err := w.Build(ctx, r.Event)
	if err != nil {
		r.Stop()
		return err
	}
	r.Close(res.Result)
	for _, b := range res.Bundles {
		if err := env.adopted(b.Path, res.Manifests[b.Path].Adopted); err != nil {
			return err
		}
	}
	env.next(res.Result)
	return nil
}

// adopted says what a bundle was made of, and what that archive cannot prove; nothing of other bundles.
func (env *environment) adopted(file string, a *bundle.Adopted) error {
	if a == nil {
		return nil
	}
	p := env.P
	if env.json {
		list := []fields{}
		for _, u := range a.Unverified {
			text, next := p.Fault(unverified(u))
			x := fields{"code": u.Code, "args": u.Args, "message": text}
			if next != "" {
				x["next"] = next
			}
			list = append(list, x)
		}
		return env.emit("adopted", fields{"file": file, "from": a.File, "sha256": a.SHA256, "size": a.Size,
			"unverified": list})
	}
	if err := env.say("\n" + p.T("bundle.cli.adopted", "bundle", event.Clean(file), "from", event.Clean(a.File),
		"sha256", a.SHA256)); err != nil {
		return err
	}
	for _, u := range a.Unverified {
		text, next := p.Fault(unverified(u))
		line := "  - " + event.Clean(text) + " [" + u.Code + "]"
		if next != "" {
			line += "\n    → " + event.Clean(next)
		}
		if err := env.say(line); err != nil {
			return err
		}
	}
	return nil
}

// unverified is a finding of the manifest as a fault. A code of a newer version has no sentence here.
func unverified(u bundle.Unverified) *event.Fault {
	return &event.Fault{Class: event.ClassBundle, Code: u.Code, Args: u.Args}
}
