package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

const (
	minProgress = 64 << 10 // bytes: with fewer, a try counts as one without progress
	minStall    = 4 << 10  // bytes that must come within Client.Stall
	maxPause    = 15 * time.Second
	maxAfter    = time.Minute // of a server's Retry-After
)

// download is one file under way, over several tries.
type download struct {
	c    *Client
	s    Source
	w    *incoming
	out  fanout
	url  string
	told time.Time // the last progress

	etag, modified string // what If-Range may be asked with
	length         int64  // as the server said, -1 unknown
	after          time.Duration

	best     int64 // as far as any try got
	restarts int
	// the bytes come from several answers, or from one whose end cannot be told from a cut: a wrong sum may be fixed
	doubtful bool
	again    bool // it was started over after a wrong sum
	useless  bool // what is there must not be resumed by another run
}

func (d *download) limit() int64 {
	limit := d.s.Limit
	if d.s.Size >= 0 {
		return d.s.Size
	}
	if d.length >= 0 {
		limit = min(limit, d.length)
	}
	return limit
}

func (d *download) total() int64 {
	if d.s.Size >= 0 {
		return d.s.Size
	}
	return d.length
}

// resume goes on with the partial file w, and leaves it behind when it cannot be finished now.
func (d *download) resume(ctx context.Context, w *incoming) (Blob, error) {
	d.w = w
	buf := d.c.buffers.get()
	err := w.load(ctx, buf, d.limit(), func(p []byte) error {
		d.progress(w.n, d.total())
		return d.out.write(p)
	})
	d.c.buffers.put(buf)
	if l := (localError{}); errors.As(err, &l) { // it cannot be read: of no use
		if err = w.reset(); err == nil {
			err = d.out.reset()
		}
	}
	b := Blob{}
	if err == nil {
		d.doubtful, d.best = w.n > 0, w.n
		if o, ok := d.c.Cache.readOrigin(d.s.SHA256); ok && w.n > 0 && o.URL == hashURL(d.url) &&
			(o.Total < 0 || o.Total >= w.n) {
			d.etag, d.modified, d.length = o.ETag, o.Modified, o.Total
		}
		b, err = d.run(ctx)
	}
	if err == nil || d.useless || w.n == 0 && w.f != nil {
		_ = d.c.Cache.removeOrigin(d.s.SHA256)
		w.discard() // nothing, if it was committed
	}
	w.leave()
	if l := (localError{}); errors.As(err, &l) {
		err = diskFault(err, d.c.Cache.dir)
	}
	return b, err
}

// run fetches until the whole file is there and its sum is right.
func (d *download) run(ctx context.Context) (Blob, error) {
	for {
		if !d.right() {
			if err := d.fill(ctx); err != nil {
				return Blob{}, err
			}
		}
		sum := d.w.sum()
		if d.s.SHA256 == "" || sum == d.s.SHA256 {
			b, err := d.w.commit()
			if err == nil {
				d.tell(Progress{Done: b.Size, Total: b.Size, Finished: true})
			}
			return b, err
		}
		f := d.fault("fetch.sum-mismatch", nil, "got", sum, "want", d.s.SHA256)
		if !d.doubtful || d.again {
			d.useless = true
			return Blob{}, f
		}
		d.again, d.best, d.restarts = true, 0, 0
		if err := d.restart(); err != nil {
			return Blob{}, err
		}
		d.restarts = 0
		d.tell(Progress{Total: d.total(), Retry: f})
	}
}

// right says that what is there is the whole file.
func (d *download) right() bool {
	return d.s.SHA256 != "" && (d.s.Size < 0 || d.w.n == d.s.Size) && d.w.sum() == d.s.SHA256
}

// fill tries until all bytes are there.
func (d *download) fill(ctx context.Context) error {
	if d.s.Size >= 0 && d.w.n == d.s.Size {
		return nil
	}
	if d.s.Local != nil {
		return d.local(ctx)
	}
	tries, delay := d.c.Tries, d.c.Delay
	if tries == 0 {
		tries = 6
	}
	if delay == 0 {
		delay = 500 * time.Millisecond
	}
	pause := d.c.pause
	if pause == nil {
		pause = Sleep
	}
	for try := 1; ; try++ {
		err := d.try(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		se, f := (*SinkError)(nil), (*event.Fault)(nil)
		if errors.As(err, &se) || !errors.As(err, &f) || !f.Retry {
			return err
		}
		if d.right() { // only the length was a lie
			return nil
		}
		// The furthest point counts, not this try's bytes: else a server that knows no ranges and breaks each time
		// would be asked for ever.
		rest := delay
		if d.w.n >= d.best+minProgress {
			// The server works, only the connection broke: no reason to let it rest for long.
			d.best, try, rest = d.w.n, 1, delay/10
		}
		if try >= tries || d.restarts > tries || try >= triesOffline && d.c.offline(f) {
			return err
		}
		if !d.c.offline(f) { // else each file would say the same
			d.tell(Progress{Done: d.w.n, Total: d.total(), Retry: f})
		}
		p := min(rest<<min(try-1, 16), maxPause)
		p += time.Duration(rand.Int64N(int64(p)/4 + 1))
		if err := pause(ctx, max(p, min(d.after, maxAfter))); err != nil {
			return err
		}
	}
}

// local reads the rest from this machine.
func (d *download) local(ctx context.Context) error {
	r, err := d.s.Local(d.w.n)
	if err != nil {
		return d.localFault(err)
	}
	defer r.Close()
	buf := d.c.buffers.get()
	defer d.c.buffers.put(buf)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, rerr := r.Read(buf)
		if err := d.write(buf[:n]); err != nil {
			return err
		}
		switch {
		case errors.Is(rerr, io.EOF):
			if t := d.total(); t >= 0 && d.w.n < t {
				return d.fault("fetch.truncated", nil, "got", decimal(d.w.n), "want", decimal(t))
			}
			return nil
		case rerr != nil:
			return d.localFault(rerr)
		}
		d.progress(d.w.n, d.total())
	}
}

