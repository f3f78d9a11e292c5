package fetch

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestMain is also the program that the tests below start and kill: it gets one blob.
func TestMain(m *testing.M) {
	if os.Getenv("FETCH_TEST_CHILD") == "" {
		os.Exit(m.Run())
	}
	err := child()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func child() error {
	size, err := strconv.ParseInt(os.Getenv("FETCH_TEST_SIZE"), 10, 64)
	if err != nil {
		return err
	}
	cache, err := OpenCache(os.Getenv("FETCH_TEST_CACHE"))
	if err != nil {
		return err
	}
	at, err := strconv.ParseInt(os.Getenv("FETCH_TEST_KILL"), 10, 64)
	if err != nil {
		return err
	}
	// Small buffers in the sockets: what is on its way when the process dies is lost.
	rt := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err == nil && at > 0 {
			err = conn.(*net.TCPConn).SetReadBuffer(128 << 10)
		}
		return &mortal{conn, at}, err
	}}
	c := &Client{HTTP: NewHTTPClient(rt), Cache: cache, Progress: func(p Progress) {
		if p.Waiting {
			fmt.Println("waiting")
		}
	}}
	f := &file{}
	b, err := c.Get(context.Background(), Source{URL: os.Getenv("FETCH_TEST_URL"), SHA256: os.Getenv("FETCH_TEST_SUM"),
		Size: size, What: "it"}, f)
	if err == nil && sum(f.Bytes()) != b.SHA256 {
		err = errTorn
	}
	return err
}

// mortal kills the process with the byte after left; 0: it never does.
type mortal struct {
	net.Conn
	left int64
}

func (m *mortal) Read(p []byte) (int, error) {
	if m.left > 0 {
		p = p[:min(int64(len(p)), m.left)]
	}
	n, err := m.Conn.Read(p)
	if m.left > 0 {
		if m.left -= int64(n); m.left == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
	return n, err
}

func start(t *testing.T, c *Cache, url string, data []byte, kill int64) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), "FETCH_TEST_CHILD=1", "FETCH_TEST_CACHE="+c.dir, "FETCH_TEST_URL="+url,
		"FETCH_TEST_SUM="+sum(data),
		fmt.Sprint("FETCH_TEST_SIZE=", len(data)), fmt.Sprint("FETCH_TEST_KILL=", kill))
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

// Killed twenty times, each time at a random byte, the download ends in the right bytes and asks for little twice.
func TestKilledAgainAndAgain(t *testing.T) {
	const kills = 20
	data := blob(24 << 20)
	u := &upstream{data: data, etag: `"v"`}
	srv := httptest.NewUnstartedServer(u)
	srv.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		_ = c.(*net.TCPConn).SetWriteBuffer(128 << 10)
		return ctx
	}
	srv.Start()
	defer srv.Close()
	c := newCache(t)
	for range kills {
		cmd, out := start(t, c, srv.URL, data, 1+rand.Int64N(1<<20)) // 20 MiB at most: never all of it
		if err := cmd.Wait(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatal(err, out)
		}
	}
	cmd, out := start(t, c, srv.URL, data, 0)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err, out)
	}
	wantBytes(t, c, data)
	// What is lost with each kill is at most a buffer and what was on its way in the sockets.
	if got := u.served(); got > int64(len(data))+kills*(bufferSize+1<<20) {
		t.Errorf("%d bytes served for %d, after %d kills", got, len(data), kills)
	}
	resumed := 0
	for _, r := range u.requests("Range") {
		if r != "" {
			resumed++
		}
	}
	t.Logf("%d of %d requests went on in the middle, %.2f times the bytes", resumed, len(u.asked),
		float64(u.served())/float64(len(data)))
}

// Two processes want the same blob: one fetches, the other waits for it and says so. When the first is killed, the
// other goes on where that was.
func TestTwoProcesses(t *testing.T) {
	for _, kill := range []bool{false, true} {
		t.Run(fmt.Sprint("kill ", kill), func(t *testing.T) {
			data := blob(4 << 20)
			half, release := make(chan struct{}), make(chan struct{})
			var once sync.Once
			u := &upstream{data: data}
			u.gate = func(n int64) {
				if n >= 2<<20 {
					once.Do(func() { close(half) })
					<-release
				}
			}
			srv := httptest.NewServer(u)
			defer srv.Close()
			c := newCache(t)
			first, out1 := start(t, c, srv.URL, data, 0)
			<-half
			second, out2 := start(t, c, srv.URL, data, 0)
			waitFor(t, func() bool {
				st, err := os.Stat(c.partialPath(sum(data)))
				return err == nil && st.Size() >= 1<<20 && holders(t, c, data) == 2
			})
			if kill {
				_ = first.Process.Kill()
			}
			close(release)
			if err := first.Wait(); err != nil && !kill {
				t.Fatal(err, out1)
			}
			if err := second.Wait(); err != nil {
				t.Fatal(err, out2)
			}
			wantBytes(t, c, data)
			if !kill && (len(u.asked) != 1 || !bytes.Contains(out2.Bytes(), []byte("waiting"))) {
				t.Errorf("asked %d times; %q", len(u.asked), out2)
			}
			if r := u.requests("Range"); kill && (len(r) != 2 || r[1] == "") {
				t.Errorf("asked %q", r)
			}
		})
	}
}

// holders counts the processes that have the partial file open.
func holders(t *testing.T, c *Cache, data []byte) int {
	t.Helper()
	n := 0
	want, err := os.Stat(c.partialPath(sum(data)))
	if err != nil {
		return 0
	}
	procs, _ := os.ReadDir("/proc")
	for _, p := range procs {
		if _, err := strconv.Atoi(p.Name()); err != nil {
			continue
		}
		fds, _ := os.ReadDir("/proc/" + p.Name() + "/fd")
		for _, fd := range fds {
			if st, err := os.Stat("/proc/" + p.Name() + "/fd/" + fd.Name()); err == nil && os.SameFile(st, want) {
				n++
				break
			}
		}
	}
	return n
}

// waitFor asks until it is so; the test's own limit ends it else.
func waitFor(t *testing.T, so func() bool) {
	t.Helper()
	for !so() {
		if err := Sleep(t.Context(), 5*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

// A disk that is full while a blob comes: what is there stays for the next run.
func TestFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=0700"); err != nil {
		t.Skip("mounting a small file system is not allowed here:", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	c, err := OpenCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	data := blob(3 << 20)
	u := &upstream{data: data}
	srv := httptest.NewServer(u)
	defer srv.Close()
	cl := &Client{HTTP: srv.Client(), Cache: c}
	err = cl.All(context.Background(), []Job{{Source: known(srv.URL, data)}, {Source: known(srv.URL, blob(1<<20))}}, 1)
	if f := Faults(err); len(f) != 1 || f[0].Code != "fetch.no-space" {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=8m,mode=0700"); err != nil {
		t.Fatal(err)
	}
	if _, err := cl.Get(context.Background(), known(srv.URL, data)); err != nil {
		t.Fatal(err)
	}
	wantBytes(t, c, data)
	if r := u.requests("Range"); len(r) != 2 || r[1] == "" {
		t.Errorf("asked %q", r)
	}
}
