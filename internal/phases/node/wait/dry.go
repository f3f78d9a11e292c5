// Package wait has what steps wait with, and what a dry run does in the place of waiting.
package wait

import (
	"context"
	"errors"
	"fmt"
)

// ErrDry ends what would continue with the answer to a change that was not made.
var ErrDry = errors.New("nothing is changed in a dry run")

// dryKey marks the context of what runs dry.
type dryKey struct{}

// WithDry marks what runs under the context as a dry run.
func WithDry(ctx context.Context) context.Context { return context.WithValue(ctx, dryKey{}, true) }

// Dry says whether what runs under ctx is a dry run: what is not so now will not be so by waiting.
func Dry(ctx context.Context) bool { return ctx.Value(dryKey{}) != nil }

// Recover makes an error of a panic: what a step before it did not make is missing.
func Recover(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	return f()
}
