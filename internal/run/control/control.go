// Package control is how a board speaks to the process that does a run: a socket in the run's directory, which only its
// owner may enter. One request and one answer a connection, a line of JSON each. The socket goes with the run; what is
// left of a process that died answers nobody.
package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

const (
	name    = "control"
	patient = 5 * time.Second // for one request with its answer
	longest = 64 << 10        // bytes of a request
)

// Handler does what is asked for.
type Handler interface {
	// Decide says what becomes of a step that was asked about. The error says that nobody asks about it (any more).
	Decide(step string, d event.Decision) error
	Stop()
	Abort()
}

type request struct {
	Do       string         `json:"do"` // decide, stop, abort
	Step     string         `json:"step,omitempty"`
	Decision event.Decision `json:"decision,omitempty"`
}

type answer struct {
	Fault *event.Fault `json:"fault,omitempty"`
}

// Server of one run.
type Server struct {
	l    net.Listener
	path string
	h    Handler
}

// Serve listens in a run's directory until Close. The directory is the owner's alone, and so is the socket.
func Serve(dir string, h Handler) (*Server, error) {
	path := filepath.Join(dir, name)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fault("control.serve", dir, err)
	}
	short, done, err := shortened(dir)
	if err != nil {
		return nil, fault("control.serve", dir, err)
	}
	defer done()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", short)
	if err != nil {
		return nil, fault("control.serve", dir, err)
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false) // by a name that is gone by then
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, fault("control.serve", dir, errors.Join(err, l.Close()))
	}
	s := &Server{l, path, h}
	go s.serve()
	return s, nil
}

// Close ends the listening and takes the socket away.
func (s *Server) Close() error { return errors.Join(s.l.Close(), os.Remove(s.path)) }

func (s *Server) serve() {
	for {
		c, err := s.l.Accept()
		if err != nil {
			return
		}
		go s.one(c)
	}
}

func (s *Server) one(c net.Conn) {
	defer c.Close()
	// without one a client that says nothing stays for nothing more than a goroutine
	_ = c.SetDeadline(time.Now().Add(patient))
	line, err := bufio.NewReaderSize(c, longest).ReadSlice('\n')
	if err != nil {
		return
	}
	var r request
	if err = json.Unmarshal(line, &r); err == nil {
		err = s.do(r)
	}
	a := answer{}
	if err != nil {
		a.Fault = event.AsFault(err)
	}
	_ = json.NewEncoder(c).Encode(a) // who asked and did not wait is not told
}

func (s *Server) do(r request) error {
	switch r.Do {
	case "decide":
		switch r.Decision {
		case event.GoOn, event.Abort, event.TryAgain, event.LeaveOut:
			return s.h.Decide(r.Step, r.Decision)
		}
	case "stop":
		s.h.Stop()
		return nil
	case "abort":
		s.h.Abort()
		return nil
	}
	return event.NewFault(event.ClassUsage, "control.request", nil, "what", r.Do+" "+string(r.Decision))
}

// Client of the run in a directory. Its methods block for a few seconds at most.
type Client struct{ Dir string }

// Decide, Stop and Abort are as in Handler. The fault is control.gone when nobody listens any more.
func (c Client) Decide(step string, d event.Decision) error {
	return c.ask(request{Do: "decide", Step: step, Decision: d})
}

// Stop lets the running steps end and starts no new ones.
func (c Client) Stop() error { return c.ask(request{Do: "stop"}) }

// Abort breaks off.
func (c Client) Abort() error { return c.ask(request{Do: "abort"}) }

func (c Client) ask(r request) error {
	short, done, err := shortened(c.Dir)
	if err != nil {
		return fault("control.gone", c.Dir, err)
	}
	defer done()
	conn, err := (&net.Dialer{Timeout: patient}).DialContext(context.Background(), "unix", short)
	if err != nil {
		return fault("control.gone", c.Dir, err)
	}
	defer conn.Close()
	err = conn.SetDeadline(time.Now().Add(patient))
	if err == nil {
		err = json.NewEncoder(conn).Encode(r)
	}
	var a answer
	if err == nil {
		err = json.NewDecoder(conn).Decode(&a)
	}
	if err != nil {
		return fault("control.gone", c.Dir, err)
	}
	if a.Fault != nil {
		return a.Fault
	}
	return nil
}

// shortened is a name of the socket in dir that fits into a socket's address, which has 108 bytes; done gives back what
// it holds.
func shortened(dir string) (path string, done func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	path = "/proc/self/fd/" + strconv.FormatUint(uint64(d.Fd()), 10) + "/" + name
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return "", nil, errors.Join(fmt.Errorf("no /proc: %w", err), d.Close())
	}
	return path, func() { d.Close() }, nil
}

func fault(code, dir string, err error) *event.Fault {
	return event.NewFault(event.ClassFailed, code, err, "path", dir)
}
