package main

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/host/builds"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/ui"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/lines"
	"github.com/eggo-k8s/eggo/internal/ui/pages"
	"github.com/eggo-k8s/eggo/internal/ui/wizard"
)

// menuOptions are the flags of the program without a verb.
type menuOptions struct {
	ascii, accessible bool
}

func (o *menuOptions) flags(cmd *cobra.Command, env *environment) {
	cmd.Flags().BoolVar(&o.ascii, "ascii", false, env.P.T("cli.flag.ascii"))
	cmd.Flags().BoolVar(&o.accessible, "accessible", false, env.P.T("cli.flag.accessible"))
}

// menu is what a person meets who types the program's name on a terminal.
func menu(ctx context.Context, env *environment, o menuOptions) error {
	env.P = env.where().Printer(env.P.Lang())
	if lineByLine(env, o.accessible) {
		own := *env // its language may change
		h := own.host()
		b := builds.New(ctx, builds.Options{Getenv: env.Getenv, Path: h.Path})
		defer b.End()
		return lines.Menu(ctx, lineTerminal(&own), front{h}, b)
	}
	h := env.host()
	b := builds.New(ctx, builds.Options{Getenv: env.Getenv, Path: h.Path})
	defer b.End()
	opt := screenOptions(env, o.ascii)
	deps := &pages.Deps{S: front{h}, Builds: b, Version: buildVersion()}
	deps.Install = func() frame.Page { return newCluster(ctx, h, deps) }
	deps.InstallFrom = func(bundles []string) frame.Page {
		p := newCluster(ctx, h, deps)
		p.Built(bundles)
		return p
	}
	deps.Add = func(c request.ClusterRuns) frame.Page { return addNodes(ctx, h, deps, c) }
	err := ui.Run(ctx, pages.NewMenu(deps), opt, env.Stdin, env.Stdout)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// screenOptions are language and looks as the environment has them. plain is --ascii.
func screenOptions(env *environment, plain bool) ui.Options {
	o := ui.Options{
		Lang: env.P.Lang(), Complete: env.host().CompletePath, Command: env.P.Command,
		Mono:  env.Getenv("NO_COLOR") != "", // no-color.org
		Still: set(env.Getenv("EGGO_NO_MOTION")),
	}
	var console bool
	if o.ASCII, console = ascii(env, plain); console {
		if cli.LangFlag(env.Args) == "" && env.Getenv("EGGO_LANG") == "" {
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
	return in && onTerminal(env.Stdout) && (set(env.Getenv("ACCESSIBLE")) || env.Getenv("TERM") == "dumb")
}

func set(v string) bool { return v != "" && v != "0" }

// ascii says whether only ASCII is to be drawn, and whether it is for the Linux console, whose fonts have no more.
func ascii(env *environment, flag bool) (yes, console bool) {
	switch v := env.Getenv("EGGO_ASCII"); {
	case flag || v != "" && v != "0":
		return true, false
	case v == "0": // serial lines and some programs say linux and can do more
		return false, false
	}
	wide := cmp.Or(env.Getenv("RUNEWIDTH_EASTASIAN"), "0") != "0"
	return wide || env.Getenv("TERM") == "linux", env.Getenv("TERM") == "linux"
}

// newCluster is the wizard; what it has written is installed in a process of its own.
func newCluster(ctx context.Context, h *host.Host, deps *pages.Deps) *wizard.Page {
	return wizard.New(ctx, onScreen(h.Draft(), deps))
}

// addNodes is the wizard's table over the cluster's own deploy.yaml, for machines that join it.
func addNodes(
	ctx context.Context, h *host.Host, deps *pages.Deps, c request.ClusterRuns,
) frame.Page {
	cluster, svc, err := h.Joining(c)
	if err != nil {
		return pages.NewAdd(deps, c) // join itself says what is wrong
	}
	return wizard.NewAdd(ctx, onScreen(svc, deps), cluster, c.File)
}

// onScreen are the services of a draft as the screen has them: a run begins on a page of its own, with the passwords
// that were typed.
func onScreen(svc backend.DraftServices, deps *pages.Deps) wizard.Services {
	return wizard.Services{
		DraftServices: svc, Known: svc.KnownHosts,
		Beat:  func() time.Duration { return time.Second },
		Build: func(use func([]string)) frame.Page { return pages.NewTake(deps, use) },
		Run: func(file string, of config.Draft) frame.Page {
			own := *deps
			own.S = withSecrets{deps.S, draft.Secrets(of)}
			return pages.NewLaunch(&own, svc.Start(file, of))
		},
	}
}

// withSecrets is a control host that knows secrets by the IDs of their questions.
type withSecrets struct {
	backend.Services
	secrets map[string]string
}

// Launch implements backend.Services.
func (w withSecrets) Launch(ctx context.Context, st backend.Start, to ask.Asker) (request.Ref, error) {
	return w.Services.Launch(ctx, st, ask.WithAnswers(to, w.secrets))
}
