package journal

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// flushAfter bounds how long output and progress wait in memory; flushSize how much of it.
const (
	flushAfter = 200 * time.Millisecond
	flushSize  = 256 << 10
)

// disk is what the writer needs of a file.
type disk interface {
	io.WriteCloser
	Sync() error
	Truncate(size int64) error
}

// Writer is the journal of a running run: an event.Committer. The file has the records in the order of Seq. Output and
// Progress wait up to 200 ms for company; every other record is written before Append returns, so that it survives the
// program; and those that a resumed run or an audit rests on (see synced) are on the disk when Commit returns, many of
// them with one sync.
//
// After an error nothing more is written, and every further call returns that error (journal.write): the run must stop.
type Writer struct {
	id, dir, path string

	mu      sync.Mutex
	file    disk
	buf     []byte
	size    int64 // of whole lines in the file
	last    uint64
	written uint64 // the Seq up to which records are in the file
	dirty   bool   // more than is on the disk
	err     error
	timer   *time.Timer
	nodes   *nodeLogs
	closed  bool

	syncing bool
	synced  uint64 // the Seq up to which records are on the disk
	safe    int64  // so many bytes are
	done    *sync.Cond
}

func create(dir string) (*Writer, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, eventsFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	for _, d := range []string{dir, filepath.Dir(dir), filepath.Dir(filepath.Dir(dir))} {
		if err := syncDir(d); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return newWriter(dir, f), nil
}

func newWriter(dir string, f disk) *Writer {
	w := &Writer{dir: dir, path: filepath.Join(dir, eventsFile), file: f, nodes: &nodeLogs{dir: dir}}
	w.done = sync.NewCond(&w.mu)
	return w
}

// ID of the run.
func (w *Writer) ID() string { return w.id }

// Dir is the run's directory.
func (w *Writer) Dir() string { return w.dir }

// mustSync says which records must be on the disk before anything rests on them. A blocked step was not touched, so its
// record may be lost.
func mustSync(e event.Event) bool {
	switch e := e.(type) {
	case event.StepEnded:
		return e.Outcome != event.Blocked
	case event.RunStarted, event.PlanMade, event.RunEnded, event.Change, event.StepUndone:
		return true
	}
	return false
}

// mayWait says which records may stay in memory for a moment.
func mayWait(e event.Event) bool {
	switch e.(type) {
	case event.Output, event.Progress, event.Waiting:
		return true
	}
	return false
}

// Emit is Append and Commit.
func (w *Writer) Emit(r event.Record) error {
	if err := w.Append(r); err != nil {
		return err
	}
	return w.Commit(r)
}

// Append takes the next record.
func (w *Writer) Append(r event.Record) error {
	line, err := event.Encode(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		return w.err
	case w.closed:
		return w.fail(os.ErrClosed)
	case err != nil:
		return w.fail(err)
	case r.Seq != w.last+1:
		return w.fail(errors.New("records out of order"))
	}
	w.last = r.Seq
	w.buf = append(append(w.buf, line...), '\n')
	w.nodes.add(r)
	if mayWait(r.Event) && len(w.buf) < flushSize {
		if w.timer == nil {
			w.timer = time.AfterFunc(flushAfter, w.late)
		}
		return nil
	}
	return w.flush()
}

// late flushes what has waited long enough.
func (w *Writer) late() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && !w.closed {
		_ = w.flush() // kept in w.err for the next call
	}
}

// flush writes what waits. The caller holds mu.
func (w *Writer) flush() error {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	if len(w.buf) == 0 {
		return nil
	}
	for {
		_, err := w.file.Write(w.buf)
		if err == nil {
			break
		}
		_ = w.file.Truncate(w.size) // if that fails too, the reader drops the half line
		if !full(err) || !dropReserve(w.dir) {
			return w.fail(err)
		}
	}
	w.size += int64(len(w.buf))
	w.buf = w.buf[:0]
	w.written, w.dirty = w.last, true
	err := w.nodes.flush()
	if err != nil && full(err) && dropReserve(w.dir) {
		err = w.nodes.flush()
	}
	if err != nil {
		return w.fail(err)
	}
	return nil
}

func (w *Writer) fail(err error) error {
	if w.err == nil {
		w.err = fault("journal.write", w.path, err)
		w.done.Broadcast()
	}
	return w.err
}

// Commit returns when the record is on the disk, if it is of a kind that must be. Whoever comes first syncs for all
// that are written by then; the others wait for it, or for the next.
func (w *Writer) Commit(r event.Record) error {
	if !mustSync(r.Event) {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && r.Seq > w.written {
		return w.fail(errors.New("commit of a record that was not appended"))
	}
	for w.err == nil && w.synced < r.Seq {
		if w.syncing {
			w.done.Wait()
			continue
		}
		w.sync()
	}
	if w.synced >= r.Seq {
		return nil
	}
	return w.err
}

// sync syncs what is written. The caller holds mu, which is free meanwhile.
func (w *Writer) sync() {
	w.syncing = true
	upTo, size := w.written, w.size
	w.mu.Unlock()
	err := w.file.Sync()
	w.mu.Lock()
	w.syncing = false
	if err != nil && full(err) && dropReserve(w.dir) {
		upTo, size = w.written, w.size
		err = w.rewrite()
	}
	if err != nil {
		_ = w.fail(err)
	} else {
		w.synced, w.safe = upTo, size
		w.dirty = w.written > upTo
	}
	w.done.Broadcast()
}

// rewrite writes what no sync has brought to the disk once more, and syncs it: after one that failed the system may
// take it for written. The caller holds mu.
func (w *Writer) rewrite() error {
	f, err := os.Open(w.path)
	if err != nil {
		return err
	}
	defer f.Close()
	text := make([]byte, w.size-w.safe)
	if _, err := f.ReadAt(text, w.safe); err != nil {
		return err
	}
	if err := w.file.Truncate(w.safe); err != nil {
		return err
	}
	if _, err := w.file.Write(text); err != nil {
		return err
	}
	return w.file.Sync()
}

// Discard closes and removes a log that nothing was written to, with its directory.
func (w *Writer) Discard() error {
	w.mu.Lock()
	empty := w.last == 0
	w.mu.Unlock()
	err := w.Close()
	if !empty {
		return err
	}
	return errors.Join(err, os.RemoveAll(w.dir))
}

// Close writes and syncs what is left and closes the files.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	for w.syncing {
		w.done.Wait()
	}
	if w.err == nil && w.flush() == nil && w.dirty {
		w.sync()
	}
	w.closed = true
	if w.timer != nil {
		w.timer.Stop()
	}
	dropReserve(w.dir)
	if err := w.file.Close(); err != nil && w.err == nil {
		return w.fail(err)
	}
	return w.err
}
