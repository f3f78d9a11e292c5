package pack

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"sync/atomic"
)

// Options of a Writer.
type Options struct {
	// Path of the finished bundle, NAME.tar.gz. Until then it is NAME.tar.gz.part.
	Path string
	// PartSize writes NAME.tar.gz.001, .002 … of at most so many bytes instead of one file; 0 means one file. At most
	// 999 parts.
	PartSize int64
	// Sums also computes the sha256 of the file (of each part), and writes it to NAME.tar.gz.sha256 in the form of
	// sha256sum.
	Sums bool
	// Progress is told how many of all bytes are written, counted before compression. It is called from several
	// goroutines, one at a time, often; a sink's Reset makes done smaller. May be nil.
	Progress func(done, total int64)
}

// Writer writes one bundle. Its memory is bounded whatever the bundle's size: 1 MB, and 3 MB a core (at most 6) while
// something is compressed, beside the literals of the layout.
type Writer struct {
	layout *Layout
	opts   Options
	files  *files
	sinks  map[string]*Sink
	order  []*Sink // by the piece's index; nil where it is no blob
	fixed  trace   // of what is no blob
	tail   tailState
	follow *follower

	done     atomic.Int64
	progress sync.Mutex

	mu      sync.Mutex
	missing int           // sinks that are not closed
	whole   chan struct{} // closed when all are
	err     error
	dead    chan struct{} // closed when err is there
	detach  func() bool   // from the context of Create

	ending sync.Mutex // held by Finish and Abort
	ended  bool
}

// errAborted is what goes on after Abort gets.
var errAborted = errors.New("writing the bundle was given up")

// Create begins a bundle: it takes the lock, looks whether there is room for all of it and reserves that (fault
// pack.no-space), and writes everything that is known already. Another build of the same file is the fault pack.busy.
// When ctx ends, everything ends with its error. The caller defers Abort.
func Create(ctx context.Context, layout *Layout, opts Options) (*Writer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if opts.PartSize < 0 {
		return nil, fmt.Errorf("parts of %d bytes", opts.PartSize)
	}
	fs, err := openFiles(opts.Path, opts.PartSize)
	if err != nil {
		return nil, err
	}
	w := &Writer{layout: layout, opts: opts, files: fs, sinks: map[string]*Sink{}, whole: make(chan struct{}),
		dead: make(chan struct{})}
	w.tail.init(layout)
	for _, b := range layout.blobs {
		w.sinks[b.SHA256] = &Sink{w: w, blob: b, frame: framer{l: layout}}
	}
	w.missing = len(w.sinks)
	if w.missing == 0 {
		close(w.whole)
	}
	w.order = make([]*Sink, len(layout.pieces))
	for i, p := range layout.pieces {
		if s := w.sinks[p.part.SHA256]; s != nil && p.part.SumOf == "" {
			w.order[i] = s
			s.places = append(s.places, place{at: p.at})
		}
	}
	err = fs.reserve(layout.StoredSize(), layout.Estimate())
	if err == nil {
		err = w.literals(ctx)
	}
	if err != nil {
		fs.abort()
		return nil, err
	}
	w.detach = context.AfterFunc(ctx, func() { w.fail(ctx.Err()) })
	w.follow = startFollower(w)
	return w, nil
}

// literals writes the gzip header and all pieces that are there already.
func (w *Writer) literals(ctx context.Context) error {
	if err := w.files.write([][]byte{gzipHeader()}, 0, &w.fixed); err != nil {
		return err
	}
	frame := framer{l: w.layout}
	for _, p := range w.layout.pieces {
		if p.part.SumOf != "" || p.part.SHA256 != "" {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.put(&frame, p.at, p.part.Data, &w.fixed); err != nil {
			return err
		}
		w.tell(p.size)
	}
	return nil
}

// put writes data at a position of the tar in the stored part.
func (w *Writer) put(frame *framer, at int64, data []byte, t *trace) error {
	for len(data) > 0 {
		n := min(len(data), maxFrame)
		vec, pos := frame.frame(at, data[:n])
		if err := w.files.write(vec, pos, t); err != nil {
			return err
		}
		data, at = data[n:], at+int64(n)
	}
	return nil
}

func (w *Writer) tell(n int64) {
	done := w.done.Add(n)
	if w.opts.Progress == nil {
		return
	}
	w.progress.Lock()
	defer w.progress.Unlock()
	w.opts.Progress(done, w.layout.Total())
}

// fail makes everything end with err, if nothing failed before.
func (w *Writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
		close(w.dead)
	}
}

