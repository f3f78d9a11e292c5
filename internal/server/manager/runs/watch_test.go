package runs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// written is a run that goes on.
type written struct {
	t    *testing.T
	log  *journal.Writer
	lock *journal.Lock
	bus  *event.Bus
	n    uint64
}

func goingOn(t *testing.T, r *Runner) *written {
	t.Helper()
	j, err := journal.Open(r.o.Root, "one")
	if err != nil {
		t.Fatal(err)
	}
	lock, err := j.Lock(journal.Holder{PID: os.Getpid(), User: "u", Host: "h", Verb: "deploy", Since: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	log, err := j.NewRun("deploy", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Writes(log.ID()); err != nil {
		t.Fatal(err)
	}
	w := &written{t: t, log: log, lock: lock, bus: event.NewBus(time.Now, log)}
	w.emit(event.RunStarted{Run: log.ID(), Cluster: "one", Verb: "deploy"})
	return w
}

func (w *written) emit(e event.Event) {
	w.t.Helper()
	if err := w.bus.Emit(e); err != nil {
		w.t.Fatal(err)
	}
	w.n++
}

// print has a node print so many lines of about a kilobyte.
func (w *written) print(lines int) {
	w.t.Helper()
	for i := range lines {
		w.emit(event.Output{Host: "m1", Step: "s", Stream: "stdout", Line: fmt.Sprint(i, strings.Repeat(" word", 200))})
	}
}

func (w *written) end() {
	w.t.Helper()
	w.emit(event.RunEnded{Outcome: event.Changed})
	if err := errors.Join(w.log.Close(), w.lock.Unlock()); err != nil {
		w.t.Fatal(err)
	}
}

// encodings are all lines of a log.
func encodings(t *testing.T, dir string) (out []string) {
	t.Helper()
	for rec, err := range journal.Read(dir) {
		if err != nil {
			t.Fatal(err)
		}
		text, err := event.Encode(rec)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
	return out
}

// seen compares what somebody got with the log, from a number on.
func seen(t *testing.T, name string, got []Line, all []string, from uint64) {
	t.Helper()
	want := all[min(uint64(len(all)), max(from, 1)-1):]
	if len(got) != len(want) {
		t.Errorf("%s got %d lines, not %d", name, len(got), len(want))
		return
	}
	for i, l := range got {
		if l.Seq != max(from, 1)+uint64(i) || string(l.Text) != want[i] {
			t.Errorf("%s: line %d is %d: %s", name, i, l.Seq, l.Text)
			return
		}
	}
}

// Many watch a run that goes on, from different numbers, and one of them stands still until what he has not seen is not
// kept any more. All get each line once, none waits for another, and the log is read by one.
func TestManyWatchARun(t *testing.T) {
	r := runner(t)
	run := goingOn(t, r)
	run.print(10)
	type one struct {
		from uint64
		got  []Line
		err  error
		done chan struct{}
	}
	watch := func(x *one, then func(Line)) {
		t.Helper()
		w, err := r.Watch(t.Context(), "one", run.log.ID())
		if err != nil {
			t.Fatal(err)
		}
		x.done = make(chan struct{})
		go func() {
			defer close(x.done)
			defer w.Close()
			for l, err := range w.Lines(t.Context(), x.from) {
				if x.err = err; err != nil {
					return
				}
				x.got = append(x.got, l)
				then(l)
			}
		}()
	}
	stands, moves := make(chan struct{}), make(chan struct{})
	slow := &one{}
	watch(slow, func(l Line) {
		if l.Seq == 3 {
			close(stands)
			<-moves
		}
	})
	<-stands
	much := uint64(3 * mostKept / 1000)
	quick := []*one{{from: 0}, {from: 1}, {from: 7}, {from: 11}, {from: 12}, {from: much + 5000}}
	there := make(chan struct{}, len(quick))
	for _, x := range quick {
		watch(x, func(l Line) {
			if l.Seq == much {
				there <- struct{}{}
			}
		})
	}
	run.print(int(much))
	for range len(quick) - 1 { // the last waits for what never comes
		<-there
	}
	r.mu.Lock()
	if len(r.feeds) != 1 || r.feeds["one/"+run.log.ID()].watched != len(quick)+1 {
		t.Error(r.feeds)
	}
	f := r.feeds["one/"+run.log.ID()]
	r.mu.Unlock()
	f.mu.Lock()
	if f.size > mostKept+markEvery*2000 || f.lines[0].Seq <= 64 {
		t.Error("kept:", f.size, f.lines[0].Seq)
	}
	f.mu.Unlock()
	close(moves)
	run.end()
	all := encodings(t, run.log.Dir())
	if uint64(len(all)) != run.n {
		t.Fatal(len(all), run.n)
	}
	for _, x := range append(quick, slow) {
		<-x.done
		if x.err != nil {
			t.Error(x.from, x.err)
		}
		seen(t, fmt.Sprint("who began with ", x.from), x.got, all, x.from)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.feeds) != 0 {
		t.Error("watched by nobody:", r.feeds)
	}
}

// A run that is over can be asked for from any number.
func TestARunIsSeenFromAnyNumber(t *testing.T) {
	r := runner(t)
	run := goingOn(t, r)
	run.print(2*markEvery + 50)
	run.end()
	all := encodings(t, run.log.Dir())
	n := run.n
	for _, from := range []uint64{0, 2, markEvery, markEvery + 1, markEvery + 2, 2*markEvery + 1, n, n + 1,
		1<<64 - 1} {
		w, err := r.Watch(t.Context(), "one", run.log.ID())
		if err != nil {
			t.Fatal(err)
		}
		var got []Line
		for l, err := range w.Lines(t.Context(), from) {
			if err != nil {
				t.Fatal(from, err)
			}
			got = append(got, l)
		}
		w.Close()
		seen(t, fmt.Sprint(from), got, all, from)
	}
	if _, err := r.Watch(t.Context(), "one", "20260102T030405Z-deploy"); event.AsFault(err).Code != "usage.no-run" {
		t.Error(err)
	}
}

// Where a log is damaged, what comes before is given, and then what is wrong; also to one who is behind.
func TestADamagedLogIsWatched(t *testing.T) {
	r := runner(t)
	run := goingOn(t, r)
	run.print(2 * mostKept / 1000)
	run.end()
	file := filepath.Join(run.log.Dir(), "events.jsonl")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, append(text, "no record\nnor this\n"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []uint64{1, run.n} {
		w, err := r.Watch(t.Context(), "one", run.log.ID())
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		last := from - 1
		for l, bad := range w.Lines(t.Context(), from) {
			if err = bad; bad != nil {
				break
			}
			if l.Seq != last+1 {
				t.Fatal(l.Seq, last)
			}
			last = l.Seq
		}
		if last != run.n || event.AsFault(err).Code != "journal.damaged" {
			t.Error(from, last, err)
		}
	}
}

// Who leaves a run that goes on does not wait for its end, and others watch on.
func TestOneLeavesARun(t *testing.T) {
	r := runner(t)
	run := goingOn(t, r)
	defer run.end()
	stays, err := r.Watch(t.Context(), "one", run.log.ID())
	if err != nil {
		t.Fatal(err)
	}
	defer stays.Close()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	leaves, err := r.Watch(ctx, "one", run.log.ID())
	if err != nil {
		t.Fatal(err)
	}
	for l, err := range leaves.Lines(ctx, 1) {
		if l.Seq == run.n {
			leave()
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	leaves.Close()
	leaves.Close() // twice is once
	run.print(1)
	for l, err := range stays.Lines(t.Context(), run.n) {
		if err != nil || l.Seq != run.n {
			t.Error(l.Seq, err)
		}
		break
	}
}
