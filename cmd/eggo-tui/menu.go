package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/i18n"
	"github.com/eggo-k8s/eggo/internal/lineui"
	"github.com/eggo-k8s/eggo/internal/ui"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/pages"
)

// menuOptions are the flags of the program without a verb.
type menuOptions struct {
	ascii, accessible bool
	state             string
}

func (o *menuOptions) flags(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringVar(&o.state, "state-dir", "", env.P.T("cli.flag.state"))
	cmd.Flags().BoolVar(&o.ascii, "ascii", false, env.P.T("cli.flag.ascii"))
	cmd.Flags().BoolVar(&o.accessible, "accessible", false, env.P.T("cli.flag.accessible"))
}

// menu is what a person meets who types the program's name on a terminal.
func menu(ctx context.Context, env *environment, o menuOptions) error {
	env.P = env.where(o.state).printer(env.P.Lang())
	if lineByLine(env, o.accessible) {
		own := *env // its language may change
		d := &backendServices{env: &own, state: o.state}
		return lineui.Menu(ctx, lineTerminal(&own), d.lineServices())
	}
	d := &backendServices{env: env, state: o.state}
	opt := screenOptions(env, o.ascii)
	deps := &pages.Deps{S: d.services(), Version: buildVersion()}
	deps.Install = func() frame.Page { return d.newCluster(ctx, deps) }
	deps.Add = func(c backend.Cluster) frame.Page { return d.addNodes(ctx, deps, c) }
	err := ui.Run(ctx, pages.NewMenu(deps), opt, env.Stdin, env.Stdout)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// screenOptions are language and looks as the environment has them. plain is --ascii.
func screenOptions(env *environment, plain bool) ui.Options {
	o := ui.Options{
		Lang: env.P.Lang(), Complete: completePath, Command: env.P.Command,
		Mono: env.Getenv("NO_COLOR") != "", // no-color.org
	}
	var console bool
	if o.ASCII, console = ascii(env, plain); console {
		if langFlag(env.Args) == "" && env.Getenv("EGGO_LANG") == "" {
			o.Lang = i18n.English
		}
		o.Note = i18n.NewPrinter(o.Lang).T("screen.console")
	}
	return o
}

// lineByLine says whether to speak line by line instead of drawing: because it was asked for, or because the terminal
// cannot be drawn on.
func lineByLine(env *environment, flag bool) bool {
	if flag {
		return true
	}
	_, in := terminal(env)
	return in && onTerminal(env) && (set(env.Getenv("ACCESSIBLE")) || env.Getenv("TERM") == "dumb")
}

func set(v string) bool { return v != "" && v != "0" }
