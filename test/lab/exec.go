package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// command is a prepared program of the machine with readable errors.
type command struct{ *exec.Cmd }

// program finds the program in the system directories too: the PATH of a plain user or of cron lacks them.
func program(ctx context.Context, name string, args ...string) command {
	path := withSbin(os.Getenv("PATH"))
	file := name
	for _, dir := range filepath.SplitList(path) {
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			file = found
			break
		}
	}
	c := exec.CommandContext(ctx, file, args...)
	c.Env = append(os.Environ(), "PATH="+path)
	return command{c}
}

func (c command) stdin(text []byte) command {
	c.Stdin = bytes.NewReader(text)
	return c
}

// output runs the program and returns what it wrote to stdout; an error carries the last words of its stderr.
func (c command) output() (string, error) {
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w%s", c.shown(), err, lastWords(errs.String()))
	}
	return out.String(), nil
}

// shown is the command line as errors name it: scripts are cut short.
func (c command) shown() string {
	return shorten(strings.Join(c.Args, " "))
}

func shorten(line string) string {
	line, _, _ = strings.Cut(line, "\n")
	return line[:min(len(line), 200)]
}

func (c command) run() error {
	_, err := c.output()
	return err
}

func lastWords(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	return ": " + strings.Join(lines[max(0, len(lines)-5):], "\n\t")
}
