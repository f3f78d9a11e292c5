package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// over is a client of u in a new cache.
func over(t *testing.T, u *upstream) (*Client, string) {
	t.Helper()
	srv := httptest.NewServer(u)
	t.Cleanup(srv.Close)
	r := newRig(t, whole)
	return r.Client, srv.URL + "/blob"
}

func TestALeftoverGoesOn(t *testing.T) {
	data := blob(1 << 20)
	half := len(data) / 2
	strong := &origin{ETag: `"v1"`, Total: int64(len(data))}
	for _, tt := range []struct {
		name    string
		left    []byte
		origin  *origin
		u       *upstream
		size    int64 // of the source
		ranges  string
		ifRange string
		resets  int
		want    string
	}{
		{name: "nothing left", size: 1 << 20},
		{name: "the half", left: data[:half], size: 1 << 20, ranges: rangeFrom(half, len(data))},
		{name: "the half, of unknown size", left: data[:half], size: -1, ranges: fmt.Sprintf("bytes=%d-", half)},
		{name: "the half, of a size that the origin knows", left: data[:half], origin: strong, size: -1,
			u:      &upstream{etag: `"v1"`},
			ranges: rangeFrom(half, len(data)), ifRange: `"v1"`},
		{name: "all of it", left: data, size: 1 << 20, ranges: "none"},
		{name: "all of it, of unknown size", left: data, size: -1, ranges: "none"},
		{name: "too much", left: append(bytes.Clone(data), 'x'), size: 1 << 20},
		{name: "changed since, with a tag", left: blob(half), origin: strong, size: 1 << 20, u: &upstream{etag: `"v2"`},
			ranges: rangeFrom(half, len(data)), ifRange: `"v1"`, resets: 1},
		{name: "changed since, without one", left: blob(half), size: 1 << 20, ranges: rangeFrom(half, len(data)) + " ",
			resets: 1},
		{name: "torn by a power cut", left: append(bytes.Clone(data[:half]), make([]byte, 4096)...), size: 1 << 20,
			ranges: rangeFrom(half+4096, len(data)) + " ", resets: 1},
		{name: "all of something else", left: blob(1<<20 + 7)[7:], size: 1 << 20, resets: 1},
		{name: "no ranges there", left: data[:half], size: 1 << 20, u: &upstream{noRange: true},
			ranges: rangeFrom(half, len(data)), resets: 1},
		{name: "changed since, and wrong for ever", left: data[:half], size: 1 << 20, u: &upstream{data: data[1:]},
			want:   "fetch.size",
			ranges: rangeFrom(half, len(data))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := tt.u
			if u == nil {
				u = &upstream{}
			}
			if u.data == nil {
				u.data = data
			}
			c, url := over(t, u)
			c.pause = func(context.Context, time.Duration) error { return nil }
			s := known(url, data)
			s.Size, s.Limit = tt.size, 1<<30
			if tt.left != nil {
				if tt.origin != nil {
					tt.origin.URL = hashURL(url)
				}
				leftover(t, c.Cache, s, tt.left, tt.origin)
			}
			f, g := &file{}, &file{}
			_, err := c.Get(context.Background(), s, f, g)
			if tt.want == "fetch.size" { // a 206 of another whole, then a 200 of another length
				if code(err) != "fetch.size" {
					t.Fatal(err)
				}
				return
			}
			if code(err) != tt.want {
				t.Fatal(err)
			}
			wantBytes(t, c.Cache, data, f, g)
			if f.resets != tt.resets {
				t.Errorf("%d resets", f.resets)
			}
			asked := joined(u.requests("Range"))
			if len(u.asked) == 0 {
				asked = "none"
			}
			if asked != tt.ranges || strings.TrimSpace(joined(u.requests("If-Range"))) != tt.ifRange {
				t.Errorf("asked for %q if %q", asked, u.requests("If-Range"))
			}
			if left, _ := filepath.Glob(filepath.Join(c.Cache.dir, "partial", "*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// A server that lets no connection live for more than 100 kB: each try goes on where the last one ended, and only what
// was cut off is asked for.
func TestEachConnectionIsCut(t *testing.T) {
	data := blob(3 << 20)
	u := &upstream{data: data, cut: 100_000, etag: `"v"`}
	c, url := over(t, u)
	f := &file{}
	if _, err := c.Get(context.Background(), known(url, data), f); err != nil {
		t.Fatal(err)
	}
	wantBytes(t, c.Cache, data, f)
	if got := u.settled(); got != int64(len(data)) || f.resets != 0 {
		t.Errorf("%d bytes served, %d resets", got, f.resets)
	}
}

// One that knows no ranges besides can never get through: it is not asked for ever.
func TestCutWithoutRanges(t *testing.T) {
	data := blob(3 << 20)
	u := &upstream{data: data, cut: 100_000, noRange: true}
	c, url := over(t, u)
	if _, err := c.Get(context.Background(), known(url, data)); code(err) != "fetch.truncated" || len(u.asked) > 6 {
		t.Fatal(err, len(u.asked))
	}
}

// The blob changes between two tries of one run.
func TestChangedUnderWay(t *testing.T) {
	data := blob(1 << 20)
	other := blob(1<<20 + 7)[7:]
	for _, tag := range []string{"", `"%d"`, `W/"%d"`} {
		t.Run(tag, func(t *testing.T) {
			u := &upstream{data: other, cut: 200_000}
			if tag != "" {
				u.etag = fmt.Sprintf(tag, 1)
			}
			c, url := over(t, u)
			c.pause = func(context.Context, time.Duration) error {
				u.change(func() {
					u.data, u.cut = data, 0
					if tag != "" {
						u.etag = fmt.Sprintf(tag, 2)
					}
				})
				return nil
			}
			f := &file{}
			if _, err := c.Get(context.Background(), known(url, data), f); err != nil {
				t.Fatal(err)
			}
			wantBytes(t, c.Cache, data, f)
			if f.resets != 1 {
				t.Errorf("%d resets", f.resets)
			}
		})
	}
}

// Without a sum nothing would tell two versions that were put together: what has no validator starts again.
func TestUnknownSumIsNeverSpliced(t *testing.T) {
	data, other := blob(1<<20), blob(1<<20 + 7)[7:]
	for _, tt := range []struct{ etag, then, ranges string }{
		{"", "", " "}, {`"a"`, `"a"`, " " + "bytes=200000-1048575"}, {`"a"`, `"b"`, " " + "bytes=200000-1048575"},
	} {
		t.Run(tt.then, func(t *testing.T) {
			first := other
			if tt.etag == tt.then && tt.etag != "" {
				first = data
			}
			u := &upstream{data: first, cut: 200_000, etag: tt.etag}
			c, url := over(t, u)
			c.pause = func(context.Context, time.Duration) error {
				u.change(func() { u.data, u.cut, u.etag = data, 0, tt.then })
				return nil
			}
			f := &file{}
			b, err := c.Get(context.Background(), Source{URL: url, Size: -1, Limit: 1 << 30}, f)
			if err != nil || b.SHA256 != sum(data) || joined(u.requests("Range")) != tt.ranges {
				t.Fatal(b, err, u.requests("Range"))
			}
			wantBytes(t, c.Cache, data, f)
		})
	}
}

// A sum that is wrong although all came at once is final, and nothing of it is kept.
func TestWrongForEver(t *testing.T) {
	data := blob(1 << 20)
	u := &upstream{data: blob(1<<20 + 7)[7:], cut: 600_000}
	c, url := over(t, u)
	f := &file{}
	if _, err := c.Get(context.Background(), known(url, data), f); code(err) != "fetch.sum-mismatch" || f.resets != 1 {
		t.Fatal(err, f.resets)
	}
	if left, _ := filepath.Glob(filepath.Join(c.Cache.dir, "*", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// An origin that is not of this URL, or that somebody wrote into, does no harm.
func TestStrangeOrigins(t *testing.T) {
	data := blob(1 << 20)
	half := len(data) / 2
	for name, text := range map[string]string{
		"of another URL": `{"url":"` + strings.Repeat("a", 64) + `","etag":"\"x\"","total":1048576}`,
		"no JSON":        "\x00\xff", "empty": "", "huge": strings.Repeat(" ", 1<<20),
		"a header smuggled in":      `{"url":"U","etag":"\"a\r\nX: y\"","total":1048576}`,
		"a lie about the total":     `{"url":"U","total":7}`,
		"fields of a later program": `{"url":"U","etag":"\"x\"","total":1048576,"more":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			u := &upstream{data: data, etag: `"v"`}
			c, url := over(t, u)
			s := known(url, data)
			leftover(t, c.Cache, s, data[:half], nil)
			text = strings.ReplaceAll(text, `"U"`, `"`+hashURL(url)+`"`)
			if err := os.WriteFile(c.Cache.partialPath(s.SHA256)+".json", []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Get(context.Background(), s); err != nil {
				t.Fatal(err)
			}
			wantBytes(t, c.Cache, data)
			if joined(u.requests("Range")) != rangeFrom(half, len(data)) || joined(u.requests("If-Range")) != "" {
				t.Errorf("asked for %q if %q", u.requests("Range"), u.requests("If-Range"))
			}
		})
	}
}

// The page of a portal, or an error served as 200, must not cost what was got before.
func TestAPortalInTheWay(t *testing.T) {
	data := blob(1 << 20)
	u := &upstream{data: []byte("<html>please log in"), noRange: true}
	c, url := over(t, u)
	leftover(t, c.Cache, known(url, data), data[:600_000], nil)
	if _, err := c.Get(context.Background(), known(url, data)); code(err) != "fetch.size" {
		t.Fatal(err)
	}
	u.change(func() { u.data, u.noRange, u.bytes = data, false, 0 })
	if _, err := c.Get(context.Background(), known(url, data)); err != nil || u.settled() != int64(len(data)-600_000) {
		t.Fatal(err, u.settled())
	}
}

func TestPoisonedEntry(t *testing.T) {
	data := blob(1 << 20)
	u := &upstream{data: data}
	c, url := over(t, u)
	for _, bad := range [][]byte{blob(1<<20 + 7)[7:], append(bytes.Clone(data[:1<<20-1]), 'x'), data[1:]} {
		if err := os.WriteFile(c.Cache.path(sum(data)), bad, 0o600); err != nil {
			t.Fatal(err)
		}
		f := &file{}
		if _, err := c.Get(context.Background(), known(url, data), f); err != nil {
			t.Fatal(err)
		}
		wantBytes(t, c.Cache, data, f)
	}
	asked := len(u.asked)
	f := &file{}
	if _, err := c.Get(context.Background(), known(url, data), f); err != nil || f.resets != 0 ||
		len(u.asked) != asked {
		t.Fatal(err, f.resets)
	}
	wantBytes(t, c.Cache, data, f)
}

// A sink's error ends the fetch, is told apart, and does not cost what was fetched.
func TestSinkFails(t *testing.T) {
	data := blob(1 << 20)
	u := &upstream{data: data}
	c, url := over(t, u)
	_, err := c.Get(context.Background(), known(url, data), &file{}, &file{err: errTorn})
	if se := (*SinkError)(nil); !errors.As(err, &se) || !errors.Is(err, errTorn) || code(err) != "fetch.sink" ||
		len(u.asked) != 1 {
		t.Fatal(err)
	}
	f := &file{}
	if _, err := c.Get(context.Background(), known(url, data), f); err != nil ||
		joined(u.requests("Range")) != " "+rangeFrom(bufferSize, len(data)) {
		t.Fatal(err, u.requests("Range"))
	}
	wantBytes(t, c.Cache, data, f)
	_, err = c.Get(context.Background(), known(url, data), &file{err: errTorn}) // from the cache now
	if se := (*SinkError)(nil); !errors.As(err, &se) {
		t.Fatal(err)
	}
	if _, there := c.Cache.Find(sum(data), -1); !there {
		t.Error("the entry was taken for damaged")
	}
}

func TestLocalSources(t *testing.T) {
	data := blob(1 << 20)
	from := func(p []byte) func(int64) (io.ReadCloser, error) {
		return func(at int64) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(p[at:])), nil }
	}
	for _, tt := range []struct {
		name  string
		left  []byte
		local func(int64) (io.ReadCloser, error)
		want  string
	}{
		{"good", nil, from(data), ""},
		{"goes on", data[:1000], from(data), ""},
		{"after something else", blob(1000), from(data), ""},
		{"too short", nil, from(data[:100]), "fetch.truncated"},
		{"too long", nil, from(append(bytes.Clone(data), 0)), "fetch.too-large"},
		{"something else", nil, from(blob(1<<20 + 7)[7:]), "fetch.sum-mismatch"},
		{"not there", nil, func(int64) (io.ReadCloser, error) { return nil, os.ErrNotExist }, "fetch.local"},
		{"breaks", nil, func(int64) (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(bytes.NewReader(data[:9]), broken{})), nil
		}, "fetch.local"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, whole)
			s := known("layer.tar", data)
			s.Local = tt.local
			if tt.left != nil {
				leftover(t, r.Cache, s, tt.left, nil)
			}
			f := &file{}
			if _, err := r.Get(context.Background(), s, f); code(err) != tt.want {
				t.Fatal(err)
			}
			if tt.want == "" {
				wantBytes(t, r.Cache, data, f)
			}
			if len(r.requests()) > 0 {
				t.Error("the network was asked")
			}
		})
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errTorn }

// What a server may do to make us wait or swallow without end.
func TestEvilServers(t *testing.T) {
	forever := func(piece []byte, rest func(r *http.Request)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(piece); err != nil {
					return
				}
				_ = http.NewResponseController(w).Flush()
				rest(r)
			}
		}
	}
	for _, tt := range []struct {
		name string
		h    http.HandlerFunc
		want string
	}{
		{"an endless body", forever(make([]byte, 64<<10), func(*http.Request) {}), "fetch.too-large"},
		{"a byte now and then", forever([]byte("x"), func(r *http.Request) {
			_ = Sleep(r.Context(), time.Millisecond)
		}), "fetch.network"},
		{"headers without end", func(w http.ResponseWriter, _ *http.Request) {
			for i := range 100 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 10_000))
			}
		}, "fetch.network"},
		{"no headers ever", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "fetch.network"},
		{"a length beyond all limits", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "999999999999")
		}, "fetch.too-large"},
		{"redirects in a circle", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/again", http.StatusFound)
		}, "fetch.redirect"},
		{"a redirect to a file", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}, "fetch.redirect-plain"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, tt.h)
			rt, err := NewTransport(TransportOptions{Getenv: func(string) string { return "" }})
			if err != nil {
				t.Fatal(err)
			}
			r.HTTP, r.Tries, r.Stall = NewHTTPClient(rt), 2, 200*time.Millisecond
			defer r.HTTP.CloseIdleConnections()
			if _, err := r.Get(context.Background(), Source{URL: r.url, Size: -1,
				Limit: 1 << 20}); code(err) != tt.want {
				t.Fatal(err)
			}
		})
	}
}

func TestTheServersOwnPause(t *testing.T) {
	later := func(h string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", h); w.WriteHeader(429) }
	}
	r := newRig(t, later("7"), later("999999"), later("-1"),
		later(time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)), later("soon"), whole)
	var pauses []time.Duration
	r.Tries = 9
	r.pause = func(_ context.Context, d time.Duration) error {
		pauses = append(pauses, d.Truncate(time.Second))
		return nil
	}
	if _, err := r.Get(context.Background(), known(r.url, body)); err != nil {
		t.Fatal(err)
	}
	if want := []time.Duration{7 * time.Second, time.Minute, 0, time.Minute, 0}; !slices.Equal(pauses, want) {
		t.Fatal(pauses)
	}
}
