package main

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/ui/lines"
)

// lineTerminal is the terminal of this process, line by line.
func lineTerminal(env *environment) lines.Terminal {
	only, _ := ascii(env, slices.Contains(env.Args, "--ascii"))
	t := lines.Terminal{
		In: env.Stdin, Out: env.Stdout, Err: env.Stderr, Printer: env.P, ASCII: only,
		Turned:   func(p *i18n.Printer) { env.P = p },
		Reported: func(err error) bool { return errors.As(err, new(errReported)) },
	}
	if f, ok := terminal(env); ok {
		t.Hush = func() (func(), error) { return hushed(f) }
	}
	if env.Interrupts != nil {
		t.Interrupts = env.Interrupts.begin
	}
	return t
}

// hushed takes a terminal's echo away until the function that it gives is called.
func hushed(f *os.File) (back func(), err error) {
	was, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		return nil, err
	}
	now := *was
	now.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(int(f.Fd()), unix.TCSETS, &now); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(int(f.Fd()), unix.TCSETS, was) }, nil
}
