package page

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

// hubs are the runs that somebody watches: each log is read and reduced once, and drawn once in each language, however
// many watch it.
type hubs struct {
	page *Page
	mu   sync.Mutex
	all  map[hubKey]*hub
}

type hubKey struct{ cluster, run string }

// hub is a run that is watched.
type hub struct {
	key     hubKey
	viewers int // guarded by hubs.mu, as is left
	left    int // how often somebody left

	mu    sync.Mutex
	log   Log
	bad   *event.Fault // why the log cannot be read on
	state *state.State
	usual state.History
	read  time.Time // when the log was read last
	over  bool
	at    moment
	drawn map[drawnAs]parts // of the whole run, at the moment
}

// drawnAs is what differs between those who see the same moment.
type drawnAs struct {
	lang i18n.Lang
	end  ending
}

// moment is what a drawing depends on.
type moment struct {
	seq    uint64
	second int64
	over   bool
}

// enter gives the hub of a run, which the caller leaves.
func (h *hubs) enter(ctx context.Context, cluster, run string) (*hub, error) {
	key := hubKey{cluster, run}
	h.mu.Lock()
	if h.all == nil {
		h.all = map[hubKey]*hub{}
	}
	x := h.all[key]
	if x == nil {
		x = &hub{key: key, state: state.New()}
		h.all[key] = x
	}
	x.viewers++
	h.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.log != nil {
		return x, nil
	}
	ctx = context.WithoutCancel(ctx)
	log, err := h.page.Open(ctx, cluster, run)
	if err != nil { // the next one tries again
		h.leave(x)
		return nil, err
	}
	if x.log = log; h.page.Usual != nil {
		go x.learn(ctx, h.page)
	}
	return x, nil
}

// learn reads earlier runs, which takes its time: what they say is shown when it is known.
func (x *hub) learn(ctx context.Context, p *Page) {
	usual := p.Usual(ctx, x.key.cluster, x.key.run)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.usual = usual
}

// linger is how long a log stays open that nobody watches: a page that was opened is about to open its stream.
const linger = 20 * time.Second

// leave closes the log some time after nobody watches the run any more.
func (h *hubs) leave(x *hub) {
	h.mu.Lock()
	defer h.mu.Unlock()
	x.viewers--
	x.left++
	if left := x.left; x.viewers == 0 {
		time.AfterFunc(linger, func() { h.end(x, left) })
	}
}

// end closes the log, unless somebody has watched since.
func (h *hubs) end(x *hub, left int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if x.viewers > 0 || x.left != left {
		return
	}
	delete(h.all, x.key)
	if x.log != nil {
		x.log.Close()
	}
}

// catchUp reads what has come. The hub is locked.
func (x *hub) catchUp(now time.Time) {
	if x.over || now.Sub(x.read) < fast/2 && !x.read.IsZero() {
		return
	}
	x.read = now
	alive := x.log.Alive() // before the log is read: what was written until it ended is read, too
	for {
		r, err := x.log.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				x.bad = event.AsFault(err)
			}
			x.over = x.state.Ended != nil || !alive || x.bad != nil
			return
		}
		x.state.Apply(r)
	}
}

// ended says whether the run has ended by now.
func (x *hub) ended(now time.Time) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.catchUp(now)
	return x.state.Ended != nil
}

// board draws the run as it is now, and the node that is looked at.
func (x *hub) board(p *Page, b boardOf) (parts, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := p.Now()
	x.catchUp(now)
	b.usual, b.now, b.live, b.bad = x.usual, now, !x.over, x.bad
	// What is said of time, such as that a node is silent, changes without an event.
	at := moment{x.state.Seq, now.Unix(), x.over}
	if x.over {
		at.second = 0
	}
	if at != x.at || x.drawn == nil {
		x.at, x.drawn = at, map[drawnAs]parts{}
	}
	as := drawnAs{b.lang, b.end}
	whole, is := x.drawn[as]
	if !is {
		var err error
		if whole, err = p.drawBoard(x.state, b); err != nil {
			return parts{}, err
		}
		x.drawn[as] = whole
	}
	whole.over, whole.now = x.over, b.clock(x.state).UnixMilli()
	return p.withNode(x.state, b, whole)
}

// replayed plays a run again for one viewer, from a record on.
type replayed struct {
	log   Log
	play  *backend.Replay
	state *state.State
}

func newReplay(log Log, from uint64, speed float64, now func() time.Time) *replayed {
	r := &replayed{log: log, state: state.New()}
	r.play = backend.NewReplay(log, min(64, max(0.25, speed)), now)
	for from > r.state.Seq { // what was seen already
		rec, err := log.Next()
		if err != nil {
			break
		}
		r.state.Apply(rec)
	}
	return r
}

// board draws the replay as it is now.
func (r *replayed) board(p *Page, b boardOf) (parts, error) {
	list, err := r.play.Take(5000)
	for _, rec := range list {
		r.state.Apply(rec)
	}
	clock := r.play.Clock()
	if clock.IsZero() {
		clock = r.state.Now
	}
	b.now, b.replay, b.live = clock, true, err == nil
	if err != nil && !errors.Is(err, io.EOF) {
		b.bad = event.AsFault(err)
	}
	whole, drawn := p.drawBoard(r.state, b)
	if drawn != nil {
		return parts{}, drawn
	}
	whole.over, whole.now = err != nil, b.clock(r.state).UnixMilli()
	return p.withNode(r.state, b, whole)
}

// entry is what the log of a node has: what was printed there, and why its steps failed.
type entry struct {
	at         time.Time
	step, line string
	fault      *event.Fault // in place of a line
}

// saidBy is all that was said by a node so far. A node that the run does not have is unknown.
func saidBy(log Log, host string) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		known, steps := host == "", map[string]string{}
		for {
			r, err := log.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				yield(entry{}, err)
				return
			}
			x := entry{at: r.Time}
			of := ""
			switch e := r.Event.(type) {
			case event.PlanMade:
				known = known || slices.ContainsFunc(e.Hosts, func(h event.Host) bool { return h.Name == host })
				for _, st := range e.Steps {
					steps[st.ID] = st.Host
				}
				continue
			case event.Output:
				of, x.step, x.line = e.Host, e.Step, e.Line
			case event.Finding:
				if of, x.fault = e.Host, &e.Fault; e.Severity != event.Error {
					continue
				}
			case event.StepRetry:
				of, x.step, x.fault = steps[e.Step], e.Step, &e.Fault
			case event.StepAsked:
				of, x.step, x.fault = steps[e.Step], e.Step, &e.Fault
			case event.StepEnded:
				if of, x.step, x.fault = steps[e.Step], e.Step, e.Fault; e.Fault == nil {
					continue
				}
			default:
				continue
			}
			if of == host {
				if known = true; !yield(x, nil) {
					return
				}
			}
		}
		if !known {
			yield(entry{}, event.NewFault(event.ClassUsage, "page.no-node", nil, "node", host))
		}
	}
}
