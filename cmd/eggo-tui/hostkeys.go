package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/eggo-k8s/eggo/internal/operation/host"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/ui/lines"
)

// keysAtTerminal asks about keys at the terminal of a command line.
func keysAtTerminal(env *environment) func(context.Context, []backend.HostKey) ([]bool, error) {
	return func(ctx context.Context, keys []backend.HostKey) ([]bool, error) {
		t := &lines.KeyTable{
			Line:    func(ctx context.Context, prompt string) (string, error) { return askLine(ctx, env, prompt) },
			Printer: env.P, Fault: func(err error) { printError(env, err) }, Known: host.KnownHosts,
			Print: func(lines ...string) { // beside what is asked for
				for _, l := range lines {
					fmt.Fprintln(env.Stderr, l)
				}
			},
		}
		trusted, err := t.Ask(ctx, keys)
		if errors.Is(err, context.Canceled) || ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return trusted, err
	}
}
