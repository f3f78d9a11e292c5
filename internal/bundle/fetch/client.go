package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Source is one thing to fetch.
type Source struct {
	URL    string // upstream's; mirrors map it
	SHA256 string // lower-case hex, "" when unknown
	Size   int64  // bytes, < 0 when unknown
	Limit  int64  // no more bytes than this when Size is unknown
	What   string // for progress and faults
	// Signed says that whoever asks holds what comes against a signature of the source's: so a public mirror may be
	// asked, as for what has a SHA256.
	Signed bool
	// Client asks the server, nil for the Client's own; registries need one that knows their tokens.
	Client *http.Client
	// Local, if not nil, is where the bytes come from instead of the network: a file, or a part of one, on this
	// machine, from the given offset of the blob on. URL then only names it. Its errors are never retried.
	Local func(offset int64) (io.ReadCloser, error)
}

// Sink is fed with a blob's bytes in order from its beginning, in pieces of up to 256 KiB, from one goroutine. Reset
// means: forget everything, a new beginning follows. What a sink got is the blob only when Get ends without an error.
type Sink interface {
	io.Writer
	Reset() error
}

// SinkError is an error of a sink, not of the fetch: it is never retried. There is a fault in its chain, "fetch.sink"
// if the sink's own error has none.
type SinkError struct{ Err error }

func (e *SinkError) Error() string { return e.Err.Error() }
func (e *SinkError) Unwrap() error { return e.Err }

// Progress of a fetch: Done and Total in bytes, Total < 0 when unknown. Retry is the fault that another try follows.
type Progress struct {
	What  string
	URL   string
	Done  int64
	Total int64
	Retry *event.Fault

	Waiting  bool // another build fetches it just now; Done is how far that is
	Finished bool // the file is in the cache
	Cached   bool // and was there before
}

// Client fetches into a cache. Its methods may be used from many goroutines.
type Client struct {
	HTTP    *http.Client
	Cache   *Cache
	Mirrors *Mirrors
	// Progress may be nil. It is called from the goroutine of each Get, so from many at once if there are many; at most
	// every 100 ms for a blob, besides its retries and its end.
	Progress func(Progress)

	Tries int           // without progress (64 KiB) in between; 0 means 6
	Delay time.Duration // before the second try, doubled each time up to 15 s; 0 means 500 ms
	Stall time.Duration // with less than 4 KiB in so long, a try is given up; 0 means 60 s

	// Reached is set when a server answers. Until then a missing network is not waited for. nil: there is one.
	Reached *atomic.Bool

	buffers buffers
	pause   func(context.Context, time.Duration) error // nil: Sleep
}

// triesOffline is how often a name or a route is looked for before anything was reached.
const triesOffline = 2

// offline reports whether a fault means that this host has no network, as far as is known.
func (c *Client) offline(f *event.Fault) bool {
	return c.Reached != nil && !c.Reached.Load() && slices.Contains([]string{"fetch.dns", "fetch.no-route",
		"fetch.proxy"}, f.Code)
}

const bufferSize = 256 << 10 // bytes: one write, one hash, one call of each sink

// buffers is a free list: a sync.Pool is emptied by each garbage collection. It grows to as many buffers as there were
// Gets at once.
type buffers struct {
	mu   sync.Mutex
	free [][]byte
}

func (b *buffers) get() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.free); n > 0 {
		p := b.free[n-1]
		b.free = b.free[:n-1]
		return p
	}
	return make([]byte, bufferSize)
}

func (b *buffers) put(p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free = append(b.free, p)
}

// Get returns the source from the cache, or fetches it, and feeds the sinks as it comes. Broken bodies go on with a
// Range request, also those of an earlier run that was killed, transient errors are tried again after a pause
// (Retry-After where the server says so). What comes is held against size and sum. If another process fetches the same
// sum just now, Get waits and takes what that got.
//
// With sinks, what is in the cache is verified on the way to them; a damaged file is removed and fetched again.
// Without, nothing is read: who opens the file verifies it. A blob without a sum continues in the middle only where the
// server gives a strong validator, and only within this call.
//
// An error is a fault, a *SinkError or the context's own. The faults name the URL that was asked. Not found:
// "fetch.not-found". Not for us: "fetch.denied". Any other status: "fetch.refused". No way there: "fetch.dns",
// "fetch.no-route", "fetch.proxy", "fetch.network", "fetch.certificate", "fetch.tls", "fetch.redirect",
// "fetch.redirect-plain", "fetch.url". Wrong content: "fetch.truncated", "fetch.size", "fetch.too-large",
// "fetch.sum-mismatch". This machine: "fetch.no-space", "fetch.cache", "fetch.local"; "fetch.sum-invalid" for what is
// no sha256.
func (c *Client) Get(ctx context.Context, s Source, sinks ...Sink) (Blob, error) {
	source := c.Mirrors.URL(s.URL, false)
	carrier := c.Mirrors.URL(s.URL, s.Signed || s.SHA256 != "")
	if s.Local != nil || source == carrier {
		if s.Local != nil {
			source = s.URL
		}
		return c.from(ctx, s, source, sinks)
	}
	b, err := c.from(ctx, s, carrier, sinks)
	if !lacking(err) {
		return b, err
	}
	for _, sink := range sinks {
		if err := sink.Reset(); err != nil {
			return Blob{}, &SinkError{err}
		}
	}
	return c.from(ctx, s, source, sinks)
}

