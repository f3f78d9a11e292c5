package operation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/control"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

// ErrDied is the end of a run whose process ended without a word; Result says what it was at.
var ErrDied = errors.New("the process of the run ended without a word")

// Launcher starts runs as processes of their own.
type Launcher struct {
	// Command makes the process: this program with these arguments, which calls RunDetached.
	Command             func(args ...string) (*exec.Cmd, error)
	Root, Lang, Version string // of the Envelope
}

// Launch starts the process of a run and returns at once: no context ends it any more, and whoever wanted it may be
// gone. Started waits for what it says first.
func (l Launcher) Launch(q request.Request, a request.Answers) (_ *Handle, err error) {
	data, err := Envelope{l.Root, l.Lang, l.Version, q, a}.encode()
	if err != nil {
		return nil, err
	}
	src := q.Base().Source
	cmd, err := l.Command(DetachedVerb, string(q.Verb()), cmp.Or(src.Cluster, src.File))
	if err != nil {
		return nil, unlaunched(err)
	}
	if cmd.Dir != "" { // of a directory that is gone, the start itself would say that the program is
		if _, err := os.Stat(cmd.Dir); err != nil {
			return nil, unlaunched(err)
		}
	}
	words, err := os.CreateTemp("", "eggo-") // what it says before it has a directory; nobody sees the name
	if err != nil {
		return nil, unlaunched(err)
	}
	if err := os.Remove(words.Name()); err != nil {
		return nil, unlaunched(errors.Join(err, words.Close()))
	}
	said, saying, err := os.Pipe()
	if err != nil {
		return nil, unlaunched(errors.Join(err, words.Close()))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = words, words, []*os.File{saying}
	cmd.Dir = cmp.Or(cmd.Dir, "/")
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	saying.Close()
	if err != nil {
		return nil, unlaunched(errors.Join(err, said.Close(), words.Close()))
	}
	c := &child{cmd: cmd, said: said, first: make(chan struct{}), over: make(chan struct{})}
	go c.listen(words)
	// One that ended before it read says why in another way.
	_, err = stdin.Write(append(data, '\n'))
	if err := errors.Join(err, stdin.Close()); err != nil && !errors.Is(err, syscall.EPIPE) {
		return nil, unlaunched(err)
	}
	return &Handle{backend: c}, nil
}

// child is a run in a process that this one launched.
type child struct {
	cmd  *exec.Cmd
	said *os.File

	first chan struct{} // closed when it has said which run it is, or ended
	began report        // then
	early string        // then: what it said in place of a report
	over  chan struct{} // closed when the process has ended
	last  *event.Fault  // then: what went wrong that no log has

	mu    sync.Mutex
	asked bool // to end
}

// listen takes what the process says until it ends, and its exit code: it would stay as a zombie.
func (c *child) listen(words *os.File) {
	in := json.NewDecoder(io.LimitReader(c.said, 1<<20))
	if err := in.Decode(&c.began); err != nil {
		c.began = report{}
		text := make([]byte, 4096)
		n, _ := words.ReadAt(text, 0)
		c.early = event.Clean(strings.TrimSpace(string(text[:n])))
	}
	words.Close()
	close(c.first)
	var last report
	if in.Decode(&last) == nil {
		c.last = last.Fault
	}
	_ = c.cmd.Wait()
	c.said.Close()
	close(c.over)
}

// started waits until the process has said which run it is, or why there is none.
func (c *child) started(ctx context.Context) (Run, error) {
	select {
	case <-c.first:
	case <-ctx.Done():
		return Run{}, ctx.Err()
	}
	b := c.began
	switch {
	case b.Fault != nil:
		return Run{}, b.Fault
	case b.Run != "":
		return Run{request.Ref{Cluster: b.Cluster, Run: b.Run}, b.Dir}, nil
	case c.wasAsked(): // it ended at once
		return Run{}, event.NewFault(event.ClassInterrupted, "run.interrupted", nil)
	}
	if c.early != "" {
		return Run{}, unlaunched(errors.New(c.early))
	}
	return Run{}, unlaunched(errSilent)
}

// outcome is how the run ended: as its log says, for what a front end has shown may not be all.
func (c *child) outcome() (Result, error) {
	run, err := c.started(context.Background()) // it has ended: nothing is waited for
	if err != nil {
		return Result{Fault: event.AsFault(err)}, err
	}
	if c.last != nil {
		return Result{Outcome: event.Failed, Fault: c.last}, c.last
	}
	res, err := readOutcome(run.Dir)
	if errors.Is(err, ErrDied) && c.cmd.ProcessState != nil {
		res.How = c.cmd.ProcessState.String()
	}
	return res, err
}

// readOutcome is how the run of a directory ended, by its log.
func readOutcome(dir string) (Result, error) {
	last, err := journal.Last(dir)
	end, is := last.Event.(event.RunEnded)
	if err != nil || !is {
		state := state.New()
		for rec, err := range journal.Read(dir) {
			if err == nil { // what is there counts
				state.Apply(rec)
			}
		}
		return Result{Active: state.Active}, ErrDied
	}
	res := Result{Outcome: end.Outcome, Fault: end.Fault, Changed: end.Changed, Logged: true}
	if end.Fault != nil {
		return res, end.Fault
	}
	return res, nil
}

func (c *child) done() <-chan struct{} { return c.over }
func (c *child) halt() error           { return c.signal(os.Interrupt) }

// abort means the same as a second interrupt; two of a kind might come as one.
func (c *child) abort() error { return c.signal(syscall.SIGTERM) }
func (c *child) kill() error  { return c.signal(os.Kill) }

// signal reaches the process and no other: until listen has its exit code nobody else can have its number.
func (c *child) signal(sig os.Signal) error {
	c.mu.Lock()
	c.asked = true
	c.mu.Unlock()
	return c.cmd.Process.Signal(sig)
}

func (c *child) wasAsked() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

func (c *child) decide(step string, d event.Decision) error {
	run, err := c.started(context.Background())
	if err != nil {
		return err
	}
	return control.Client{Dir: run.Dir}.Decide(step, d)
}

func (c *child) release() { c.said.Close() }
