package upstream

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Server answers for the hosts of upstream on one address.
type Server struct {
	Addr string // host:port that it listens on
	http *http.Server
	done chan error
}

// Serve starts a server for the cache directory dir (DefaultDir if empty) on addr, such as 127.0.0.1:0. It ends with
// ctx or Close. It serves what is there; Build makes it.
func Serve(ctx context.Context, dir, addr string, spec *Spec) (*Server, error) {
	if dir == "" {
		var err error
		if dir, err = DefaultDir(); err != nil {
			return nil, err
		}
	}
	d, err := newDebian(ctx, filepath.Join(dir, debianDir), spec.OS.Codename)
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &Server{
		Addr: l.Addr().String(), done: make(chan error, 1),
		http: &http.Server{Handler: handler(dir, d), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute},
	}
	go func() { s.done <- s.http.Serve(l) }()
	context.AfterFunc(ctx, func() { _ = s.http.Close() })
	return s, nil
}

// Mirrors says how a bundle builder is pointed at the server.
func (s *Server) Mirrors() []string { return Mirrors(s.Addr) }

// Close stops the server and ends its connections.
func (s *Server) Close() error { return s.http.Close() }

// Wait returns when the server has ended; nil after Close or the end of its context.
func (s *Server) Wait() error {
	if err := <-s.done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Mirrors are the values of eggo-bundle's --mirror for a server at addr, FROM=TO each. A FROM with a scheme is the
// beginning of a URL; one without is a registry, whose repository NAME is then the repository TO/NAME, over plain http.
func Mirrors(addr string) []string {
	return []string{
		"https://dl.k8s.io=http://" + addr + "/dl.k8s.io",
		"https://github.com=http://" + addr + "/github.com",
		"http://deb.debian.org=http://" + addr + "/deb.debian.org",
		"registry.k8s.io=" + addr + "/registry.k8s.io",
		"ghcr.io=" + addr + "/ghcr.io",
		"docker.io=" + addr + "/index.docker.io", // as its references are read
		"https://raw.githubusercontent.com=http://" + addr + "/raw.githubusercontent.com",
	}
}

// WriteMirrors writes the mirrors of addr to a file, one a line.
func WriteMirrors(file, addr string) error {
	return writeFile(file, []byte(strings.Join(Mirrors(addr), "\n")+"\n"))
}

// handler routes by the first element of the path, which is upstream's host name, or v2 for the registries.
func handler(dir string, deb http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/v2/", registry{dir})
	mux.Handle("/deb.debian.org/", http.StripPrefix("/deb.debian.org", deb))
	mux.Handle("/", files(filepath.Join(dir, filesDir)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "read only", http.StatusMethodNotAllowed)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// files serves regular files of a directory, without listings.
func files(dir string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(filepath.Join(dir, filepath.FromSlash(path.Clean("/"+r.URL.Path))))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		defer func() { _ = f.Close() }()
		st, err := f.Stat()
		if err != nil || !st.Mode().IsRegular() {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", st.ModTime(), f)
	})
}
