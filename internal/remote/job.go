package remote

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

const (
	maxStdout = 16 << 20
	maxShown  = 4 << 20
	maxStderr = 64 << 10
	maxStdin  = 16 << 20
)

// job is one script in a session.
type job struct {
	id     int
	begun  [2]bool // by stream: standard output, standard error
	over   [2]bool
	status int

	stdout bytes.Buffer
	shown  tail // standard output of a job whose output is shown
	stderr tail
	log    *printed                     // nil when nobody listens
	tell   func(awaited, time.Duration) // what it waits for; nil when nobody wants to know
	waits  chan awaited

	refused  bool          // the agent could not begin
	started  chan struct{} // closed when standard output has begun; from then on a TERM is reported
	done     chan struct{} // closed when both streams are over
	tooLarge chan struct{} // closed when standard output is
	once     sync.Once
}

func newJob(log *printed) *job {
	return &job{log: log, shown: tail{n: maxShown}, stderr: tail{n: maxStderr}, waits: make(chan awaited, 1),
		started: make(chan struct{}), done: make(chan struct{}), tooLarge: make(chan struct{})}
}

func (s *session) stdout(p []byte) { s.text(0, p) }
func (s *session) stderr(p []byte) { s.text(1, p) }

// text is what came between marks. It belongs to the job that has begun and is not over; else to nobody.
func (s *session) text(stream int, p []byte) {
	s.mu.Lock()
	j := s.job
	if s.boot != nil && stream == 1 {
		s.boot.err.write(p)
	}
	if j == nil || !j.begun[stream] || j.over[stream] {
		s.mu.Unlock()
		return
	}
	if stream == 1 {
		j.stderr.write(p)
	} else if j.log != nil {
		j.shown.write(p)
	} else if j.stdout.Len()+len(p) <= maxStdout {
		j.stdout.Write(p)
	} else {
		j.once.Do(func() { close(j.tooLarge) })
	}
	s.mu.Unlock()
	// Outside the lock, for an event may take its time.
	if j.log != nil {
		j.log.write(stream, p)
	}
}

func (s *session) stdoutMark(m mark) { s.marked(0, m) }
func (s *session) stderrMark(m mark) { s.marked(1, m) }

func (s *session) marked(stream int, m mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.boot; b != nil {
		switch m.what {
		case "ready":
			if b.ready++; b.ready == 2 {
				b.signal <- "ready"
			}
		case "missing":
			b.signal <- "missing"
		}
		return
	}
	j := s.job
	if j == nil || j.id != m.id || j.over[stream] {
		return // of an earlier job, or said twice
	}
	switch m.what {
	case "b":
		if stream == 0 && !j.begun[0] {
			close(j.started)
		}
		j.begun[stream] = true
	case "y", "x":
		j.refused = m.what == "y"
		j.over[stream], j.status = true, m.status
		if j.log != nil {
			j.log.ended(stream)
		}
		if j.over[0] && j.over[1] {
			close(j.done)
		}
	default:
		if a, ok := parseAwaited(m); ok {
			select {
			case j.waits <- a:
			default:
			}
		}
	}
}

// begin sends a script; mode is r, s or x as agent.sh has them.
func (s *session) begin(mode string, j *job, script []byte) error {
	s.mu.Lock()
	s.seq++
	j.id = s.seq
	s.job = j
	s.mu.Unlock()
	var b bytes.Buffer
	b.Grow(len(script) + 64)
	b.WriteString(mode + " " + strconv.Itoa(j.id) + " " + strconv.Itoa(len(script)+1) + "\n")
	b.Write(script)
	b.WriteString("\n.\n")
	return s.write(b.Bytes())
}

// result of a job that is done. By then the session may have the next one: who kills a job on the side sees its end
// late.
func (s *session) result(j *job) (shell.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.job == j {
		s.job = nil
	}
	if j.refused {
		return shell.Result{}, failed("ssh.node-resources", true, nil)
	}
	if j.log != nil {
		return shell.Result{Stdout: j.shown.bytes(), Stderr: j.stderr.bytes(), Status: j.status}, nil
	}
	return shell.Result{Stdout: j.stdout.Bytes(), Stderr: j.stderr.bytes(), Status: j.status}, nil
}

// await waits for the end of a job that was begun. When ctx ends before, the script's process group is killed; usable
// says whether the session can be used again. The helper is asked from time to time what the script waits for; one that
// says nothing is lost.
func (s *session) await(ctx context.Context, j *job) (r shell.Result, usable bool, err error) {
	w := s.watch(j)
	defer w.tick.Stop()
	for {
		select {
		case <-w.tick.C:
			if !w.ask() {
				s.abandon(errHelper)
				return shell.Result{}, false, unknownFault(errHelper)
			}
			continue
		case a := <-j.waits:
			w.tell(a)
			continue
		case <-j.done:
		case <-s.ended:
		case <-s.link.gone:
		case <-ctx.Done():
		case <-j.tooLarge:
		}
		return s.outcome(ctx, j)
	}
}

// outcome is await's answer when something has ended.
func (s *session) outcome(ctx context.Context, j *job) (r shell.Result, usable bool, err error) {
	var why *event.Fault
	select {
	case <-j.done:
		select {
		case <-j.tooLarge:
			return shell.Result{}, true, tooLarge()
		default:
		}
		r, err := s.result(j)
		return r, true, err
	case <-s.ended:
		return shell.Result{}, false, unknownFault(s.reason())
	case <-s.link.gone:
		return shell.Result{}, false, unknownFault(s.reason())
	case <-ctx.Done():
		why = ctxFault(ctx)
	case <-j.tooLarge:
		why = tooLarge()
	}
	return shell.Result{}, s.kill(j), why
}

func tooLarge() *event.Fault {
	return failed("ssh.output-too-large", false, nil, "limit", strconv.Itoa(maxStdout>>20)+" MiB")
}

// reason is why the session or its connection ended.
func (s *session) reason() error {
	if s.link.dead() {
		<-s.link.gone
		return s.link.err
	}
	select {
	case <-s.ended:
		if s.err == nil {
			return errors.New("the session ended")
		}
		return s.err
	default:
		return errors.New("the connection ended")
	}
}

// kill ends a job: TERM, then KILL. It reports whether it is known to have ended.
func (s *session) kill(j *job) bool {
	begin := time.NewTimer(s.opt.Timeouts.Kill)
	select {
	case <-j.started:
	case <-j.done:
	case <-s.ended:
	case <-begin.C:
	}
	begin.Stop()
	for _, sig := range []string{"TERM", "KILL"} {
		sent := make(chan error, 1)
		go func() { sent <- s.write([]byte("k " + strconv.Itoa(j.id) + " " + sig + "\n")) }()
		t := time.NewTimer(s.opt.Timeouts.Kill)
		select {
		case <-j.done:
			t.Stop()
			_, _ = s.result(j)
			return true
		case <-s.ended:
			t.Stop()
			return false
		case <-t.C:
		}
	}
	return false
}
