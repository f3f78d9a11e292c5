package remote

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// errHelper ends a session whose connection is there and whose helper says nothing: it was stopped, or the node is out
// of its depth.
var errHelper = errors.New("the helper on the node does not answer")

// awaited is what a script waits for, as the helper sees it.
type awaited struct {
	pid     int
	state   string // as in ps: R, S, D, T, Z
	process string
	lockPID int
	lock    string // who holds a lock that the process waits for
}

// parseAwaited reads a mark "w:STATE:NAME:PID:NAME". A node can say there what it likes.
func parseAwaited(m mark) (a awaited, ok bool) {
	f := strings.Split(m.what, ":")
	if len(f) != 5 || f[0] != "w" {
		return a, false
	}
	a = awaited{pid: max(0, m.status), state: event.Clip(f[1], 8), process: event.Clip(f[2], 32),
		lock: event.Clip(f[4], 32)}
	a.lockPID, _ = strconv.Atoi(f[3])
	for _, s := range []*string{&a.state, &a.process, &a.lock} {
		if *s == "-" {
			*s = ""
		}
	}
	return a, true
}

// watch asks the helper from time to time what the job waits for.
type watch struct {
	s     *session
	j     *job
	tick  *time.Ticker
	begun clock
	said  clock // when it was last told
	last  awaited
	told  bool
	asked chan struct{} // holds one: a question is being written
}

func (s *session) watch(j *job) *watch {
	s.heard.reset()
	return &watch{s: s, j: j, tick: time.NewTicker(s.opt.Timeouts.Probe), begun: newClock(s.opt.Now),
		said:  newClock(s.opt.Now),
		asked: make(chan struct{}, 1)}
}

// ask sends the question; false when the helper has been silent for too long. While what came is still being taken in
// here, it may well have answered.
func (w *watch) ask() bool {
	s := w.s
	if s.taking.Load() == 0 && s.heard.since() >= s.opt.Timeouts.Answer {
		return false
	}
	select {
	case w.asked <- struct{}{}:
		go func() { // writing has no clock; it ends with the session
			_ = s.write([]byte("w " + strconv.Itoa(w.j.id) + "\n"))
			<-w.asked
		}()
	default:
	}
	return true
}

// tell emits what is awaited, when the command has printed nothing for a while: at once when that is another process
// than before, else now and then.
func (w *watch) tell(a awaited) {
	quiet := w.begun.since()
	if w.j.log != nil {
		quiet = w.j.log.since.since()
	}
	if w.j.tell == nil || quiet < w.s.opt.Timeouts.Probe || w.told && a == w.last &&
		w.said.since() < tellAgain*w.s.opt.Timeouts.Probe {
		return
	}
	w.said.reset()
	w.told, w.last = true, a
	w.j.tell(a, w.begun.since())
}

// tellAgain is after how many probes the same is told again.
const tellAgain = 4

// waiting is the event.
func (h *Host) waiting(step string) func(awaited, time.Duration) {
	return func(a awaited, since time.Duration) {
		h.opt.Emit(event.Waiting{Host: h.target.Name, Step: step, Process: a.process, PID: a.pid, State: a.state,
			Lock: a.lock, LockPID: a.lockPID, For: since})
	}
}
