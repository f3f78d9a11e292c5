package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/ui/jumphost"
)

// plainMenu is the menu line by line, for screen readers and serial lines: numbered choices, nothing is drawn over. What is chosen runs as
// the verb does on the command line.
func plainMenu(ctx context.Context, d *desk) error {
	env := d.env
	for {
		clusters, err := d.clusters(ctx)
		if err != nil {
			return err
		}
		list := plainChoices(clusters)
		fmt.Fprintln(env.Stderr)
		for i, c := range list {
			line := fmt.Sprintf("%2d  %s", i+1, env.P.T("menu."+c.id))
			if c.cluster != "" {
				line += ": " + event.Clean(c.cluster)
			}
			if c.why != "" {
				line += " (" + env.P.T("plain.not-now") + ": " + env.P.T(c.why) + ")"
			}
			fmt.Fprintln(env.Stderr, line)
		}
		answer, err := askLine(ctx, env, env.P.T("plain.choose"))
		switch {
		case errors.Is(err, io.EOF), err == nil && answer == "q":
			return nil
		case err != nil:
			return err
		}
		n, err := strconv.Atoi(answer)
		if err != nil || n < 1 || n > len(list) || list[n-1].why != "" {
			fmt.Fprintln(env.Stderr, env.P.T("plain.no-such", "text", answer))
			continue
		}
		if err := plainDo(ctx, d, list[n-1]); err != nil {
			if ctx.Err() != nil {
				return err
			}
			printError(env, err)
		}
	}
}

type plainChoice struct {
	id, cluster, why string
	args             []string
	ask              string // of i18n: a line to be asked for, whose words follow args
}

// plainChoices are the menu's entries, one for each cluster that they can be of.
func plainChoices(clusters []jumphost.Cluster) []plainChoice {
	var first, out []plainChoice
	none := func(id, why string) { out = append(out, plainChoice{id: id, why: why}) }
	each := func(to *[]plainChoice, id, ask string, fits func(jumphost.Cluster) bool, args ...string) bool {
		found := false
		for _, c := range clusters {
			if fits(c) {
				*to, found = append(*to, plainChoice{id: id, cluster: c.Name, ask: ask, args: append(args[:len(args):len(args)], "--id", c.Name)}), true
			}
		}
		return found
	}
	known := func(c jumphost.Cluster) bool { return c.File != "" }
	idle := func(c jumphost.Cluster) bool {
		return known(c) && c.Status != jumphost.Running && c.Status != jumphost.Removed
	}
	each(&first, "decide", "", func(c jumphost.Cluster) bool { return c.Said() == jumphost.Waiting }, "logs")
	each(&first, "watch", "", func(c jumphost.Cluster) bool { return c.Said() == jumphost.Running }, "logs")
	each(&first, "resume", "", func(c jumphost.Cluster) bool {
		return known(c) && (c.Status == jumphost.Interrupted || c.Status == jumphost.Failed)
	}, "resume")
	out = append(out, plainChoice{id: "install"}, plainChoice{id: "file", ask: "files.path", args: []string{"deploy", "--file"}})
	if !each(&out, "add", "add.addresses", idle, "join") {
		none("add", "menu.why.no-cluster")
	}
	if !each(&out, "remove", "col.node", idle, "delete") {
		none("remove", "menu.why.no-cluster")
	}
	none("upgrade", "menu.why.upgrade")
	if !each(&out, "cleanup", "", idle, "cleanup") {
		none("cleanup", "menu.why.no-cluster")
	}
	if !each(&out, "status", "", known, "status") {
		none("status", "menu.why.no-cluster")
	}
	out = append(out, plainChoice{id: "runs", args: []string{"logs", "--list"}})
	return append(first, out...)
}

func plainDo(ctx context.Context, d *desk, c plainChoice) error {
	if c.id == "install" {
		return plainCluster(ctx, d)
	}
	args := append([]string{d.env.Args[0], "--lang", string(d.env.P.Lang())}, c.args...)
	if c.ask != "" {
		line, err := askLine(ctx, d.env, d.env.P.T(c.ask)+":")
		if err != nil || line == "" {
			return err
		}
		args = append(args, strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == ',' })...)
	}
	if d.state != "" {
		args = append(args, "--state-dir", d.state)
	}
	env := *d.env
	env.Args = args
	return execute(ctx, &env)
}
