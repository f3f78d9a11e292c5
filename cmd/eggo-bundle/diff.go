package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/bundle/diff"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/exitcode"
)

func newDiff(env *environment) *cobra.Command {
	p := env.P
	older, newer := p.T("bundle.cli.arg.old"), p.T("bundle.cli.arg.new")
	cmd := &cobra.Command{Use: "diff " + older + " " + newer, Short: p.T("bundle.cli.diff.short"),
		Long: p.T("bundle.cli.diff.long"),
		Args: cli.Exactly(older, newer)}
	asCode := cmd.Flags().Bool("exit-code", false, p.T("bundle.cli.flag.exit-code"))
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
		b, err := bundle.Open(args[1])
		if err != nil {
			return err
		}
		d := diff.Compare(a.Manifest(), b.Manifest(), build.Versions(), nil)
		switch {
		case asJSON:
			err = env.emit("difference", differenceFields(d, fields{"old": args[0], "new": args[1]}))
		case d.Empty():
			err = env.say(p.T("bundle.cli.same", "old", args[0], "new", args[1]))
		default:
			err = printDifference(env, p.T("bundle.cli.differ", "old", args[0], "new", args[1]), d)
		}
		if err == nil && *asCode && !d.Empty() {
			return silent{exitcode.Failed}
		}
		return err
	}
	return cmd
}

// differenceFields adds a difference to a JSON line; nil is none.
func differenceFields(d *diff.Difference, f fields) fields {
	f["same"] = d == nil || d.Empty()
	if d != nil {
		f["difference"] = d
	}
	return f
}

// printDifference writes a table of all that moved, and what it comes to.
func printDifference(env *environment, title string, d *diff.Difference) error {
	p := env.P
	name := func(prefix, key string) string {
		if key == "" {
			return ""
		}
		if p.Has(prefix + key) {
			return p.T(prefix + key)
		}
		return key
	}
	rows := [][]string{{p.T("bundle.cli.col.change"), p.T("bundle.cli.col.kind"), p.T("bundle.cli.col.name"),
		p.T("bundle.cli.col.from"),
		p.T("bundle.cli.col.to"), ">" + p.T("bundle.cli.col.bytes")}}
	counts := map[diff.Word]int{}
	for _, r := range d.Rows() {
		what := name("diff.kind.", string(r.Kind))
		label := r.Name
		switch {
		case r.Kind == "":
			label = name("diff.field.", r.Field)
		case r.Field != "" && r.Field != diff.FieldVersion:
			label += " (" + name("diff.field.", r.Field) + ")"
		}
		rows = append(rows, []string{name("diff.word.", string(r.Word)), what, label, r.From, r.To, bytesMoved(r)})
	}
	for _, c := range d.Changes {
		counts[c.Word]++
	}
	if err := env.say(title); err != nil {
		return err
	}
	env.table(env.Stdout, "", rows)
	var parts []string
	for _, w := range []diff.Word{diff.Added, diff.Removed, diff.Upgraded, diff.Downgraded, diff.Changed} {
		if counts[w] > 0 {
			parts = append(parts, p.T("bundle.cli.diff-count", "count", fmt.Sprint(counts[w]), "word",
				name("diff.word.", string(w))))
		}
	}
	parts = append(parts, p.T("bundle.cli.unchanged-count", "count", fmt.Sprint(d.Same)))
	key := "bundle.cli.diff-bytes"
	if !d.Bytes.Exact {
		key = "bundle.cli.diff-bytes-most"
	}
	bytes := p.T(key, "new", report.Amount(d.Bytes.OnlyB), "old", report.Amount(d.Bytes.OnlyA), "shared",
		report.Amount(d.Bytes.Shared))
	return env.say("\n  " + p.T("bundle.cli.diff-summary", "counts", strings.Join(parts, p.T("bundle.cli.comma")),
		"bytes", bytes))
}

// bytesMoved is how much larger something became, with the layers that an image did not have before.
func bytesMoved(r diff.Row) string {
	s := ""
	switch {
	case r.Bytes > 0:
		s = "+" + report.Amount(r.Bytes)
	case r.Bytes < 0:
		s = "-" + report.Amount(-r.Bytes)
	}
	return s
}
