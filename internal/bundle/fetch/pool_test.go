package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// shelf serves blobs at /0, /1, …; nil is not there.
func shelf(t *testing.T, blobs ...[]byte) (*Client, []Source) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil || blobs[n] == nil {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(blobs[n])
	}))
	t.Cleanup(srv.Close)
	r := newRig(t, whole)
	var list []Source
	for i, b := range blobs {
		s := known(fmt.Sprintf("%s/%d", srv.URL, i), b)
		s.What = fmt.Sprint(i)
		if b == nil {
			s.SHA256, s.Size = sum([]byte(fmt.Sprint(i))), 1
		}
		list = append(list, s)
	}
	return r.Client, list
}

func TestManyAtOnce(t *testing.T) {
	var blobs [][]byte
	for i := range 40 {
		blobs = append(blobs, blob(1000+i*i*500))
	}
	c, sources := shelf(t, blobs...)
	c.Progress = func(Progress) {}
	var jobs []Job
	var mu sync.Mutex
	sinks, done := map[int]*file{}, 0
	for i, s := range sources {
		jobs = append(jobs, Job{Source: s, Done: func(Blob) {
			mu.Lock()
			defer mu.Unlock()
			done++
		}, Sinks: func() []Sink {
			mu.Lock()
			defer mu.Unlock()
			sinks[i] = &file{}
			return []Sink{sinks[i]}
		}})
	}
	if err := c.All(context.Background(), jobs, 0); err != nil {
		t.Fatal(err)
	}
	for i, b := range blobs {
		wantBytes(t, c.Cache, b, sinks[i])
	}
	if n := len(c.buffers.free); n > Connections || done != len(jobs) {
		t.Errorf("%d buffers for %d connections, %d done", n, Connections, done)
	}
}

// Connections are kept for the next blob: by default all but two of a host's would be closed.
func TestConnectionsAreKept(t *testing.T) {
	const n = 8
	var opened atomic.Int64
	meet := make(chan struct{}, n)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		meet <- struct{}{}
		for len(meet) < n { // all at once, so that each has a connection of its own
			runtime.Gosched()
		}
		_, _ = w.Write(blob(len(r.URL.Path)))
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	rt, err := NewTransport(TransportOptions{Getenv: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, whole)
	r.HTTP = NewHTTPClient(rt)
	defer r.HTTP.CloseIdleConnections()
	for round := range 3 {
		var jobs []Job
		for i := range n {
			path := "/" + strings.Repeat("x", round*n+i)
			jobs = append(jobs, Job{Source: known(srv.URL+path, blob(len(path)))})
		}
		if err := r.All(context.Background(), jobs, n); err != nil {
			t.Fatal(err)
		}
		for range n {
			<-meet
		}
	}
	if opened.Load() != n {
		t.Errorf("%d connections for %d at once", opened.Load(), n)
	}
}

func TestTheLargestFirst(t *testing.T) {
	c, sources := shelf(t, blob(10), blob(1000), blob(500), blob(2000))
	sources[2].Size, sources[2].Limit = -1, 1<<20
	var order []string
	c.Progress = func(p Progress) {
		if p.Finished {
			order = append(order, p.What) // one connection: one goroutine
		}
	}
	var jobs []Job
	for _, s := range sources {
		jobs = append(jobs, Job{Source: s})
	}
	if err := c.All(context.Background(), jobs, 1); err != nil || !slices.Equal(order, []string{"2", "3", "1", "0"}) {
		t.Fatal(err, order)
	}
}

// The same sum in two jobs is asked for once; one that claims another size for it fails alone.
func TestTwiceTheSame(t *testing.T) {
	data := blob(5000)
	u := &upstream{data: data}
	c, url := over(t, u)
	f, g := &file{}, &file{}
	sinks := func(f *file) func() []Sink { return func() []Sink { return []Sink{f} } }
	unsized, lie := known(url, data), known(url, data)
	unsized.Size, unsized.Limit = -1, 1<<20
	lie.Size--
	jobs := []Job{{Source: known(url, data), Sinks: sinks(f)}, {Source: unsized, Sinks: sinks(g)}, {Source: lie}}
	if err := c.All(context.Background(), jobs, 4); code(err) != "fetch.size" || len(Faults(err)) != 1 {
		t.Fatal(err)
	}
	wantBytes(t, c.Cache, data, f, g)
	if len(u.asked) != 2 {
		t.Errorf("asked %d times", len(u.asked))
	}
}

func TestAllErrorsAreTold(t *testing.T) {
	c, sources := shelf(t, blob(10), nil, blob(30), nil, blob(50))
	sources[2].SHA256 = sum([]byte("x"))
	var jobs []Job
	for _, s := range sources {
		jobs = append(jobs, Job{Source: s})
	}
	for range 5 {
		err := c.All(context.Background(), jobs, 3)
		var got []string
		for _, f := range Faults(err) {
			got = append(got, f.Args["what"]+" "+f.Code)
		}
		if !slices.Equal(got, []string{"1 fetch.not-found", "2 fetch.sum-mismatch", "3 fetch.not-found"}) {
			t.Fatal(got)
		}
	}
	for _, i := range []int{0, 4} {
		if _, ok := c.Cache.Find(sources[i].SHA256, -1); !ok {
			t.Errorf("%d was not fetched", i)
		}
	}
	if err := c.All(context.Background(), jobs[1:2], 3); event.AsFault(err) != err {
		t.Errorf("one error is wrapped: %T", err)
	}
	if Faults(nil) != nil || c.All(context.Background(), nil, 3) != nil {
		t.Error("nothing to do is no error")
	}
}

// A full disk ends everything: what waits is not begun, and what is under way gives up.
func TestFullDiskEndsAll(t *testing.T) {
	data := blob(1000)
	begun := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/full" {
			<-begun
			_, _ = w.Write(data)
			return
		}
		close(begun)
		<-r.Context().Done()
	}))
	defer srv.Close()
	r := newRig(t, whole)
	other := known(srv.URL+"/hangs", blob(900))
	never := known(srv.URL+"/never", blob(800))
	full := Job{Source: known(srv.URL+"/full", data),
		Sinks: func() []Sink { return []Sink{&file{err: syscall.ENOSPC}} }}
	err := r.All(context.Background(), []Job{{Source: other}, full, {Source: never}}, 2)
	if f := Faults(err); len(f) != 1 || f[0].Code != "fetch.sink" || !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

