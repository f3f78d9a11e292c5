package journal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Reader reads an event log, also one that is being written: after io.EOF, Next may be called again for what has come
// since.
type Reader struct {
	in   *bufio.Reader
	path string
	part []byte   // of a line whose end has not been seen
	at   Position // after the last record
	last time.Time
}

// Position is a place in a log, between two records. The zero Position is its beginning.
type Position struct {
	offset int64
	line   int
	seq    uint64
}

// followPause is between two looks at a log that is being written.
const followPause = 200 * time.Millisecond

// NewReader reads from in; path is for messages.
func NewReader(in io.Reader, path string) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, 64<<10), path: path}
}

// Next gives the next record, io.EOF when there is none (yet), or the fault journal.damaged. Events of types that this
// program does not know are event.Other. A log in a newer format is the fault journal.newer-format.
func (r *Reader) Next() (event.Record, error) {
	more, err := r.in.ReadBytes('\n')
	r.part = append(r.part, more...)
	switch {
	case errors.Is(err, io.EOF):
		return event.Record{}, io.EOF
	case err != nil:
		return event.Record{}, fault("journal.read", r.path, err)
	}
	line := bytes.TrimSpace(r.part)
	rec, err := event.DecodeLenient(line)
	switch {
	case err != nil && r.onlyRubbishFollows():
		return event.Record{}, io.EOF
	case err != nil:
	case rec.Seq != r.at.seq+1:
		err = fmt.Errorf("record %d follows %d", rec.Seq, r.at.seq)
	}
	r.at.line++
	if f := event.AsFault(err); f != nil && f.Code == "event.newer-format" {
		return event.Record{}, event.NewFault(event.ClassUsage, "journal.newer-format", nil, "path", r.path, "format",
			f.Args["format"], "ours", f.Args["ours"])
	}
	if err != nil {
		return event.Record{}, event.NewFault(event.ClassFailed, "journal.damaged", err, "path", r.path, "line",
			strconv.Itoa(r.at.line))
	}
	r.at.offset += int64(len(r.part))
	r.part = r.part[:0]
	r.at.seq, r.last = rec.Seq, rec.Time
	return rec, nil
}

// Position is where the record begins that Next gives next.
func (r *Reader) Position() Position { return r.at }

// onlyRubbishFollows says whether nothing but zero bytes is left: some file systems show those in place of what a power
// cut took.
func (r *Reader) onlyRubbishFollows() bool {
	for {
		b, err := r.in.ReadByte()
		if err != nil {
			return true
		}
		if b != 0 && b != '\n' {
			_ = r.in.UnreadByte()
			return false
		}
	}
}

// Cut says whether the log ends, so far, in the middle of a line.
func (r *Reader) Cut() bool { return len(r.part) > 0 }

// Follow gives the records of the run in dir, those that are there and then those that come, until the run has ended,
// nobody is writing any more, or ctx ends. Its errors are those of Read and of ctx.
func Follow(ctx context.Context, dir string, writing func() bool) iter.Seq2[event.Record, error] {
	return opened(dir, func(f *os.File) iter.Seq2[event.Record, error] {
		return FollowFrom(ctx, f, f.Name(), writing)
	})
}

// FollowFrom is Follow of a log that comes from anywhere; path is for messages.
func FollowFrom(
	ctx context.Context, in io.Reader, path string, writing func() bool,
) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		pause := time.NewTicker(followPause)
		defer pause.Stop()
		follow(in, path, func() (bool, error) {
			if !writing() {
				return false, nil
			}
			select {
			case <-ctx.Done():
				return false, ctx.Err()
			case <-pause.C:
				return true, nil
			}
		}, func(rec event.Record, err error) bool {
			_, ended := rec.Event.(event.RunEnded)
			return yield(rec, err) && !ended
		})
	}
}

// FollowUntil is Follow until over is closed: then nothing more is written. What was written after the run's end is
// given too.
func FollowUntil(dir string, over <-chan struct{}) iter.Seq2[event.Record, error] {
	return opened(dir, func(f *os.File) iter.Seq2[event.Record, error] {
		return func(yield func(event.Record, error) bool) {
			pause := time.NewTicker(followPause)
			defer pause.Stop()
			follow(f, f.Name(), func() (bool, error) {
				select {
				case <-over:
					return false, nil
				case <-pause.C:
					return true, nil
				}
			}, yield)
		}
	})
}

// follow gives records until wait says that no more come: what was written before it did is still given.
func follow(in io.Reader, path string, wait func() (more bool, err error), yield func(event.Record, error) bool) {
	r := NewReader(in, path)
	for more := true; ; {
		rec, err := r.Next()
		switch {
		case err == nil:
			if !yield(rec, nil) {
				return
			}
		case !errors.Is(err, io.EOF):
			yield(event.Record{}, err)
			return
		case !more:
			return
		default:
			if more, err = wait(); err != nil {
				yield(event.Record{}, err)
				return
			}
		}
	}
}

