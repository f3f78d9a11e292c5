package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

//go:embed agent.sh
var agentScript string

// session is a privileged shell on the node that runs agent.sh. One script runs in it at a time.
type session struct {
	link  *link
	opt   *Options
	ssh   *ssh.Session
	in    io.WriteCloser
	word  string
	ended chan struct{}  // closed when both streams and the session have ended
	err   error          // how the session ended; valid after ended
	both  sync.WaitGroup // the readers of the streams
	bg    sync.WaitGroup

	wmu sync.Mutex // one writer of in at a time

	heard  clock        // something came from the helper
	taking atomic.Int32 // readers that are handing on what came

	mu       sync.Mutex
	seq      int
	job      *job
	boot     *boot
	out, fed *demux // fed is standard error's
}

// boot is the state of a session before the agent is there.
type boot struct {
	prompt, hello string
	out, err      tail
	signal        chan string // prompt, again, hello, ready, missing
	prompts       int
	greeted       bool
	ready         int
}

// token is a random word of n bytes in hexadecimal digits.
func token(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return hex.EncodeToString(b)
}

// bootScript runs before the agent's text can be sent. It stands in an argv, so it has nothing secret; and it is read
// by whatever the login shell is, so it has no quotes, backslashes, newlines or exclamation marks. The word that it
// prints is written in two halves, so that a shell that traces its commands does not seem to have run them.
func bootScript(hello string) string {
	h := len(hello) / 2
	return `echo ` + hello[:h] + `""` + hello[h:] + `; IFS= read -r n; [ "$n" -gt 0 ] 2>/dev/null || exit 9; ` +
		`p=$(dd bs=$n count=1 iflag=fullblock); eval "$p"`
}

// loginCommand is what the node's login shell is asked to execute. sudo's prompt is a random word with a % in it, which
// is doubled in the argv only, for the same reason.
func loginCommand(user string, b *boot) string {
	sh := `sh -c '` + bootScript(b.hello) + `'`
	if user == "root" {
		return "exec " + sh
	}
	return "exec env LC_ALL=C sudo -S -p '" + strings.ReplaceAll(b.prompt, "%", "%%") + "' -- " + sh
}

// open starts a session on k.
func open(ctx context.Context, k *link, t Target, o *Options) (*session, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeouts.Start, errStart)
	defer cancel()
	s := &session{link: k, opt: o, word: token(16), ended: make(chan struct{}), heard: newClock(o.Now)}
	s.boot = &boot{prompt: token(8) + "%" + token(8), hello: token(16), out: tail{n: 4 << 10}, err: tail{n: 4 << 10},
		signal: make(chan string, 8)}
	s.out, s.fed = newDemux(s.word, s.stdout, s.stdoutMark), newDemux(s.word, s.stderr, s.stderrMark)
	// NewSession and Start have no clock of their own; the connection is cut when they take too long.
	stop := context.AfterFunc(ctx, func() { k.cut(context.Cause(ctx)) })
	out, errs, err := s.start(loginCommand(t.User, s.boot))
	if !stop() {
		err = errors.Join(err, ctx.Err())
	}
	if err != nil {
		if s.ssh != nil {
			_ = s.ssh.Close()
		}
		return nil, s.openFault(ctx, err)
	}
	s.both.Add(2)
	go s.read(out, s.bootOut, func(p []byte) { s.out.feed(p) })
	go s.read(errs, s.bootErr, func(p []byte) { s.fed.feed(p) })
	go s.wait()
	if err := s.greet(ctx, t); err != nil {
		s.close()
		return nil, err
	}
	s.bg.Add(1)
	go s.renew()
	return s, nil
}

var errStart = errors.New("the privileged session did not start in time")

func (s *session) start(cmd string) (out, errs io.Reader, err error) {
	if s.ssh, err = s.link.client.NewSession(); err != nil {
		return nil, nil, err
	}
	if s.in, err = s.ssh.StdinPipe(); err != nil {
		return nil, nil, err
	}
	if out, err = s.ssh.StdoutPipe(); err != nil {
		return nil, nil, err
	}
	if errs, err = s.ssh.StderrPipe(); err != nil {
		return nil, nil, err
	}
	return out, errs, s.ssh.Start(cmd)
}

func (s *session) openFault(ctx context.Context, err error) error {
	var oc *ssh.OpenChannelError
	switch {
	case errors.Is(context.Cause(ctx), errStart):
		return failed("ssh.session-timeout", true, errStart, "limit", s.opt.Timeouts.Start.String())
	case ctx.Err() != nil:
		return ctxFault(ctx)
	case errors.As(err, &oc):
		return failed("ssh.session-refused", true, err)
	}
	return lostFault(err)
}

// read feeds one stream, first to the boot's eyes and then to the demux.
func (s *session) read(r io.Reader, first, then func([]byte)) {
	defer s.both.Done()
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			s.taking.Add(1)
			s.mu.Lock()
			booting := s.boot != nil && !s.boot.greeted
			s.mu.Unlock()
			if booting {
				first(buf[:n])
			} else {
				then(buf[:n])
			}
			s.heard.reset()
			s.taking.Add(-1)
		}
		if err != nil {
			return
		}
	}
}

func (s *session) bootOut(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.boot
	b.out.write(p)
	if bytes.Contains(b.out.bytes(), []byte(b.hello+"\n")) {
		b.greeted = true
		b.signal <- "hello"
	}
}