// lacking says that a public mirror is there but has not what was asked for: it lags behind, carries only a part, or
// has something else.
func lacking(err error) bool {
	f := (*event.Fault)(nil)
	return errors.As(err, &f) && slices.Contains([]string{"fetch.not-found", "fetch.denied", "fetch.refused",
		"fetch.size", "fetch.too-large", "fetch.truncated", "fetch.sum-mismatch"}, f.Code)
}

// from is Get with the address that is asked.
func (c *Client) from(ctx context.Context, s Source, address string, sinks []Sink) (Blob, error) {
	d := &download{c: c, s: s, url: address, length: -1, out: fanout{sinks: sinks, what: s.What}}
	if err := ctx.Err(); err != nil {
		return Blob{}, err
	}
	if s.SHA256 == "" {
		w, err := c.Cache.create()
		if err != nil {
			return Blob{}, err
		}
		defer w.discard()
		d.w = w
		return d.run(ctx)
	}
	if !validSum(s.SHA256) {
		return Blob{}, event.NewFault(event.ClassFailed, "fetch.sum-invalid", nil, "what", s.What, "sum", s.SHA256)
	}
	for damaged := 0; ; {
		if b, ok := c.Cache.Find(s.SHA256, s.Size); ok {
			err := d.fromCache(ctx, b)
			if err == nil {
				d.tell(Progress{Done: b.Size, Total: b.Size, Finished: true, Cached: true})
				return b, nil
			}
			if event.AsFault(err).Code != "fetch.cache-damaged" || damaged > 2 {
				return Blob{}, err
			}
			damaged++
			if err := d.out.reset(); err != nil {
				return Blob{}, err
			}
			continue
		}
		w, err := c.Cache.partial(ctx, s, d.waiting)
		if err != nil {
			return Blob{}, err
		}
		if w != nil {
			return d.resume(ctx, w)
		}
	}
}

// fanout hands pieces to all sinks.
type fanout struct {
	sinks []Sink
	what  string
	n     int64
}

func (o *fanout) write(p []byte) error {
	o.n += int64(len(p))
	for _, s := range o.sinks {
		n, err := s.Write(p)
		if err == nil && n < len(p) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return o.failed(err)
		}
	}
	return nil
}

func (o *fanout) reset() error {
	if o.n == 0 {
		return nil
	}
	o.n = 0
	for _, s := range o.sinks {
		if err := s.Reset(); err != nil {
			return o.failed(err)
		}
	}
	return nil
}

func (o *fanout) failed(err error) error {
	if !isFault(err) && !canceled(err) {
		err = event.NewFault(event.ClassFailed, "fetch.sink", err, "what", o.what)
	}
	return &SinkError{err}
}

// fromCache feeds the sinks from an entry of the cache, if there are any.
func (d *download) fromCache(ctx context.Context, b Blob) error {
	if len(d.out.sinks) == 0 {
		d.c.Cache.touch(b.SHA256)
		return nil
	}
	f, err := d.c.Cache.open(b)
	if err != nil {
		if _, there := d.c.Cache.Find(b.SHA256, b.Size); !there { // another build found it damaged
			return event.NewFault(event.ClassFailed, "fetch.cache-damaged", err, "file", d.c.Cache.path(b.SHA256))
		}
		return err
	}
	defer f.Close()
	v := newVerified(f, b)
	buf := d.c.buffers.get()
	defer d.c.buffers.put(buf)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := v.Read(buf)
		if n > 0 {
			if err := d.out.write(buf[:n]); err != nil {
				return err
			}
			d.progress(v.n, b.Size)
		}
		if err == io.EOF { //nolint:errorlint // verified gives the bare one
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// waiting is a sign of life while another build has the lock.
func (d *download) waiting(done int64) {
	if d.due(time.Second) {
		d.tell(Progress{Done: done, Total: d.s.Size, Waiting: true})
	}
}

// progress tells how far it is, if it is time to.
func (d *download) progress(done, total int64) {
	if d.due(100 * time.Millisecond) {
		d.tell(Progress{Done: done, Total: total})
	}
}

func (d *download) due(every time.Duration) bool {
	if d.c.Progress == nil {
		return false
	}
	now := time.Now()
	if now.Sub(d.told) < every {
		return false
	}
	d.told = now
	return true
}

func (d *download) tell(p Progress) {
	if d.c.Progress != nil {
		p.What, p.URL = d.s.What, redact(d.url)
		d.c.Progress(p)
	}
}

func decimal(n int64) string { return fmt.Sprint(n) }
