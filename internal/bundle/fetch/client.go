package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/event"
)

// Source is one thing to fetch.
type Source struct {
	URL    string // upstream's; mirrors map it
	SHA256 string // lower-case hex, "" when unknown
	Size   int64  // bytes, < 0 when unknown
	Limit  int64  // no more bytes than this when Size is unknown
	What   string // for progress and faults
	// Client asks the server, nil for the Client's own; registries need one that knows their tokens.
	Client *http.Client
}

// Progress of a fetch: Done and Total in bytes, Total < 0 when unknown. Retry is the fault that another try follows.
type Progress struct {
	What  string
	URL   string
	Done  int64
	Total int64
	Retry *event.Fault

	Finished bool // the file is in the cache
	Cached   bool // and was there before
}

// Client fetches into a cache.
type Client struct {
	HTTP     *http.Client
	Cache    *Cache
	Mirrors  *Mirrors
	Progress func(Progress) // may be nil; called often, from the goroutine that fetches

	Tries int           // without progress in between; 0 means 6
	Delay time.Duration // before the second try, doubled each time up to 15 s; 0 means 500 ms
	Stall time.Duration // without a byte for so long, a try is given up; 0 means 60 s
}

// NewHTTPClient makes a client that does not decompress behind our back and never goes from https to http.
func NewHTTPClient(rt http.RoundTripper) *http.Client {
	return &http.Client{Transport: rt, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) > 10 {
			return errors.New("more than 10 redirects")
		}
		if via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
			return fmt.Errorf("redirected from https to %s", req.URL.Scheme)
		}
		return nil
	}}
}

// Get returns the source from the cache, or fetches it: broken bodies go on with a Range request, transient errors are tried again
// after a pause (Retry-After where the server says so). What comes is held against size and sum.
//
// Faults: "fetch.not-found", "fetch.refused" (any other status), "fetch.network", "fetch.truncated", "fetch.too-large",
// "fetch.sum-mismatch", "fetch.no-space", "fetch.cache". They name the URL that was asked.
func (c *Client) Get(ctx context.Context, s Source) (Blob, error) {
	if s.SHA256 != "" {
		if b, ok := c.Cache.Find(s.SHA256, s.Size); ok {
			c.tell(Progress{What: s.What, URL: s.URL, Done: b.Size, Total: b.Size, Finished: true, Cached: true})
			return b, nil
		}
	}
	w, err := c.Cache.create()
	if err != nil {
		return Blob{}, err
	}
	defer w.discard()
	d := &download{c: c, s: s, w: w, url: c.Mirrors.URL(s.URL)}
	tries, delay := c.Tries, c.Delay
	if tries == 0 {
		tries = 6
	}
	if delay == 0 {
		delay = 500 * time.Millisecond
	}
	for try := 1; ; try++ {
		before := w.n
		f := d.try(ctx)
		if f == nil {
			return d.finish()
		}
		if ctx.Err() != nil {
			return Blob{}, ctx.Err()
		}
		if w.n > before {
			try = 1
		}
		if !f.Retry || try >= tries {
			return Blob{}, f
		}
		c.tell(Progress{What: s.What, URL: d.url, Done: w.n, Total: d.total(), Retry: f})
		pause := min(delay<<(try-1), 15*time.Second)
		pause += time.Duration(rand.Int64N(int64(pause)/4 + 1))
		if err := sleep(ctx, max(pause, min(d.after, time.Minute))); err != nil {
			return Blob{}, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func (c *Client) tell(p Progress) {
	if c.Progress != nil {
		c.Progress(p)
	}
}

// download is one file under way, over several tries.
type download struct {
	c      *Client
	s      Source
	w      *writer
	url    string
	etag   string
	length int64 // as the server said, 0 unknown
	after  time.Duration
}

func (d *download) total() int64 {
	if d.s.Size >= 0 {
		return d.s.Size
	}
	if d.length > 0 {
		return d.length
	}
	return -1
}

func (d *download) fault(code string, err error, kv ...string) *event.Fault {
	if ue := (*url.Error)(nil); errors.As(err, &ue) {
		err = ue.Err // the fault names the URL itself
	}
	return event.NewFault(event.ClassFailed, code, err, append([]string{"url", redact(d.url), "what", d.s.What}, kv...)...)
}

// redact drops a password from a URL.
func redact(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return s
	}
	return u.Redacted()
}

func (d *download) transient(code string, err error, kv ...string) *event.Fault {
	f := d.fault(code, err, kv...)
	f.Retry = true
	return f
}

// try asks once, from where the last try ended, and returns nil when the file is whole.
func (d *download) try(parent context.Context) *event.Fault {
	d.after = 0
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	stall := d.c.Stall
	if stall == 0 {
		stall = time.Minute
	}
	watchdog := time.AfterFunc(stall, cancel)
	defer watchdog.Stop()

	resp, f := d.ask(ctx)
	if f != nil {
		return f
	}
	defer resp.Body.Close()
	if f := d.accept(resp); f != nil {
		return f
	}
	limit := d.s.Limit
	if d.s.Size >= 0 {
		limit = d.s.Size
	}
	if d.s.Size < 0 && d.length > 0 {
		limit = min(limit, d.length)
	}
	buf := make([]byte, 256<<10)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			watchdog.Reset(stall)
			if d.w.n+int64(n) > limit {
				return d.fault("fetch.too-large", nil, "limit", fmt.Sprint(limit))
			}
			if _, err := d.w.Write(buf[:n]); err != nil {
				f := (*event.Fault)(nil)
				errors.As(diskFault(err, d.c.Cache.dir), &f)
				return f
			}
			d.c.tell(Progress{What: d.s.What, URL: d.url, Done: d.w.n, Total: d.total()})
		}
		if errors.Is(err, io.EOF) {
			if t := d.total(); t >= 0 && d.w.n < t {
				return d.transient("fetch.truncated", nil, "got", fmt.Sprint(d.w.n), "want", fmt.Sprint(t))
			}
			return nil
		}
		if err != nil {
			if t := d.total(); t >= 0 && errors.Is(err, io.ErrUnexpectedEOF) {
				return d.transient("fetch.truncated", nil, "got", fmt.Sprint(d.w.n), "want", fmt.Sprint(t))
			}
			return d.network(ctx, parent, err)
		}
	}
}

