package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Conditions under which the server answers.
type Conditions struct {
	Rate    int64         `json:"rate,omitempty"`    // bytes a second and connection; 0: as fast as it goes
	Latency time.Duration `json:"latency,omitempty"` // before each answer
	// after so many bytes each file's connection breaks, once; 0: never
	Cut int64 `json:"cut,omitempty"`
}

// Served is what the server did since it was last told the conditions.
type Served struct {
	Requests int           `json:"requests"`
	Bytes    int64         `json:"bytes"`
	Twice    int64         `json:"twice"` // bytes that were sent before
	CPU      time.Duration `json:"cpu"`   // of the server itself, user and system
}

// Server is the registry, the repository and the file server of a workload, from its files on the disk.
type Server struct {
	w *Workload

	// answering is held by each answer until it is counted: a client may have all of it before.
	answering sync.RWMutex

	mu    sync.Mutex
	cond  Conditions
	count Served
	begun time.Duration
	cut   map[string]bool
	sent  map[string][]span // by path
}

// span of bytes that were sent, from…to.
type span struct{ from, to int64 }

// Serve answers until the listener is closed.
func Serve(l net.Listener, w *Workload) error {
	s := &Server{w: w}
	s.reset(Conditions{})
	return http.Serve(l, s) //nolint:gosec // loopback, for as long as a benchmark
}

func (s *Server) reset(c Conditions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cond, s.count, s.begun = c, Served{}, ownCPU()
	s.cut, s.sent = map[string]bool{}, map[string][]span{}
}

// ownCPU is the processor time of this process.
func ownCPU() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// ServeHTTP answers as a registry below /v2/, with files below /files/, and to the benchmark itself below /bench.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/bench" {
		s.control(w, r)
		return
	}
	s.answering.RLock()
	defer s.answering.RUnlock()
	s.mu.Lock()
	s.count.Requests++
	cond := s.cond
	s.mu.Unlock()
	if cond.Latency > 0 {
		time.Sleep(cond.Latency)
	}
	rest, isRegistry := strings.CutPrefix(r.URL.Path, "/v2/")
	if !isRegistry {
		path, ok := strings.CutPrefix(r.URL.Path, "/files/")
		if !ok || !filepath.IsLocal(path) {
			http.NotFound(w, r)
			return
		}
		s.file(w, r, s.w.file(path), cond)
		return
	}
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	if rest == "" {
		return
	}
	if _, digest, ok := strings.Cut(rest, "/blobs/sha256:"); ok && filepath.IsLocal(digest) {
		w.Header().Set("Docker-Content-Digest", "sha256:"+digest)
		w.Header().Set("ETag", `"`+digest+`"`)
		s.file(w, r, filepath.Join(s.w.blobs(), digest), cond)
		return
	}
	repository, ref, ok := strings.Cut(rest, "/manifests/")
	sep := ":"
	if strings.HasPrefix(ref, "sha256:") {
		sep = "@"
	}
	d, found := s.w.Documents[repository+sep+ref]
	if !ok || !found {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", d.MediaType)
	w.Header().Set("Docker-Content-Digest", d.Digest())
	http.ServeFile(w, r, filepath.Join(s.w.blobs(), d.SHA256))
}

// control tells what was served, after which the conditions of the request count.
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	s.answering.Lock()
	defer s.answering.Unlock()
	s.mu.Lock()
	out := s.count
	out.CPU = ownCPU() - s.begun
	s.mu.Unlock()
	var c Conditions
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.reset(c)
	if err := json.NewEncoder(w).Encode(out); err != nil {
		panic(http.ErrAbortHandler) // whoever asked is gone
	}
}

func (s *Server) file(w http.ResponseWriter, r *http.Request, name string, cond Conditions) {
	f, err := os.Open(name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	m := &meter{ResponseWriter: w, rate: cond.Rate, left: 1 << 62}
	if cond.Cut > 0 && r.Method == http.MethodGet {
		s.mu.Lock()
		if !s.cut[r.URL.Path] {
			s.cut[r.URL.Path], m.left = true, cond.Cut
		}
		s.mu.Unlock()
	}
	http.ServeContent(m, r, "", epoch, f)
	if r.Method != http.MethodHead {
		s.note(r.URL.Path, m)
	}
	if m.left <= 0 {
		panic(http.ErrAbortHandler) // what was sent is on its way; the connection is closed
	}
}

// note counts what was sent, and how much of that for a second time.
func (s *Server) note(path string, m *meter) {
	if m.status != http.StatusOK && m.status != http.StatusPartialContent {
		return
	}
	var from int64
	if _, err := fmt.Sscanf(m.Header().Get("Content-Range"), "bytes %d-", &from); err != nil {
		from = 0 // the whole file
	}
	now := span{from, from + m.sent}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count.Bytes += m.sent
	for _, x := range s.sent[path] {
		s.count.Twice += max(0, min(x.to, now.to)-max(x.from, now.from))
	}
	s.sent[path] = append(s.sent[path], now)
}

// meter is a ResponseWriter that counts, keeps to a rate and stops after some bytes. Files still go out by sendfile.
type meter struct {
	http.ResponseWriter
	rate, left, sent int64
	status           int
	begin            time.Time
}

func (m *meter) WriteHeader(status int) {
	m.status = status
	m.ResponseWriter.WriteHeader(status)
}

func (m *meter) Write(p []byte) (int, error) {
	n, err := m.ResponseWriter.Write(p[:min(int64(len(p)), m.left)])
	m.sent += int64(n)
	m.left -= int64(n)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return n, err
}

// ReadFrom is how ServeContent hands the file over: a limited reader of it, whose limit is moved so that the kernel
// still copies.
func (m *meter) ReadFrom(r io.Reader) (int64, error) {
	l, ok := r.(*io.LimitedReader)
	to, can := m.ResponseWriter.(io.ReaderFrom)
	if !ok || !can {
		return 0, http.ErrNotSupported
	}
	if m.begin.IsZero() {
		m.begin = time.Now()
	}
	var sum int64
	for all := l.N; sum < all && m.left > 0; {
		step := min(all-sum, m.left)
		if m.rate > 0 {
			step = min(step, 64<<10)
			time.Sleep(time.Until(m.begin.Add(time.Duration(float64(m.sent+
				step) / float64(m.rate) * float64(time.Second)))))
		}
		l.N = step
		n, err := to.ReadFrom(l)
		sum, m.sent, m.left = sum+n, m.sent+n, m.left-n
		if err != nil || n < step {
			return sum, err
		}
	}
	if m.left <= 0 {
		return sum, io.ErrShortWrite
	}
	return sum, nil
}
