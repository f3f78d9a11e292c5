package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/ui/jumphost"
)

// detached is a run's process as the process that started it has it.
type detached struct {
	ref  jumphost.Ref
	dir  string // of the run
	cmd  *exec.Cmd
	said *os.File
	over chan struct{} // closed when the process has ended
	last *event.Fault  // then: what went wrong that no log has
}

// startApart starts the run of a command line in a process of its own (see apart.go), and returns when it says which
// run it is, or why there is none. dir is the directory that the command line's paths are relative to, "" this
// process's.
func startApart(ctx context.Context, program string, args []string, dir string, in answers) (*detached, error) {
	broken := func(err error) error { return event.NewFault(event.ClassFailed, "launch.process", err) }
	self, err := os.Executable()
	if err != nil {
		return nil, broken(err)
	}
	words, err := os.CreateTemp("", "eggo-") // what it says before it has a directory; nobody sees the name
	if err != nil {
		return nil, broken(err)
	}
	defer words.Close()
	if err := os.Remove(words.Name()); err != nil {
		return nil, broken(err)
	}
	said, saying, err := os.Pipe()
	if err != nil {
		return nil, broken(err)
	}
	cmd := exec.Command(self, append([]string{apartVerb}, args...)...) // not of ctx: it is to live on
	cmd.Args[0] = program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles, cmd.Dir = words, words, []*os.File{saying}, dir
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	saying.Close()
	if err != nil {
		said.Close()
		return nil, broken(err)
	}
	d := &detached{cmd: cmd, said: said, over: make(chan struct{})}
	first := make(chan apartReport, 1)
	go d.wait(first)
	// One that ended before it read says why in another way.
	if err := errors.Join(json.NewEncoder(stdin).Encode(in), stdin.Close()); err != nil && !errors.Is(err, syscall.EPIPE) {
		return nil, broken(err)
	}
	select {
	case <-ctx.Done():
		d.signal(syscall.SIGTERM) // nothing was touched yet
		return nil, ctx.Err()
	case r, ok := <-first:
		switch {
		case !ok:
			text := make([]byte, 4096)
			n, _ := words.ReadAt(text, 0)
			return nil, broken(errors.New(event.Clean(strings.TrimSpace(string(text[:n])))))
		case r.Fault != nil:
			return nil, r.Fault
		}
		d.ref, d.dir = jumphost.Ref{Cluster: r.Cluster, Run: r.Run}, r.Dir
		return d, nil
	}
}

// wait takes what the process says until it ends, and its exit code: it would stay as a zombie.
func (d *detached) wait(first chan<- apartReport) {
	in := json.NewDecoder(io.LimitReader(d.said, 1<<20))
	var r apartReport
	if in.Decode(&r) == nil {
		first <- r
	}
	close(first)
	var last apartReport
	if in.Decode(&last) == nil {
		d.last = last.Fault
	}
	_ = d.cmd.Wait()
	d.said.Close()
	close(d.over)
}

// letGo is for who does not wait for the end: what no log has is then in the process's own.
func (d *detached) letGo() { d.said.Close() }

// signal reaches the process and no other: until wait has its exit code nobody else can have its number.
func (d *detached) signal(sig os.Signal) { _ = d.cmd.Process.Signal(sig) }