// Read gives the records of the run in dir, in order. A last line that was cut off is not a record: a Notice
// journal.cut-line, which is not in the file, stands in its place. After an error (journal.read, journal.damaged)
// nothing follows.
func Read(dir string) iter.Seq2[event.Record, error] {
	return opened(dir, func(f *os.File) iter.Seq2[event.Record, error] { return ReadFrom(f, f.Name()) })
}

// ReadFrom is Read of a log that comes from anywhere; path is for messages.
func ReadFrom(in io.Reader, path string) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		r := NewReader(in, path)
		for {
			rec, err := r.Next()
			if errors.Is(err, io.EOF) {
				if r.Cut() {
					cut := event.Notice{Text: event.M("journal.cut-line")}
					yield(event.Record{Seq: r.at.seq + 1, Time: r.last, Event: cut}, nil)
				}
				return
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// OpenReader gives a Reader of the log of the run in dir, and what closes it. It reads what is there by now, and later
// what has come since.
func OpenReader(dir string) (r *Reader, closeLog func(), err error) {
	return OpenReaderAt(dir, Position{})
}

// OpenReaderAt is OpenReader from a place on that another Reader of the log was at.
func OpenReaderAt(dir string, at Position) (r *Reader, closeLog func(), err error) {
	path := filepath.Join(dir, eventsFile)
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fault("journal.read", path, err)
	}
	if _, err := f.Seek(at.offset, io.SeekStart); err != nil {
		return nil, nil, errors.Join(fault("journal.read", path, err), f.Close())
	}
	r = NewReader(f, path)
	r.at = at
	return r, func() { _ = f.Close() }, nil // only read
}

// opened gives the records that are made of the log in dir, which is open meanwhile.
func opened(dir string, records func(*os.File) iter.Seq2[event.Record, error]) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		path := filepath.Join(dir, eventsFile)
		f, err := os.Open(path)
		if err != nil {
			yield(event.Record{}, fault("journal.read", path, err))
			return
		}
		defer func() { _ = f.Close() }() // only read
		records(f)(yield)
	}
}

// Checkpoint is where a run can go on.
type Checkpoint struct {
	Run  string          // the newest unfinished run, "" if there is none
	Done map[string]bool // for engine.Options.Done
}

// Resume gives what earlier runs of the verb with this deploy.yaml (its sha256, as in RunStarted.Config) have done, if
// the newest run of the cluster is such a one and did not end well. Runs before it count as far back as they are of the
// same kind; one that ended well, or of another verb or file, ends the series, for after it the nodes may be different;
// so does one whose log is damaged. Ask before NewRun.
func (c *Cluster) Resume(verb, config string) (Checkpoint, error) {
	ids, err := c.Runs()
	if err != nil {
		return Checkpoint{}, err
	}
	var series []log
	for i := len(ids) - 1; i >= 0; i-- {
		l, err := readLog(c.RunDir(ids[i]))
		switch {
		case errors.Is(err, os.ErrNotExist): // cut off before its log was made
			continue
		case err != nil && event.AsFault(err).Code == "journal.damaged":
			return point(series), nil
		case err != nil:
			return Checkpoint{}, err
		}
		if !l.begun { // nothing was done before RunStarted
			continue
		}
		if l.verb != verb || l.config != config || l.finished {
			break
		}
		l.id = ids[i]
		series = append(series, l)
	}
	return point(series), nil
}

// point adds up a series of runs, newest first.
func point(series []log) Checkpoint {
	p := Checkpoint{Done: map[string]bool{}}
	if len(series) > 0 {
		p.Run = series[0].id
	}
	for i := len(series) - 1; i >= 0; i-- {
		for step, done := range series[i].steps {
			if done {
				p.Done[step] = true
			} else {
				delete(p.Done, step)
			}
		}
	}
	return p
}

// Done gives the steps that the run in dir has as done.
func Done(dir string) (map[string]bool, error) {
	l, err := readLog(dir)
	done := map[string]bool{}
	for step, yes := range l.steps {
		if yes {
			done[step] = true
		}
	}
	return done, err
}

// log is what Resume wants to know of a run.
type log struct {
	id, verb, config string
	begun, finished  bool
	steps            map[string]bool // false: it was done perhaps, and is not any more
}

func readLog(dir string) (log, error) {
	l := log{steps: map[string]bool{}}
	for rec, err := range Read(dir) {
		if err != nil {
			return l, err
		}
		switch e := rec.Event.(type) {
		case event.RunStarted:
			l.begun, l.verb, l.config = true, e.Verb, e.Config
		case event.RunEnded:
			l.finished = e.Outcome.Done() || e.Reverted
		case event.StepUndone:
			l.steps[e.Step] = false
		case event.StepEnded:
			switch e.Outcome {
			case event.OK, event.Changed:
				l.steps[e.Step] = true
			case event.Skipped, event.Blocked: // says nothing of what was done before
			default:
				l.steps[e.Step] = false
			}
		}
	}
	return l, nil
}