func TestInterruptedPool(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer srv.Close()
	r := newRig(t, whole)
	var jobs []Job
	for i := range 50 {
		jobs = append(jobs, Job{Source: known(srv.URL, blob(i))})
	}
	if err := r.All(ctx, jobs[1:], 4); !errors.Is(err, context.Canceled) || len(Faults(err)) != 1 {
		t.Fatal(err)
	}
}

// Two builds in one process fetch a blob once; the second shows that it waits.
func TestTwoGetsOfOneSum(t *testing.T) {
	data := blob(1 << 20)
	waits := make(chan struct{})
	var once sync.Once
	u := &upstream{data: data, gate: func(at int64) {
		if at >= 500_000 {
			<-waits // half is there: now the other must have said that it waits
		}
	}}
	c, url := over(t, u)
	c.Progress = func(p Progress) {
		if p.Waiting {
			once.Do(func() { close(waits) })
		}
	}
	var wg sync.WaitGroup
	sinks := []*file{{}, {}}
	for _, f := range sinks {
		wg.Go(func() {
			if _, err := c.Get(context.Background(), known(url, data), f); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	wantBytes(t, c.Cache, data, sinks...)
	if len(u.asked) != 1 {
		t.Errorf("asked %d times", len(u.asked))
	}
}

// Who waits for another build can be interrupted.
func TestInterruptedWait(t *testing.T) {
	data := blob(1000)
	c, url := over(t, &upstream{data: data})
	w, err := c.Cache.partial(context.Background(), known(url, data), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.Progress = func(p Progress) {
		if p.Waiting {
			cancel()
		}
	}
	if _, err := c.Get(ctx, known(url, data)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	// The other gives up: we find an empty file of a dead build, or none.
	w.discard()
	if _, err := c.Get(context.Background(), known(url, data)); err != nil {
		t.Fatal(err)
	}
}

func TestASumThatIsNone(t *testing.T) {
	r := newRig(t, whole)
	for _, s := range []string{"../../etc/passwd", sum(body)[1:], string(bytes.ToUpper([]byte(sum(body))))} {
		if _, err := r.Get(context.Background(), Source{URL: r.url, SHA256: s, Size: -1,
			Limit: 1}); code(err) != "fetch.sum-invalid" {
			t.Error(s, err)
		}
	}
}
