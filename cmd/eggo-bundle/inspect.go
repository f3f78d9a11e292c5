package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/event"
)

func newInspect(env *environment) *cobra.Command {
	cmd := &cobra.Command{Use: "inspect FILE", Short: env.P.T("bundle.cli.inspect.short"), Args: cobra.ExactArgs(1)}
	output := outputFlag(cmd, env)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		asJSON, err := output()
		if err != nil {
			return err
		}
		a, err := bundle.Open(args[0])
		if err != nil {
			return err
		}
		if asJSON {
			emit(env.Stdout, map[string]any{"file": a.Path(), "size": a.Size(), "id": a.ID(), "manifest": a.Manifest()})
			return nil
		}
		return inspect(env, a)
	}
	return cmd
}

func inspect(env *environment, a *bundle.Archive) error {
	p, m, w := env.P, a.Manifest(), env.Stdout
	os := strings.TrimSpace(m.OS.ID + " " + m.OS.Release + " " + m.OS.Codename)
	fmt.Fprintln(w, p.T("bundle.cli.head", "name", m.Name, "arch", m.Arch, "kubernetes", m.Kubernetes, "os", os, "format", fmt.Sprint(m.Format),
		"size", size(a.Size()), "id", a.ID()))

	rows := [][]string{{p.T("bundle.cli.col.kind"), p.T("bundle.cli.col.path"), p.T("bundle.cli.col.ver"), p.T("bundle.cli.col.size"),
		p.T("bundle.cli.col.dst"), p.T("bundle.cli.col.roles")}}
	for _, e := range m.Members {
		rows = append(rows, []string{string(e.Kind), e.Path, e.Version, size(e.Size), e.Dst, roles(e.Roles)})
	}
	table(w, p.T("bundle.cli.members"), rows)

	rows = [][]string{{p.T("bundle.cli.col.name"), p.T("bundle.cli.col.size"), p.T("bundle.cli.col.digest"), p.T("bundle.cli.col.roles")}}
	for _, im := range m.Images {
		rows = append(rows, []string{im.Name, size(im.Size), im.Digest, roles(im.Roles)})
	}
	table(w, p.T("bundle.cli.images"), rows)

	rows = [][]string{{p.T("bundle.cli.col.name"), p.T("bundle.cli.col.roles")}}
	for _, x := range m.Install {
		rows = append(rows, []string{x.Name, roles(x.Roles)})
	}
	table(w, p.T("bundle.cli.packages"), rows)
	_, err := fmt.Fprintf(w, "\n%s\n", p.T("bundle.cli.unverified"))
	return err
}

func roles(rs []bundle.Role) string {
	var s []string
	for _, r := range rs {
		s = append(s, string(r))
	}
	return strings.Join(s, ",")
}

// table writes rows in columns as wide as their widest cell, counted in cells of a terminal; nothing if there is only the head. The
// text comes from a file: it is cleaned of what a terminal would obey.
func table(w io.Writer, title string, rows [][]string) {
	if len(rows) < 2 {
		return
	}
	width := map[int]int{}
	for _, r := range rows {
		for i := range r {
			r[i] = event.Clean(ansi.Strip(r[i]))
			width[i] = max(width[i], ansi.StringWidth(r[i]))
		}
	}
	fmt.Fprintf(w, "\n%s\n", title)
	for _, r := range rows {
		var b strings.Builder
		for i, c := range r {
			b.WriteString("  " + c + strings.Repeat(" ", width[i]-ansi.StringWidth(c)))
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}
