package operation

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// unfinished returns the files below a directory that were begun and have no name of their own yet.
func unfinished(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(e.Name(), ".") {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A deploy whose lock is lost while nodes are being changed ends as after an abort, reports why, and writes nothing
// more to the cluster's files. The next one continues it.
func TestStart_LockLost(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	f.lost = make(chan struct{})
	changes := 0
	d.Sink = sinkFunc(func(r event.Record) error {
		if e, is := r.Event.(event.StepEnded); is && e.Outcome == event.Changed && strings.HasSuffix(e.Step, "/m1") {
			if changes++; changes == 5 {
				close(f.lost)
			}
		}
		return nil
	})
	h, err := Start(t.Context(), deployOf(f), d)
	if err != nil {
		t.Fatal(err)
	}
	res, err := h.Wait(t.Context())
	fault := event.AsFault(err)
	if res.Outcome != event.Interrupted || !res.Logged || fault == nil || fault.Code != "lock.lost" ||
		fault.Class != event.ClassInterrupted || fault.Args["cluster"] != "sim" {
		t.Fatalf("%+v %v", res, err)
	}
	last, err := journal.Last(h.Run().Dir)
	end, _ := last.Event.(event.RunEnded)
	if err != nil || end.Exit != 130 || len(end.Next) == 0 || end.Next[len(end.Next)-1].Key != "next.resume" {
		t.Errorf("%+v %v", end, err)
	}
	if list := unfinished(t, f.lab.StateDir()); len(list) > 0 {
		t.Error("half written: ", list)
	}
	d.Sink, f.lost = nil, nil
	if h, err = Start(t.Context(), deployOf(f), d); err != nil {
		t.Fatal(err)
	}
	if res, err = h.Wait(t.Context()); err != nil || res.Outcome != event.Changed {
		t.Errorf("%+v %v", res, err)
	}
	first := event.Record{}
	for r := range journal.Read(h.Run().Dir) {
		first = r
		break
	}
	if s, _ := first.Event.(event.RunStarted); !s.Resumed {
		t.Errorf("%+v", s)
	}
}

// Files of a cluster whose lock was lost are those of another process: nothing is persisted.
func TestPrepared_PersistLockLost(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	f.lost = make(chan struct{})
	p, err := prepare(t.Context(), deployOf(f), d)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if p.files, err = d.Store.Open(t.Context(), "sim"); err != nil {
		t.Fatal(err)
	}
	if p.lock, err = p.files.Lock(t.Context(), d.holder("deploy")); err != nil {
		t.Fatal(err)
	}
	if err := p.persist(t.Context(), phases.KeptPKI); err != nil || len(f.held) != 1 {
		t.Error(err, f.held)
	}
	close(f.lost)
	if err := p.persist(t.Context(), phases.KeptPKI); code(err) != "lock.lost" || len(f.held) != 1 {
		t.Error(err, f.held)
	}
	if err := p.keep(t.Context()); code(err) != "lock.lost" || p.kept || len(f.held) != 1 {
		t.Error(err, p.kept, f.held)
	}
	if err := p.lock.Unlock(); err != nil {
		t.Error(err)
	}
}

func TestWithLock(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	files, err := d.Store.Open(t.Context(), "sim")
	if err != nil {
		t.Fatal(err)
	}
	held := func(ctx context.Context) error { return files.Free(ctx) }
	err = withLock(t.Context(), d, files, "sim", "import", held)
	if got := event.AsFault(err); got == nil || got.Code != "lock.cluster-held" || got.Args["program"] != "eggo-tui" ||
		got.Args["verb"] != "import" {
		t.Error(err)
	}
	f.lost = make(chan struct{})
	err = withLock(t.Context(), d, files, "sim", "import", func(ctx context.Context) error {
		close(f.lost)
		<-ctx.Done()
		return ctx.Err()
	})
	if code(err) != "lock.lost" {
		t.Error(err)
	}
	f.lost = nil
	if err := withLock(t.Context(), d, files, "sim", "import", func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
	if err := files.Free(t.Context()); err != nil {
		t.Error(err)
	}
}