func (s *session) bootErr(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.boot
	b.err.write(p)
	if n := bytes.Count(b.err.bytes(), []byte(b.prompt)); n > b.prompts {
		b.prompts = n
		if n <= 2 {
			b.signal <- map[bool]string{true: "prompt", false: "again"}[n == 1]
		}
	}
}

// said is what the node wrote before the agent was there, the more telling stream first.
func (s *session) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	clean := func(t *tail) string {
		return strings.TrimSpace(strings.ReplaceAll(string(t.bytes()), s.boot.prompt, ""))
	}
	if e := clean(&s.boot.err); e != "" {
		return e
	}
	return clean(&s.boot.out)
}

// greet sees the session through sudo to the agent.
func (s *session) greet(ctx context.Context, t Target) error {
	typed := false
	for {
		var sig string
		select {
		case sig = <-s.boot.signal:
		case <-s.ended:
			// The last words may have come together with the end.
			select {
			case sig = <-s.boot.signal:
			default:
				return s.bootFault(typed)
			}
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errStart) {
				return failed("ssh.session-timeout", true, errors.New(s.said()), "limit", s.opt.Timeouts.Start.String())
			}
			return ctxFault(ctx)
		}
		switch sig {
		case "prompt":
			password := t.SudoPassword
			if password == "" {
				password = t.Password
			}
			if password == "" {
				return refused("ssh.sudo-password-needed", nil, "user", t.User)
			}
			typed = true
			if err := s.write([]byte(password + "\n")); err != nil {
				return lostFault(err)
			}
		case "again":
			return refused("ssh.sudo-password", nil, "user", t.User)
		case "hello":
			hello := fmt.Sprintf("%d\n%s%s\n%d\n", len(agentScript), agentScript, s.word,
				int(max(s.opt.Timeouts.Lease, time.Second)/time.Second))
			if err := s.write([]byte(hello)); err != nil {
				return lostFault(err)
			}
		case "missing":
			said := s.said()
			return failed("ssh.node-tools", false, nil, "tools",
				event.Clean(strings.TrimSpace(said[strings.LastIndexByte(said, '\n')+1:])))
		case "ready":
			s.mu.Lock()
			s.boot = nil
			s.mu.Unlock()
			return nil
		}
	}
}

// bootFault says why the session ended before the agent was there.
func (s *session) bootFault(typed bool) error {
	said := s.said()
	err := errors.New(said)
	var exit *ssh.ExitError
	isExit := errors.As(s.err, &exit)
	user := s.link.client.User()
	switch {
	case s.link.dead() || !isExit && s.err != nil:
		return lostFault(s.err)
	case user == "root":
		return failed("ssh.no-shell", false, err)
	case isExit && exit.ExitStatus() == 127 && strings.Contains(said, "sudo"):
		// env's word, in the language of the login
		return refused("ssh.sudo-missing", err, "user", user)
	case strings.Contains(said, "sudoers"), strings.Contains(said, "not allowed to"),
		strings.Contains(said, "may not run"),
		strings.Contains(said, "must have a tty"), strings.Contains(said, "ot found"):
		return refused("ssh.sudo-not-allowed", err, "user", user)
	case typed:
		return refused("ssh.sudo-password", err, "user", user)
	}
	return failed("ssh.no-shell", false, err)
}

func (s *session) wait() {
	s.both.Wait()
	s.err = s.ssh.Wait()
	close(s.ended)
}

// write sends p whole, without another writer between.
func (s *session) write(p []byte) error {
	s.wmu.Lock()
	defer s.wmu.Unlock()
	_, err := s.in.Write(p)
	return err
}

// renew renews the lease.
func (s *session) renew() {
	defer s.bg.Done()
	tick := time.NewTicker(s.opt.Timeouts.Lease / 4)
	defer tick.Stop()
	for {
		select {
		case <-s.link.gone:
			return
		case <-s.ended:
			return
		case <-tick.C:
			if s.write([]byte("l\n")) != nil {
				return
			}
		}
	}
}

func (s *session) dead() bool {
	select {
	case <-s.ended:
		return true
	case <-s.link.gone:
		return true
	default:
		return false
	}
}

// close ends the session and waits for it; the node has a moment to clean up before the connection is cut.
func (s *session) close() {
	s.mu.Lock()
	booting := s.boot != nil
	s.mu.Unlock()
	go func() {
		// sudo may still be asking: a "q" would be taken for a password.
		if !booting {
			s.wmu.Lock()
			defer s.wmu.Unlock()
			_, _ = s.in.Write([]byte("q\n"))
			_ = s.in.Close()
			return
		}
		_ = s.ssh.Close()
	}()
	t := time.NewTimer(s.opt.Timeouts.Kill + 2*time.Second)
	defer t.Stop()
	select {
	case <-s.ended:
	case <-t.C:
		s.link.cut(errors.New("the session did not end"))
		<-s.ended
	}
	_ = s.ssh.Close()
	s.bg.Wait()
}

// send is write in pieces, with a sign of life after each.
func (s *session) send(p []byte, alive func()) error {
	s.wmu.Lock()
	defer s.wmu.Unlock()
	for len(p) > 0 {
		n := min(len(p), 32<<10)
		if _, err := s.in.Write(p[:n]); err != nil {
			return err
		}
		p = p[n:]
		alive()
	}
	return nil
}

// abandon ends the session when its streams may hang: the channel first, so that others on the connection go on, then
// the connection.
func (s *session) abandon(why error) {
	_ = s.ssh.Close()
	t := time.NewTimer(s.opt.Timeouts.Kill)
	defer t.Stop()
	select {
	case <-s.ended:
	case <-t.C:
		s.link.cut(why)
	}
}
