package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/event"
)

// detached is a run's process as the process that started it has it.
type detached struct {
	ref  backend.Ref
	dir  string // of the run
	cmd  *exec.Cmd
	said *os.File
	over chan struct{} // closed when the process has ended
	last *event.Fault  // then: what went wrong that no log has

	// signals are this process's from before the other one started until giveBack: none may end it unasked.
	signals  <-chan os.Signal
	giveBack func()
	asked    int // how often a person wanted the run to end
	killed   bool
}

// startApart starts the run of a command line in a process of its own (see apart.go), and returns when it says which
// run it is, or why there is none. dir is the directory that the command line's paths are relative to, "" this
// process's. From then on what the signals are for is show's, or letGo's, to decide.
// What has been started no context ends: whoever wanted it may be gone, and the run continues.
func startApart(
	interrupts *interrupts, program string, args []string, dir string, in answers,
) (_ *detached, err error) {
	broken := func(err error) error { return event.NewFault(event.ClassFailed, "launch.process", err) }
	self, err := os.Executable()
	if err != nil {
		return nil, broken(err)
	}
	if dir != "" { // of a directory that is gone, the start itself would say that the program is
		if _, err := os.Stat(dir); err != nil {
			return nil, broken(err)
		}
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
	d := &detached{cmd: cmd, said: said, over: make(chan struct{})}
	d.signals, d.giveBack = interrupts.take()
	defer func() {
		if err != nil {
			d.giveBack()
		}
	}()
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	saying.Close()
	if err != nil {
		said.Close()
		return nil, broken(err)
	}
	first := make(chan apartReport, 1)
	go d.wait(first)
	// One that ended before it read says why in another way.
	if err := errors.Join(json.NewEncoder(stdin).Encode(in), stdin.Close()); err != nil && !errors.Is(err, syscall.EPIPE) {
		return nil, broken(err)
	}
	r, err := d.report(first)
	switch {
	case err != nil:
		return nil, err
	case r.Fault != nil:
		return nil, r.Fault
	case r.Run == "":
		text := make([]byte, 4096)
		n, _ := words.ReadAt(text, 0)
		return nil, broken(errors.New(event.Clean(strings.TrimSpace(string(text[:n])))))
	}
	d.ref, d.dir = backend.Ref{Cluster: r.Cluster, Run: r.Run}, r.Dir
	return d, nil
}

// report waits for what the process says first; nothing when it ended without a word. The signals mean what they do
// while the run is shown.
func (d *detached) report(first <-chan apartReport) (apartReport, error) {
	for {
		select {
		case r := <-first:
			if d.asked > 0 && r == (apartReport{}) { // it ended at once
				return r, event.NewFault(event.ClassInterrupted, "run.interrupted", nil)
			}
			return r, nil
		case sig := <-d.signals:
			if sig == syscall.SIGHUP {
				d.said.Close()
				return apartReport{}, errReported{event.NewFault(event.ClassInterrupted, "run.left", nil)}
			}
			d.interrupt()
		}
	}
}

// interrupt is the first, second or third time that a person wants the run to end. The signals are those that the run
// would get on a terminal of its own: the first ends it after the running steps, the second aborts.
func (d *detached) interrupt() {
	d.asked++
	switch d.asked {
	case 1:
		d.signal(os.Interrupt)
	case 2:
		d.signal(syscall.SIGTERM) // means the same; two of a kind might come as one
	default:
		d.killed = true
		d.signal(syscall.SIGKILL)
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
func (d *detached) letGo() {
	d.said.Close()
	d.giveBack()
}

// signal reaches the process and no other: until wait has its exit code nobody else can have its number.
func (d *detached) signal(sig os.Signal) { _ = d.cmd.Process.Signal(sig) }