func (w *Writer) failure() error {
	select {
	case <-w.dead:
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.err
	default:
		return nil
	}
}

// Abort gives the bundle up and removes what was written of it; a bundle of that name that was there before is not
// touched. After Finish it does nothing.
func (w *Writer) Abort() {
	w.fail(errAborted)
	w.ending.Lock()
	defer w.ending.Unlock()
	w.cleanup()
}

func (w *Writer) cleanup() {
	if w.ended {
		return
	}
	w.ended = true
	w.detach()
	<-w.follow.ended
	w.files.abort()
}

// Sink takes the content of one blob. It is used by one goroutine at a time; different sinks by different ones at once.
type Sink struct {
	w     *Writer
	blob  Blob
	frame framer

	written atomic.Int64
	closed  atomic.Bool
	crc     uint32
	places  []place
}

// place of a blob in the tar; a blob can have several.
type place struct {
	at    int64
	trace trace
}

// Sink gives the sink of a blob of the stored part, always the same one; false if the layout has no such blob there.
func (w *Writer) Sink(sha256 string) (*Sink, bool) {
	s, ok := w.sinks[sha256]
	return s, ok
}

// Write takes the next bytes of the blob. More than its size is the fault pack.oversize, after which Reset can begin
// again; what goes wrong with the file ends the whole build.
func (s *Sink) Write(p []byte) (int, error) {
	if err := s.w.failure(); err != nil {
		return 0, err
	}
	if s.closed.Load() {
		return 0, io.ErrClosedPipe
	}
	at := s.written.Load()
	if int64(len(p)) > s.blob.Size-at {
		return 0, oversizeFault(s.blob.SHA256, s.blob.Size)
	}
	for rest := p; len(rest) > 0; {
		now := rest[:min(len(rest), maxFrame)]
		s.crc = crc32.Update(s.crc, crc32.IEEETable, now)
		for i := range s.places {
			if err := s.w.put(&s.frame, s.places[i].at+at, now, &s.places[i].trace); err != nil {
				s.w.fail(err)
				return len(p) - len(rest), err
			}
		}
		at += int64(len(now))
		s.written.Store(at)
		s.w.follow.poke()
		s.w.tell(int64(len(now) * len(s.places)))
		rest = rest[len(now):]
	}
	return len(p), nil
}

// Reset forgets everything that was written; the blob comes again from its beginning. A closed sink cannot be reset.
func (s *Sink) Reset() error {
	if err := s.w.failure(); err != nil {
		return err
	}
	if s.closed.Load() {
		return io.ErrClosedPipe
	}
	gone := s.written.Load() * int64(len(s.places))
	s.w.follow.rewind(s)
	s.crc = 0
	for i := range s.places {
		s.places[i].trace = trace{}
	}
	s.w.tell(-gone)
	return nil
}

// Close says that the blob is whole and verified. The fault pack.short tells that bytes are missing; the sink is open
// then. Closing again does nothing.
func (s *Sink) Close() error {
	if err := s.w.failure(); err != nil {
		return err
	}
	if n := s.written.Load(); n < s.blob.Size {
		return shortFault(s.blob.SHA256, n, s.blob.Size)
	}
	if s.closed.Swap(true) {
		return nil
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.w.missing--; s.w.missing == 0 {
		close(s.w.whole)
		s.w.follow.poke()
	}
	return nil
}
