package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/ui/lines"
)

// keysAtTerminal asks about keys at the terminal of a command line.
func keysAtTerminal(ctx context.Context, env *environment, q ask.HostKeys) ([]bool, error) {
	t := &lines.KeyTable{
		Line:    func(ctx context.Context, prompt string) (string, error) { return askLine(ctx, env, prompt) },
		Printer: env.P, Fault: func(err error) { printError(env, err) }, Known: q.Known,
		Print: func(lines ...string) { // beside what is asked for
			for _, l := range lines {
				fmt.Fprintln(env.Stderr, l)
			}
		},
	}
	trusted, err := t.Ask(ctx, q.Keys)
	if errors.Is(err, context.Canceled) || ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return trusted, err
}
