package frame

import (
	"io"
	"os"
	"os/exec"
	"testing"
)

type reading struct {
	io.Reader
	of *os.File
}

func (r reading) Terminal() io.Reader { return r.of }

type writing struct {
	io.Writer
	of *os.File
}

func (w writing) Terminal() io.Writer { return w.of }

// An editor finds the terminal at its stdin, not a pipe from what reads the terminal for the screen: it could neither
// steer it nor be the only one that reads it.
func TestAProgramGetsTheTerminalItself(t *testing.T) {
	in, of, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer of.Close()
	c := exec.Command("true")
	program{c}.SetStdin(reading{of: in})
	if c.Stdin != io.Reader(in) {
		t.Errorf("stdin is %T", c.Stdin)
	}
	program{c}.SetStdout(writing{of: of})
	program{c}.SetStderr(writing{of: of})
	if c.Stdout != io.Writer(of) || c.Stderr != io.Writer(of) {
		t.Errorf("stdout is %T, stderr %T", c.Stdout, c.Stderr)
	}
	program{c}.SetStdin(of)
	if c.Stdin != io.Reader(in) {
		t.Error("what was set before does not stay")
	}
}
