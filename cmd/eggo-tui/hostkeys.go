package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/lineui"
	"github.com/eggo-k8s/eggo/internal/remote"
)

// comparedWith is what a known_hosts file says of keys.
func comparedWith(file string, keys []backend.HostKey) ([]backend.KeyCheck, error) {
	if rest, is := strings.CutPrefix(file, "~/"); is {
		if home, err := os.UserHomeDir(); err == nil {
			file = home + "/" + rest
		}
	}
	var asked []remote.HostKeyQuestion
	for _, k := range keys {
		asked = append(asked, remote.HostKeyQuestion{Node: k.Node, Addr: k.Addr, Type: k.Type,
			Fingerprint: k.Fingerprint})
	}
	matches, err := remote.CompareKeys(file, asked)
	var out []backend.KeyCheck
	for _, m := range matches {
		out = append(out, map[remote.KeyMatch]backend.KeyCheck{remote.KeyListed: backend.KeyVerified,
			remote.KeyDiffers: backend.KeyDiffers}[m])
	}
	return out, err
}

// keysAtTerminal asks about keys at the terminal of a command line.
func keysAtTerminal(env *environment) func(context.Context, []backend.HostKey) ([]bool, error) {
	return func(ctx context.Context, keys []backend.HostKey) ([]bool, error) {
		t := &lineui.KeyTable{
			Line:    func(ctx context.Context, prompt string) (string, error) { return askLine(ctx, env, prompt) },
			Printer: env.P, Fault: func(err error) { printError(env, err) }, Known: comparedWith,
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
