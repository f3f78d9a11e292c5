package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/output/report/building"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

type buildFlags struct {
	sourceFlags
	locked, noSums bool
	dryRun         bool
	base, split    string
	connections    int
}

func newBuild(env *environment) *cobra.Command {
	p := env.P
	var f buildFlags
	cmd := &cobra.Command{
		Use:        "build --arch " + p.T("cli.arg.arch") + " -o " + p.T("cli.arg.dir"),
		SuggestFor: []string{"create", "make", "pack"},
		Short:      p.T("bundle.cli.build.short"), Long: p.T("bundle.cli.build.long"),
		Args: cli.Exactly(),
		Example: "  eggo-bundle build --arch amd64,arm64 -o out\n" +
			"  eggo-bundle build --arch amd64 --mirror-preset cn -o out\n" +
			"  eggo-bundle build --arch arm64 --os openeuler-24.03 --split 4G -o out\n" +
			"  eggo-bundle build --arch amd64,arm64 -f spec.yaml --base old/eggo-{arch}.tar.gz -o out",
	}
	f.add(cmd, env)
	flags := cmd.Flags()
	flags.BoolVar(&f.locked, "locked", false, p.T("bundle.cli.flag.locked"))
	flags.StringVar(&f.base, "base", "", p.T("bundle.cli.flag.base", "arch", "{arch}"))
	flags.StringVar(&f.split, "split", "", p.T("bundle.cli.flag.split"))
	flags.BoolVar(&f.noSums, "no-sums", false, p.T("bundle.cli.flag.no-sums"))
	flags.BoolVar(&f.dryRun, "dry-run", false, p.T("bundle.cli.flag.build-dry-run"))
	flags.IntVar(&f.connections, "connections", 0, p.T("bundle.cli.flag.connections"))
	output := outputFlag(cmd, env)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if _, err := output(); err != nil {
			return err
		}
		if f.dryRun {
			return f.showMirrors(env)
		}
		if err := needed(cmd, "arch", "out"); err != nil {
			return err
		}
		o, err := f.options(env)
		if err != nil {
			return err
		}
		r := building.New(env.building(), o.Arches, f.verbose)
		o.Report = r.Event
		env.tell(p.T("bundle.cli.started", "name", o.Spec.Name, "arch", strings.Join(o.Arches, ", ")))
		r.Start()
		res, err := build.Build(cmd.Context(), *o)
		r.Close(res)
		if err == nil {
			env.next(res)
		}
		return err
	}
	return cmd
}

// showMirrors says where a build would fetch from instead of the source.
func (f *buildFlags) showMirrors(env *environment) error {
	m, err := f.mirrored()
	if err != nil {
		return err
	}
	p := env.P
	rows := [][]string{{p.T("bundle.cli.col.from"), p.T("bundle.cli.col.to")}}
	for _, pair := range m.Pairs() {
		if env.json {
			if err := env.emit("mirror", fields{"from": pair.From, "to": pair.To, "preset": pair.Public}); err != nil {
				return err
			}
		}
		rows = append(rows, []string{pair.From, pair.To})
	}
	switch {
	case env.json:
	case len(rows) == 1:
		return env.say(p.T("bundle.cli.mirrors-none"))
	default:
		env.table(env.Stdout, "", rows)
	}
	if f.preset != "" {
		env.tell(p.T("bundle.cli.mirrors-carry"))
	}
	return nil
}

// maxConnections is more than any registry likes.
const maxConnections = 256

func (f *buildFlags) options(env *environment) (*build.Options, error) {
	if f.connections < 0 || f.connections > maxConnections {
		return nil, event.NewFault(event.ClassUsage, "usage.connections", nil)
	}
	var part int64
	if f.split != "" {
		var err error
		if part, err = parsePart("--split", f.split); err != nil {
			return nil, err
		}
	}
	o, err := f.sourceFlags.options(env, f.connections)
	if err != nil {
		return nil, err
	}
	if f.base != "" && len(o.Arches) > 1 && !strings.Contains(f.base, "{arch}") {
		return nil, event.NewFault(event.ClassUsage, "usage.base", nil, "base", f.base)
	}
	o.PartSize, o.Locked, o.Base, o.NoSums = part, f.locked, f.base, f.noSums
	return o, nil
}

// next says what a person does now.
func (env *environment) next(res *build.Result) {
	if env.json || len(res.Bundles) == 0 {
		return
	}
	var files []string
	for _, b := range res.Bundles {
		files = append(files, event.Clean(b.Path))
	}
	env.tell(env.P.T("bundle.cli.next", "files", strings.Join(files, " ")))
}
