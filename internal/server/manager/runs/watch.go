package runs

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

const (
	lookAgain = 200 * time.Millisecond // at a log that is being written
	mostKept  = 1 << 20                // bytes of the newest lines of a log that are kept, half of them at least
	markEvery = 1024                   // records from one place in a log where reading may begin to the next
	mostGiven = 64                     // lines that somebody who watches takes at once
)

// Line is a record of a log: its number and its JSON, which nobody changes.
type Line struct {
	Seq  uint64
	Text []byte
}

// feed reads the log of a run for all who watch it: one goroutine, which ends with the last of them. The newest lines
// are kept for all; whoever wants earlier ones, or is slower than that, reads them from the log.
type feed struct {
	log     *Log
	stop    context.CancelFunc
	watched int // guarded by the Runner's mu

	mu    sync.Mutex
	lines []Line // the newest
	size  int    // of their texts
	marks []journal.Position
	next  uint64        // the number of the record that comes next
	more  chan struct{} // closed when there is more, or the end
	over  bool
	err   error // why the log cannot be read on
}

// read reads the log until nobody writes it any more, or ctx ends: nobody watches.
func (f *feed) read(ctx context.Context) {
	defer f.log.Close()
	pause := time.NewTicker(lookAgain)
	defer pause.Stop()
	for {
		alive := f.log.Alive() // before the log is read: what was written until it ended is read, too
		err := f.take(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil || !alive {
			f.put(nil, nil, true, err)
			return
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
	}
}

// take reads what has come.
func (f *feed) take(ctx context.Context) error {
	var lines []Line
	var marks []journal.Position
	flush := func() {
		if len(lines) > 0 {
			f.put(lines, marks, false, nil)
		}
		lines, marks = nil, nil
	}
	for ctx.Err() == nil {
		mark := f.log.Position()
		l, err := encoded(f.log.Next())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			flush() // what comes before it is whole
			return err
		}
		if l.Seq%markEvery == 1 {
			marks = append(marks, mark)
		}
		if lines = append(lines, l); len(lines) == markEvery {
			flush()
		}
	}
	flush()
	return nil
}

// encoded is a record as a line.
func encoded(rec event.Record, err error) (Line, error) {
	if err != nil {
		return Line{}, err
	}
	text, err := event.Encode(rec)
	return Line{rec.Seq, text}, err
}

// put has all who watch know of more, or of the end.
func (f *feed) put(lines []Line, marks []journal.Position, over bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines, f.marks, f.over, f.err = append(f.lines, lines...), append(f.marks, marks...), over, err
	for _, l := range lines {
		f.size += len(l.Text)
		f.next = l.Seq + 1
	}
	if f.size > mostKept {
		n := 0
		for ; f.size > mostKept/2 && n < len(f.lines)-1; n++ {
			f.size -= len(f.lines[n].Text)
		}
		f.lines = slices.Clone(f.lines[n:]) // the others are not kept by the slice
	}
	close(f.more)
	f.more = make(chan struct{})
}

// portion is what there is for one who watches.
type portion struct {
	lines  []Line
	behind *journal.Position // the lines are not kept any more: the log has them from here on
	more   <-chan struct{}
	over   bool
	err    error
}

// from gives lines from a number on.
func (f *feed) from(seq uint64) portion {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := portion{more: f.more, over: f.over, err: f.err}
	if seq >= f.next {
		return out
	}
	if first := f.lines[0].Seq; seq >= first {
		list := f.lines[seq-first:]
		out.lines = slices.Clone(list[:min(len(list), mostGiven)])
		return out
	}
	out.behind = &f.marks[(seq-1)/markEvery]
	return out
}

// Watch is a run that somebody watches.
type Watch struct {
	dir  string
	feed *feed
	end  func()
}

// Watch watches a run of any process, running or over, until it is closed. However many watch it, its log is read once.
func (r *Runner) Watch(ctx context.Context, cluster, run string) (*Watch, error) {
	key := cluster + "/" + run
	if w := r.join(key, nil); w != nil {
		return w, nil
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // it lasts for others, too
	log, err := r.Log(ctx, cluster, run)
	if err != nil {
		stop()
		return nil, err
	}
	f := &feed{log: log, stop: stop, next: 1, more: make(chan struct{})}
	w := r.join(key, f)
	if w.feed != f { // somebody was faster
		stop()
		log.Close()
		return w, nil
	}
	go f.read(ctx)
	return w, nil
}

// join adds somebody to those who watch a run; fresh is its feed if there is none.
func (r *Runner) join(key string, fresh *feed) *Watch {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.feeds[key]
	if f == nil {
		if fresh == nil {
			return nil
		}
		f = fresh
		r.feeds[key] = f
	}
	f.watched++
	return &Watch{f.log.run.Run().Dir, f, sync.OnceFunc(func() { r.part(key, f) })}
}

// part takes one away from those who watch a run.
func (r *Runner) part(key string, f *feed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.watched--; f.watched == 0 {
		delete(r.feeds, key)
		f.stop()
	}
}

// Close ends the watching.
func (w *Watch) Close() { w.end() }

// Lines gives the records from a number on: those that are there, and those that come until the run ends. Others who
// watch do not wait for one who takes his time.
func (w *Watch) Lines(ctx context.Context, from uint64) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		for next := max(from, 1); ; {
			s := w.feed.from(next)
			switch {
			case s.behind != nil:
				if !w.reread(ctx, &next, *s.behind, yield) {
					return
				}
			case len(s.lines) > 0:
			case s.over:
				if s.err != nil {
					yield(Line{}, s.err)
				}
				return
			default:
				select {
				case <-s.more:
				case <-ctx.Done():
					yield(Line{}, ctx.Err())
					return
				}
			}
			for _, l := range s.lines {
				if next = l.Seq + 1; !yield(l, nil) {
					return
				}
			}
		}
	}
}

// reread gives lines from the log until the newer ones are kept; false: the reader has left, or the log cannot be read.
func (w *Watch) reread(ctx context.Context, next *uint64, at journal.Position, yield func(Line, error) bool) bool {
	log, done, err := journal.OpenReaderAt(w.dir, at)
	if err != nil {
		yield(Line{}, err)
		return false
	}
	defer done()
	for w.feed.from(*next).behind != nil {
		l, err := encoded(log.Next())
		if err == nil {
			err = ctx.Err()
		}
		if err != nil { // also io.EOF: the log was longer
			yield(Line{}, err)
			return false
		}
		if l.Seq < *next {
			continue
		}
		if *next = l.Seq + 1; !yield(l, nil) {
			return false
		}
	}
	return true
}