func (d *download) network(ctx, parent context.Context, err error) *event.Fault {
	if ctx.Err() != nil && parent.Err() == nil {
		err = errors.New("no data for too long")
	}
	return d.transient("fetch.network", err)
}

func (d *download) ask(ctx context.Context) (*http.Response, *event.Fault) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, nil)
	if err != nil {
		return nil, d.fault("fetch.network", err)
	}
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "eggo-bundle")
	if d.w.n > 0 {
		// Both ends where they are known: some registries know no other form.
		end := ""
		if t := d.total(); t >= 0 {
			end = strconv.FormatInt(t-1, 10)
		}
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-%s", d.w.n, end))
		if d.etag != "" {
			req.Header.Set("If-Range", d.etag)
		}
	}
	client := d.s.Client
	if client == nil {
		client = d.c.HTTP
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, d.network(ctx, ctx, err)
	}
	return resp, nil
}

// accept looks at the status and makes the writer stand where the body begins.
func (d *download) accept(resp *http.Response) *event.Fault {
	switch resp.StatusCode {
	case http.StatusOK:
		if err := d.restart(); err != nil {
			return err
		}
		if t := d.s.Size; t >= 0 && resp.ContentLength >= 0 && resp.ContentLength != t {
			return d.fault("fetch.size", nil, "got", fmt.Sprint(resp.ContentLength), "want", fmt.Sprint(t))
		}
		d.length = max(resp.ContentLength, 0)
		if e := resp.Header.Get("ETag"); !strings.HasPrefix(e, "W/") {
			d.etag = e
		}
		return nil
	case http.StatusPartialContent:
		start := strings.TrimPrefix(resp.Header.Get("Content-Range"), "bytes ")
		start, _, _ = strings.Cut(start, "-")
		if n, err := strconv.ParseInt(start, 10, 64); err == nil && n == d.w.n && n > 0 {
			return nil
		}
		if err := d.restart(); err != nil {
			return err
		}
		return d.transient("fetch.network", fmt.Errorf("a wrong range came back: %q", resp.Header.Get("Content-Range")))
	case http.StatusRequestedRangeNotSatisfiable:
		if err := d.restart(); err != nil {
			return err
		}
		return d.transient("fetch.refused", nil, "status", resp.Status)
	case http.StatusNotFound, http.StatusGone:
		return d.fault("fetch.not-found", nil, "status", resp.Status)
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		d.after = retryAfter(resp.Header.Get("Retry-After"))
		return d.transient("fetch.refused", nil, "status", resp.Status)
	}
	return d.fault("fetch.refused", nil, "status", resp.Status)
}

func (d *download) restart() *event.Fault {
	if d.w.n == 0 {
		return nil
	}
	if err := d.w.reset(); err != nil {
		f := (*event.Fault)(nil)
		errors.As(diskFault(err, d.c.Cache.dir), &f)
		return f
	}
	return nil
}

func retryAfter(h string) time.Duration {
	if n, err := strconv.Atoi(h); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(h); err == nil {
		return time.Until(t)
	}
	return 0
}

func (d *download) finish() (Blob, error) {
	if sum := d.w.sum(); d.s.SHA256 != "" && sum != d.s.SHA256 {
		return Blob{}, d.fault("fetch.sum-mismatch", nil, "got", sum, "want", d.s.SHA256)
	}
	b, err := d.w.commit()
	if err == nil {
		d.c.tell(Progress{What: d.s.What, URL: d.url, Done: b.Size, Total: b.Size, Finished: true})
	}
	return b, err
}
