package stand

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/eggo-k8s/eggo/test/lab/upstream"
)

// Front stands before an upstream and counts the bytes of bodies that it hands out.
type Front struct {
	Addr string // host:port that it listens on
	sent atomic.Int64
	srv  *http.Server
}

// NewFront starts one on a free port of loopback; target is http://host:port. It ends with ctx or Close.
func NewFront(ctx context.Context, target string) (*Front, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &Front{Addr: l.Addr().String()}
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host },
		ModifyResponse: func(r *http.Response) error { r.Body = &counted{r.Body, &f.sent}; return nil },
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	f.srv = &http.Server{Handler: aborting{proxy}, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = f.srv.Serve(l) }()
	context.AfterFunc(ctx, func() { _ = f.srv.Close() })
	return f, nil
}

// Sent is the bytes of all bodies so far.
func (f *Front) Sent() int64 { return f.sent.Load() }

// Close ends it and its connections.
func (f *Front) Close() error { return f.srv.Close() }

type counted struct {
	io.ReadCloser
	n *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// aborting takes the panic with which a proxy says that its client went away: killed clients are what it is for.
type aborting struct{ http.Handler }

func (a aborting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if e := recover(); e != nil && e != http.ErrAbortHandler {
			//nolint:errorlint // the very value, as net/http does
			panic(e)
		}
	}()
	a.Handler.ServeHTTP(w, r)
}

// Upstream makes the upstream of the default spec, if it is not cached, and serves it behind a Front until ctx ends.
// mirrors is a file for eggo-bundle's --mirrors.
func (s *Stand) Upstream(ctx context.Context) (front *Front, mirrors string, err error) {
	spec, err := upstream.LoadSpec("")
	if err != nil {
		return nil, "", err
	}
	if err := upstream.Build(ctx, upstream.Options{Spec: spec, Report: upstream.Printer(s.Out)}); err != nil {
		return nil, "", err
	}
	srv, err := upstream.Serve(ctx, "", "127.0.0.1:0", spec)
	if err != nil {
		return nil, "", err
	}
	if front, err = NewFront(ctx, "http://"+srv.Addr); err != nil {
		return nil, "", err
	}
	mirrors = filepath.Join(s.Dir, "front-mirrors")
	return front, mirrors, upstream.WriteMirrors(mirrors, front.Addr)
}

// Packing is one run of eggo-bundle.
type Packing struct {
	cmd   *exec.Cmd
	out   bytes.Buffer
	began time.Time
}

// StartPacking starts eggo-bundle with more in its environment (KEY=VALUE) than this process has.
func (s *Stand) StartPacking(ctx context.Context, env []string, args ...string) (*Packing, error) {
	p := &Packing{began: time.Now()}
	p.cmd = s.Command(ctx, s.Program("eggo-bundle"), args...)
	p.cmd.Env = append(append(os.Environ(), "EGGO_LANG=en"), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	return p, p.cmd.Start()
}

// Kill ends it as a power cut does.
func (p *Packing) Kill() error {
	if err := p.cmd.Process.Signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Wait waits for its end. A run that a signal ended has the code -1.
func (p *Packing) Wait() (Try, error) {
	err := p.cmd.Wait()
	t := Try{Code: p.cmd.ProcessState.ExitCode(), Out: p.out.String(),
		Took: time.Since(p.began).Round(10 * time.Millisecond)}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = nil
	}
	return t, err
}

// Packs runs eggo-bundle to its end.
func (s *Stand) Packs(ctx context.Context, env []string, args ...string) (Try, error) {
	p, err := s.StartPacking(ctx, env, args...)
	if err != nil {
		return Try{}, err
	}
	return p.Wait()
}