func (d *download) localFault(err error) error {
	if isFault(err) || canceled(err) {
		return err
	}
	return d.fault("fetch.local", err)
}

// try asks once, from where the last try ended, and returns nil when the file is whole.
func (d *download) try(parent context.Context) error {
	d.after = 0
	if d.w.n > 0 && d.s.SHA256 == "" && d.etag == "" && d.modified == "" {
		if err := d.restart(); err != nil { // nothing would tell that two versions were put together
			return err
		}
	}
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	dog := newWatchdog(d.c.Stall, cancel)
	defer dog.stop()

	resp, err := d.ask(ctx)
	if err != nil {
		return d.network(dog.ended(err))
	}
	defer resp.Body.Close()
	if d.c.Reached != nil {
		d.c.Reached.Store(true)
	}
	if err := d.accept(resp); err != nil {
		return err
	}
	d.doubtful = d.doubtful || d.w.n > 0 || resp.ContentLength < 0 && len(resp.TransferEncoding) == 0
	dog.fed(minStall)
	return d.body(resp.Body, dog)
}

// body takes what comes, a buffer at a time.
func (d *download) body(r io.Reader, dog *watchdog) error {
	buf := d.c.buffers.get()
	defer d.c.buffers.put(buf)
	for {
		m, err := 0, error(nil)
		for m < len(buf) && err == nil {
			var n int
			n, err = r.Read(buf[m:])
			m += n
			dog.fed(n)
			d.progress(d.w.n+int64(m), d.total())
		}
		if err := d.write(buf[:m]); err != nil {
			return err
		}
		if err == nil {
			continue
		}
		t := d.total()
		short := t >= 0 && d.w.n < t
		switch {
		case errors.Is(err, io.EOF) && !short:
			return nil
		case errors.Is(err, io.EOF) || short && errors.Is(err, io.ErrUnexpectedEOF):
			return d.transient("fetch.truncated", nil, "got", decimal(d.w.n), "want", decimal(t))
		}
		return d.network(dog.ended(err))
	}
}

// write appends to the file and feeds the sinks.
func (d *download) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if limit := d.limit(); d.w.n+int64(len(p)) > limit {
		d.useless = true
		return d.fault("fetch.too-large", nil, "limit", decimal(limit))
	}
	if _, err := d.w.Write(p); err != nil {
		return diskFault(err, d.c.Cache.dir)
	}
	return d.out.write(p)
}

// restart forgets what came: the server starts again, or must.
func (d *download) restart() error {
	d.etag, d.modified, d.length, d.doubtful = "", "", -1, false
	if d.w.n == 0 {
		return nil
	}
	d.restarts++
	if err := d.w.reset(); err != nil {
		return diskFault(err, d.c.Cache.dir)
	}
	return d.out.reset()
}

func (d *download) ask(ctx context.Context) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, nil)
	if err != nil || req.URL.Host == "" || req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return nil, errURL
	}
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "eggo-bundle")
	if d.w.n > 0 {
		// Both ends where they are known: some registries know no other form.
		end := ""
		if t := d.total(); t >= 0 {
			end = decimal(t - 1)
		}
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-%s", d.w.n, end))
		if d.etag != "" {
			req.Header.Set("If-Range", d.etag)
		} else if d.modified != "" {
			req.Header.Set("If-Range", d.modified)
		}
	}
	client := d.s.Client
	if client == nil {
		client = d.c.HTTP
	}
	return client.Do(req)
}

// watchdog ends a try in which too little comes: a server that sends a byte now and then holds a connection for ever
// otherwise.
type watchdog struct {
	t     *time.Timer
	stall time.Duration
	since int
	bit   atomic.Bool
}

func newWatchdog(stall time.Duration, cancel context.CancelFunc) *watchdog {
	if stall == 0 {
		stall = time.Minute
	}
	w := &watchdog{stall: stall}
	w.t = time.AfterFunc(stall, func() { w.bit.Store(true); cancel() })
	return w
}

func (w *watchdog) fed(n int) {
	if w.since += n; w.since >= minStall {
		w.since = 0
		w.t.Reset(w.stall)
	}
}

func (w *watchdog) stop() { w.t.Stop() }

// ended is the error of a try that it gave up, else err.
func (w *watchdog) ended(err error) error {
	if w.bit.Load() {
		return fmt.Errorf("less than %d bytes in %v", minStall, w.stall)
	}
	return err
}
