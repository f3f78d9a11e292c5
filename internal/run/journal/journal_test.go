package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

var t0 = time.Date(2026, 11, 21, 10, 15, 30, 0, time.UTC)

func open(t *testing.T) *Cluster {
	t.Helper()
	c, err := Open(filepath.Join(t.TempDir(), "state"), "k8s-cluster")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newRun(t *testing.T, c *Cluster, verb string) *Writer {
	t.Helper()
	w, err := c.NewRun(verb, t0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func codeOf(err error) string {
	if err == nil {
		return ""
	}
	return event.AsFault(err).Code
}

func readAll(t *testing.T, dir string) (recs []event.Record, err error) {
	t.Helper()
	for r, e := range Read(dir) {
		if err = e; err == nil {
			recs = append(recs, r)
		}
	}
	return recs, err
}

func TestStateDir(t *testing.T) {
	for _, c := range []struct {
		euid      int
		xdg, want string
	}{
		{0, "/x", "/var/lib/eggo"}, {1000, "/x/state", "/x/state/eggo"}, {1000, "", "/h/.local/state/eggo"},
		{1000, "relative", "/h/.local/state/eggo"},
	} {
		env := map[string]string{"XDG_STATE_HOME": c.xdg, "HOME": "/h"}
		if got := StateDir(func(k string) string { return env[k] }, c.euid); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestAClusterNameIsNoWayOut(t *testing.T) {
	for _, name := range []string{"", ".", "..", "../x", "a/b", "/abs", "a\x00b", "-rf", ".hidden",
		strings.Repeat("x", 200), "集群"} {
		if _, err := Open(t.TempDir(), name); codeOf(err) != "journal.bad-cluster" {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// What the state directory has beside clusters is no name of a new one: its keys would be where others are deleted, or
// not backed up. A cluster that has such a name already keeps it.
func TestReservedNames(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "bundles", "stage"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bundles", "allowed_signers", "draft.json", "draft.known_hosts"} {
		if _, err := Open(root, name); codeOf(err) != "journal.reserved" {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := At(root, name); codeOf(err) != "journal.reserved" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"Bundles", "bundles2", "draft"} {
		if _, err := Open(root, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "bundles", "runs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(root, "bundles"); err != nil {
		t.Error("a cluster of before:", err)
	}
}

func TestTheRunDirectoryIsPrivate(t *testing.T) {
	c := open(t)
	w := newRun(t, c, "deploy")
	bus := event.NewBus(nil, w)
	for _, host := range []string{"n1", "", "../../etc/passwd", ".."} {
		if err := bus.Emit(event.Output{Host: host, Step: "s", Stream: "stdout",
			Line: "hello \x1b[31m" + host}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var files []string
	err := filepath.WalkDir(filepath.Dir(c.Path()), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		} else if d.Name() != FormatFile {
			files = append(files, strings.TrimPrefix(path, w.Dir()+"/"))
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	want := []string{"events.jsonl", "jump-host.log", "nodes/%2E..log", "nodes/%2E.%2F..%2Fetc%2Fpasswd.log",
		"nodes/n1.log", "run.json"}
	slices.Sort(files)
	slices.Sort(want)
	if d := cmp.Diff(want, files); d != "" || err != nil {
		t.Error(d, err)
	}
	text, err := os.ReadFile(filepath.Join(w.Dir(), NodeLog("n1")))
	if err != nil || !strings.HasSuffix(string(text), "Z s stdout| hello [31mn1\n") {
		t.Errorf("%q %v", text, err)
	}
}

func TestRunsSortByAgeAlsoWhenTheClockIsSetBack(t *testing.T) {
	c := open(t)
	var want []string
	for i, now := range []time.Time{t0, t0, t0.Add(-time.Hour), t0.Add(time.Minute)} {
		w, err := c.NewRun([]string{"deploy", "cleanup"}[i%2], now)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, w.ID())
		_ = w.Close()
	}
	if d := cmp.Diff([]string{"20261121T101530Z-deploy", "20261121T101531Z-cleanup", "20261121T101532Z-deploy",
		"20261121T101630Z-cleanup"}, want); d != "" {
		t.Error(d)
	}
	if got, err := c.Runs(); cmp.Diff(want, got) != "" || err != nil {
		t.Error(got, err)
	}
	for verb, id := range map[string]string{"": want[3], "deploy": want[2], "join": ""} {
		if got, err := c.Latest(verb); got != id || err != nil {
			t.Errorf("%q: %q %v", verb, got, err)
		}
	}
	if _, err := c.NewRun("../x", t0); err == nil {
		t.Error("a verb is a word")
	}
}

func TestTwentyRunsAreKeptAndNothingElseIsRemoved(t *testing.T) {
	c := open(t)
	// the second looks like ours but holds no log
	foreign := []string{c.RunDir("notes"), c.RunDir("20200101T000000Z-deploy")}
	for _, d := range foreign {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var last string
	for range KeepRuns + 5 {
		w := newRun(t, c, "deploy")
		last = w.ID()
		_ = w.Close()
	}
	ids, err := c.Runs()
	if err != nil || len(ids) < KeepRuns || len(ids) > KeepRuns+1 || ids[len(ids)-1] != last {
		t.Error(len(ids), err)
	}
	for _, d := range foreign {
		if _, err := os.Stat(d); err != nil {
			t.Error(err)
		}
	}
}

// Runs that leave the cluster as it is, such as hourly backups, push out no others, nor each other.
func TestRunsThatAreManyAreCountedApart(t *testing.T) {
	c := open(t)
	apart := []string{"backup", "etcd-snapshot"}
	begin := func(verb string) string {
		t.Helper()
		w, err := c.NewRun(verb, t0, apart...)
		if err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
		return w.ID()
	}
	deploy, snapshot := begin("deploy"), begin("etcd-snapshot")
	for range KeepRuns + 5 {
		begin("backup")
	}
	count := func(verb string) (n int) {
		t.Helper()
		ids, err := c.Runs()
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if c.Verb(id) == verb {
				n++
			}
		}
		return n
	}
	if n := count("backup"); n != KeepRuns {
		t.Error(n, "backups")
	}
	for _, id := range []string{deploy, snapshot} {
		if _, err := os.Stat(c.RunDir(id)); err != nil {
			t.Error(err)
		}
	}
	for i := range KeepRuns { // all other verbs share theirs
		begin([]string{"deploy", "upgrade"}[i%2])
	}
	_, err := os.Stat(c.RunDir(deploy))
	if b, u := count("backup"), count("upgrade"); err == nil || b != KeepRuns || u != KeepRuns/2 {
		t.Error(err, b, u)
	}
}

// some is a run that has every kind of waiting and syncing in it.
func some() []event.Event {
	return []event.Event{
		event.RunStarted{Run: "r", Cluster: "c", Verb: "deploy", Config: "abc"},
		event.StepStarted{Step: "a/n1", Try: 1},
		event.Output{Host: "n1", Step: "a/n1", Stream: "stdout", Line: "值 one"},
		event.Progress{Host: "n1", Step: "a/n1", What: "f", Done: 1, Total: 2},
		event.StepEnded{Step: "a/n1", Outcome: event.Changed, Took: time.Second},
		event.Output{Host: "n1", Step: "b/n1", Stream: "stderr", Line: "two"},
		event.StepEnded{Step: "b/n1", Outcome: event.Blocked},
		event.RunEnded{Outcome: event.Failed, Exit: 1},
	}
}

func TestWhatWasWrittenIsRead(t *testing.T) {
	w := newRun(t, open(t), "deploy")
	bus := event.NewBus(nil, w)
	var want []event.Record
	for _, e := range some() {
		r, err := bus.Publish(e)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, r)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := readAll(t, w.Dir())
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	done, err := Done(w.Dir())
	if d := cmp.Diff(map[string]bool{"a/n1": true}, done); d != "" || err != nil {
		t.Error(d, err)
	}
	if err := bus.Emit(event.PhaseStarted{}); codeOf(err) != "journal.write" {
		t.Error("a closed journal takes nothing:", err)
	}
}

func TestALogCutAnywhereIsReadUpToThere(t *testing.T) {
	w := newRun(t, open(t), "deploy")
	bus := event.NewBus(nil, w)
	for _, e := range some() {
		if err := bus.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	_ = w.Close()
	whole, err := os.ReadFile(filepath.Join(w.Dir(), eventsFile))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for cut := range len(whole) + 1 {
		for _, tail := range []string{"", "\x00\x00\x00", "\x00\x00\n\x00"} {
			if err := os.WriteFile(filepath.Join(dir, eventsFile), append(bytes.Clone(whole[:cut]), tail...),
				0o600); err != nil {
				t.Fatal(err)
			}
			recs, err := readAll(t, dir)
			if err != nil {
				t.Fatalf("cut at %d %q: %v", cut, tail, err)
			}
			n := bytes.Count(whole[:cut], []byte("\n"))
			clean := tail == "" && (cut == 0 || whole[cut-1] == '\n')
			if clean && len(recs) != n || !clean && (len(recs) != n+1 ||
				recs[n].Event.(event.Notice).Text.Key != "journal.cut-line") {
				t.Fatalf("cut at %d %q: %d records of %d", cut, tail, len(recs), n)
			}
		}
	}
	for name, bad := range map[string][]byte{
		"a line lost": bytes.Join(append(bytes.SplitAfter(whole, []byte("\n"))[:2:2],
			bytes.SplitAfter(whole, []byte("\n"))[3:]...), nil),
		"a hole":           bytes.Replace(whole, []byte(`"seq":3`), []byte("\x00\x00\x00\x00\x00\x00\x00"), 1),
		"something before": append([]byte("hello\n"), whole...),
	} {
		if err := os.WriteFile(filepath.Join(dir, eventsFile), bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(t, dir); codeOf(err) != "journal.damaged" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := readAll(t, filepath.Join(dir, "not-there")); codeOf(err) != "journal.read" {
		t.Error(err)
	}
}

func TestALiveLogIsFollowed(t *testing.T) {
	var grow bytes.Buffer
	r := NewReader(&grow, "x")
	line, _ := event.Encode(event.Record{Seq: 1, Time: t0, Event: event.PhaseStarted{Phase: "p"}})
	grow.Write(line[:10])
	if _, err := r.Next(); err == nil || !r.Cut() {
		t.Fatal(err)
	}
	grow.Write(append(line[10:], '\n'))
	if rec, err := r.Next(); err != nil || rec.Seq != 1 || r.Cut() {
		t.Fatal(rec, err)
	}
}

// bad is a disk with room for some bytes, whose Sync may wait or fail.
type bad struct {
	mu    sync.Mutex
	got   []byte
	room  int
	sync  func() error
	syncs int
}

func (b *bad) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(p), b.room-len(b.got))
	b.got = append(b.got, p[:n]...)
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

func (b *bad) Sync() error {
	b.mu.Lock()
	b.syncs++
	b.mu.Unlock()
	if b.sync != nil {
		return b.sync()
	}
	return nil
}

func (b *bad) Truncate(n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = b.got[:n]
	return nil
}
func (b *bad) Close() error { return nil }

func (b *bad) lines() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Count(b.got, []byte("\n"))
}

func TestAFullDiskStopsTheRunWithWholeLines(t *testing.T) {
	for room := range 900 {
		d := &bad{room: room}
		w := newWriter(t.TempDir(), d)
		bus := event.NewBus(func() time.Time { return t0 }, w)
		var failed error
		for _, e := range some() {
			if err := bus.Emit(e); err != nil {
				failed = err
			} else if failed != nil {
				t.Fatalf("room for %d: went on after %v", room, failed)
			}
		}
		if closing := w.Close(); failed == nil {
			failed = closing
		}
		if failed != nil && (codeOf(failed) != "journal.write" || !errors.Is(failed, syscall.ENOSPC)) {
			t.Fatal(failed)
		}
		if failed == nil && d.lines() != len(some()) || len(d.got) > 0 && d.got[len(d.got)-1] != '\n' {
			t.Fatalf("room for %d: %v\n%s", room, failed, d.got)
		}
		if room == 0 && failed == nil || room == 899 && failed != nil {
			t.Fatal(room, failed)
		}
	}
}

func TestAFailingSyncIsAnError(t *testing.T) {
	w := newWriter(t.TempDir(), &bad{room: 1e6, sync: func() error { return syscall.EIO }})
	bus := event.NewBus(nil, w)
	if err := bus.Emit(event.PhaseStarted{Phase: "p"}); err != nil {
		t.Fatal("this one is not synced:", err)
	}
	if err := bus.Emit(event.StepEnded{Step: "s"}); codeOf(err) != "journal.write" || !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	if err := bus.Emit(event.PhaseStarted{Phase: "p"}); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
}

func TestStepsThatEndTogetherShareASync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &bad{room: 1e6, sync: func() error { time.Sleep(10 * time.Millisecond); return nil }}
		w := newWriter(t.TempDir(), d)
		bus := event.NewBus(nil, w)
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				if err := bus.Emit(event.StepEnded{Step: fmt.Sprint(i)}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if d.syncs > 2 || time.Since(start) > 20*time.Millisecond || d.lines() != 50 {
			t.Errorf("%d syncs, %v, %d lines", d.syncs, time.Since(start), d.lines())
		}
	})
}

func TestOutputWaitsForCompanyButNotLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &bad{room: 1e9}
		w := newWriter(t.TempDir(), d)
		bus := event.NewBus(nil, w)
		out := func() { _ = bus.Emit(event.Output{Host: "n1", Line: "x"}) }
		out()
		out()
		time.Sleep(flushAfter - time.Millisecond)
		if d.lines() != 0 {
			t.Error("written at once")
		}
		time.Sleep(2 * time.Millisecond)
		if d.lines() != 2 || d.syncs != 0 {
			t.Error(d.lines(), d.syncs)
		}
		out()
		_ = bus.Emit(event.StepEnded{Step: "s"})
		if d.lines() != 4 || d.syncs != 1 {
			t.Error("what came before a synced record is before it in the file:", d.lines(), d.syncs)
		}
		for range 10 {
			_ = bus.Emit(event.Output{Host: "n1", Line: strings.Repeat("y", 60<<10)})
		}
		if d.lines() < 8 {
			t.Error("memory is bounded:", d.lines())
		}
		if err := w.Close(); err != nil || d.lines() != 14 {
			t.Error(err, d.lines())
		}
	})
}

func TestResumePoint(t *testing.T) {
	start := func(verb, config string) event.Event { return event.RunStarted{Verb: verb, Config: config} }
	end := func(step string, o event.Outcome) event.Event { return event.StepEnded{Step: step, Outcome: o} }
	failed, good := event.RunEnded{Outcome: event.Failed}, event.RunEnded{Outcome: event.Changed}
	for _, c := range []struct {
		name   string
		runs   [][]event.Event // oldest first
		newest bool
		done   []string
	}{
		{"no runs", nil, false, nil},
		{"killed", [][]event.Event{{start("deploy", "x"), end("a", event.Changed), end("b", event.OK),
			end("c", event.Failed), end("d", event.Skipped), end("e", event.Blocked), end("f", event.Interrupted),
			end("g", event.Ignored)}}, true, []string{"a", "b"}},
		{"ended badly", [][]event.Event{{start("deploy", "x"), end("a", event.Changed), failed}}, true, []string{"a"}},
		{"ended well", [][]event.Event{{start("deploy", "x"), end("a", event.Changed), good}}, false, nil},
		{"another file", [][]event.Event{{start("deploy", "y"), end("a", event.Changed)}}, false, nil},
		{"cleaned since", [][]event.Event{{start("deploy", "x"), end("a", event.Changed)}, {start("cleanup", "x")}},
			false, nil},
		{"killed twice", [][]event.Event{{start("deploy", "x"), end("a", event.Changed)},
			{start("deploy", "x"), end("b", event.Changed)}}, true, []string{"a", "b"}},
		{"killed before it began", [][]event.Event{{start("deploy", "x"), end("a", event.Changed)}, {}}, false,
			[]string{"a"}},
		{"undone", [][]event.Event{{start("deploy", "x"), end("a", event.Changed), end("b", event.Changed)},
			{start("deploy", "x"), event.StepUndone{Step: "a"}, failed}}, true, []string{"b"}},
		{"the end of a series", [][]event.Event{{start("deploy", "x"), end("a", event.Changed), good},
			{start("deploy", "x"), end("b", event.Changed)}}, true, []string{"b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl := open(t)
			for _, run := range c.runs {
				w := newRun(t, cl, "deploy")
				bus := event.NewBus(nil, w)
				for _, e := range run {
					if err := bus.Emit(e); err != nil {
						t.Fatal(err)
					}
				}
				_ = w.Close()
			}
			p, err := cl.Resume("deploy", "x")
			if err != nil {
				t.Fatal(err)
			}
			latest, _ := cl.Latest("")
			if (p.Run == latest && latest != "") != c.newest {
				t.Errorf("run %q, latest %q", p.Run, latest)
			}
			want := map[string]bool{}
			for _, d := range c.done {
				want[d] = true
			}
			if d := cmp.Diff(want, p.Done); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestADamagedLogCountsForNothing(t *testing.T) {
	c := open(t)
	w := newRun(t, c, "deploy")
	for i, e := range []event.Event{event.RunStarted{Verb: "deploy", Config: "x"},
		event.StepEnded{Step: "a", Outcome: event.Changed}} {
		if err := w.Emit(event.Record{Seq: uint64(i + 1), Time: t0, Event: e}); err != nil {
			t.Fatal(err)
		}
	}
	_ = w.Close()
	path := filepath.Join(w.Dir(), eventsFile)
	text, _ := os.ReadFile(path)
	if err := os.WriteFile(path, append([]byte("rubbish\n"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(c.RunDir("20991121T101530Z-deploy"), 0o700); err != nil { // killed before its log was made
		t.Fatal(err)
	}
	if p, err := c.Resume("deploy", "x"); err != nil || len(p.Done) > 0 {
		t.Error(p, err)
	}
}

func FuzzReader(f *testing.F) {
	line, _ := event.Encode(event.Record{Seq: 1, Time: t0, Event: event.PhaseStarted{Phase: "p"}})
	f.Add(append(line, '\n'))
	f.Add(append(append(line, '\n'), "\x00\x00\n{"...))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := NewReader(bytes.NewReader(text), "x")
		for want := uint64(1); ; want++ {
			rec, err := r.Next()
			if err != nil {
				return
			}
			if rec.Seq != want || rec.Event == nil || want > uint64(bytes.Count(text, []byte("\n"))) {
				t.Fatalf("%v", rec)
			}
		}
	})
}
