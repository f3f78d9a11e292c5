package frame

import (
	"cmp"
	"io"
	"os/exec"

	tea "charm.land/bubbletea/v2"
)

// Reader is an input that reads a terminal for the screen.
type Reader interface {
	// Terminal is what it reads.
	Terminal() io.Reader
}

// Writer is an output that writes to a terminal for the screen.
type Writer interface {
	// Terminal is what it writes to.
	Terminal() io.Writer
}

// Program gives the screen to another program, such as an editor, until that has ended; after makes a message of how.
// The program gets the terminal itself: through what reads it for the screen it would find no terminal.
func Program(c *exec.Cmd, after func(error) tea.Msg) tea.Cmd {
	return tea.Exec(program{c}, after)
}

type program struct{ *exec.Cmd }

// SetStdin implements tea.ExecCommand, as the others do: what was set before stays.
func (p program) SetStdin(in io.Reader) {
	if r, ok := in.(Reader); ok {
		in = r.Terminal()
	}
	p.Stdin = cmp.Or(p.Stdin, in)
}

// SetStdout implements tea.ExecCommand.
func (p program) SetStdout(out io.Writer) { p.Stdout = cmp.Or(p.Stdout, terminal(out)) }

// SetStderr implements tea.ExecCommand.
func (p program) SetStderr(out io.Writer) { p.Stderr = cmp.Or(p.Stderr, terminal(out)) }

func terminal(out io.Writer) io.Writer {
	if w, ok := out.(Writer); ok {
		return w.Terminal()
	}
	return out
}
