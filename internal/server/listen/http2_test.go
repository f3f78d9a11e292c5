package listen_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/eggo-k8s/eggo/internal/server/listen"
)

// pipes is a listener whose connections have no buffer: what a client does not read, the server has not written.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, more := <-p; more {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// dial begins a connection of HTTP/2, without TLS.
func (p pipes) dial(t *testing.T) (net.Conn, *http2.Framer) {
	t.Helper()
	c, s := net.Pipe()
	p <- s
	f := http2.NewFramer(c, c)
	go func() {
		_, _ = io.WriteString(c, http2.ClientPreface)
		_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
	}()
	synctest.Wait()
	return c, f
}

// request is the header of one.
func request(method string) []byte {
	var out bytes.Buffer
	e := hpack.NewEncoder(&out)
	for _, f := range []hpack.HeaderField{{Name: ":method", Value: method}, {Name: ":scheme", Value: "http"},
		{Name: ":path", Value: "/"}, {Name: ":authority", Value: "x"}, {Name: "accept", Value: "text/event-stream"}} {
		_ = e.WriteField(f) // a buffer takes all
	}
	return out.Bytes()
}

// serve2 is a server of HTTP/2 on pipes, in the time of a bubble. ended gets how long the handler of a request took.
func serve2(t *testing.T, l listen.Limits) (at pipes, ended chan time.Duration) {
	t.Helper()
	at, ended = make(pipes), make(chan time.Duration, 1)
	began := time.Now()
	s := listen.Server(t.Context(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		why := slowly(w, r)
		ended <- time.Since(began)
		if why == nil {
			t.Error("a slow client was served")
		}
	}), l, slog.New(slog.DiscardHandler))
	s.Protocols = new(http.Protocols)
	s.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = s.Serve(at) }()
	t.Cleanup(func() { close(at); _ = s.Close() })
	return at, ended
}

// slowly reads a body, or sends a stream for as long as somebody takes it: each part has its own time.
func slowly(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodPost {
		_, err := io.Copy(io.Discard, r.Body)
		return err
	}
	control := http.NewResponseController(w)
	for {
		_ = control.SetWriteDeadline(time.Now().Add(30 * time.Second))
		_, err := io.WriteString(w, "data: "+strings.Repeat("x", 1<<14)+"\n\n")
		if err = errors.Join(err, control.Flush(), context.Cause(r.Context())); err != nil {
			return err
		}
	}
}

// drain reads what comes until the connection ends.
func drain(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// pause waits between two bytes, as long as the test goes on.
func pause(t *testing.T) {
	select {
	case <-time.After(5 * time.Second):
	case <-t.Context().Done():
	}
}

// Clients of HTTP/2 that send slowly, or take nothing, lose their stream and then their connection: no handler waits
// for them any more.
func TestSlowClientsOfHTTP2(t *testing.T) {
	get, post := request(http.MethodGet), request(http.MethodPost)
	asks := http2.HeadersFrameParam{StreamID: 1, BlockFragment: get, EndHeaders: true, EndStream: true}
	for what, c := range map[string]struct {
		client  func(t *testing.T, c net.Conn, f *http2.Framer)
		handled bool // there is a request
		ends    time.Duration
	}{
		"takes the beginning, and nothing more": {func(t *testing.T, _ net.Conn, f *http2.Framer) {
			_ = f.WriteHeaders(asks)
			for {
				frame, err := f.ReadFrame()
				if err != nil {
					t.Error(err)
					return
				}
				if _, is := frame.(*http2.DataFrame); is {
					return
				}
			}
		}, true, 30 * time.Second},
		"opens no window for a stream": {func(_ *testing.T, c net.Conn, f *http2.Framer) {
			go drain(c)
			_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			_ = f.WriteHeaders(asks)
		}, true, 30 * time.Second},
		"sends a byte of its body at a time": {func(t *testing.T, c net.Conn, f *http2.Framer) {
			go drain(c)
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: post, EndHeaders: true})
			go func() {
				for f.WriteData(1, false, []byte("x")) == nil {
					pause(t)
				}
			}()
		}, true, 30 * time.Second},
		"sends a byte of its header at a time": {func(t *testing.T, c net.Conn, _ *http2.Framer) {
			go drain(c)
			go func() {
				frame := append([]byte{0, 1, 0, byte(http2.FrameHeaders), 0, 0, 0, 0, 1}, get...)
				for _, b := range append(frame, make([]byte, 256)...) {
					if _, err := c.Write([]byte{b}); err != nil {
						return
					}
					pause(t)
				}
			}()
		}, false, 0},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at, ended := serve2(t, listen.Usual())
				began := time.Now()
				conn, f := at.dial(t)
				defer conn.Close()
				c.client(t, conn, f)
				if c.handled {
					if took := <-ended; took != c.ends {
						t.Errorf("the handler took %s", took)
					}
				}
				synctest.Wait()
				for { // the connection, too
					if _, err := conn.Write(nil); err != nil {
						break
					}
					time.Sleep(time.Second)
				}
				if took := time.Since(began); took > 3*time.Minute {
					t.Errorf("the connection ended after %s", took)
				}
			})
		})
	}
}
