package remotetest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

// conn is one connection to the server.
type conn struct {
	s    *Server
	raw  net.Conn
	mu   sync.Mutex
	chs  map[ssh.Channel]bool
	busy int // sessions
}

// quiet lets a connection fall silent.
type quiet struct {
	net.Conn
	s *Server
}

func (q *quiet) Read(p []byte) (int, error) {
	n, err := q.Conn.Read(p)
	if q.s.silent.Load() && err == nil {
		_, _ = io.Copy(io.Discard, q.Conn) // until the other side, or the test, ends it
		return 0, io.EOF
	}
	return n, err
}

func (q *quiet) Write(p []byte) (int, error) {
	if q.s.silent.Load() {
		return len(p), nil
	}
	return q.Conn.Write(p)
}

func (s *Server) serve(raw net.Conn) {
	c := &conn{s: s, raw: raw, chs: map[ssh.Channel]bool{}}
	s.mu.Lock()
	s.conns[c] = true
	key := s.hostKey
	s.mu.Unlock()
	defer func() {
		_ = raw.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	if s.opt.noAnswer {
		_, _ = io.Copy(io.Discard, raw)
		return
	}
	if s.opt.banner != "" {
		_, _ = io.WriteString(raw, s.opt.banner)
		return
	}
	cfg := s.config()
	cfg.AddHostKey(key)
	sc, chans, reqs, err := ssh.NewServerConn(&quiet{raw, s}, cfg)
	if err != nil {
		return
	}
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		for r := range reqs { // keepalives among them
			_ = r.Reply(false, nil)
		}
	}()
	for nc := range chans {
		switch nc.ChannelType() {
		case "session":
			c.session(nc)
		case "direct-tcpip":
			c.forward(nc)
		default:
			_ = nc.Reject(ssh.UnknownChannelType, "")
		}
	}
	_ = sc.Close()
}

var errRefused = errors.New("refused")

func (s *Server) config() *ssh.ServerConfig {
	o := &s.opt
	password := func(user, pw string) (*ssh.Permissions, error) {
		s.logins.Add(1)
		if s.refuse.Load() || user != o.user || o.password == "" || pw != o.password {
			return nil, errRefused
		}
		return nil, nil
	}
	cfg := &ssh.ServerConfig{MaxAuthTries: 6, PublicKeyAuthAlgorithms: o.keyAlgorithms}
	cfg.Ciphers = o.ciphers
	switch {
	case o.noPasswords:
	case o.keyboard:
		cfg.KeyboardInteractiveCallback = func(m ssh.ConnMetadata,
			ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			if len(o.questions) > 0 {
				return nil, s.interrogate(ask)
			}
			a, err := ask("", "", []string{"Password: "}, []bool{false})
			if err != nil || len(a) != 1 {
				return nil, errRefused
			}
			return password(m.User(), a[0])
		}
	default:
		if o.mute {
			cfg.KeyboardInteractiveCallback = func(ssh.ConnMetadata,
				ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
				return nil, errRefused
			}
		}
		cfg.PasswordCallback = func(m ssh.ConnMetadata, pw []byte) (*ssh.Permissions,
			error) {
			return password(m.User(), string(pw))
		}
	}
	if len(o.keys) > 0 {
		cfg.PublicKeyCallback = func(m ssh.ConnMetadata, k ssh.PublicKey) (*ssh.Permissions, error) {
			s.offers.Add(1)
			for _, have := range o.keys {
				if m.User() == o.user && !s.refuse.Load() && bytes.Equal(have.Marshal(), k.Marshal()) {
					if o.factors {
						return nil, &ssh.PartialSuccessError{Next: ssh.ServerAuthCallbacks{
							PasswordCallback: func(m ssh.ConnMetadata, pw []byte) (*ssh.Permissions, error) {
								return password(m.User(), string(pw))
							}}}
					}
					return nil, nil
				}
			}
			return nil, errRefused
		}
	}
	if o.factors {
		cfg.PasswordCallback = nil
	}
	return cfg
}

// interrogate asks its questions as long as they are answered.
func (s *Server) interrogate(ask ssh.KeyboardInteractiveChallenge) error {
	for _, q := range s.opt.questions {
		list := strings.Split(q, "|")
		if _, err := ask("", "", list, make([]bool, len(list))); err != nil {
			return err
		}
	}
	return errRefused
}

func (c *conn) session(nc ssh.NewChannel) {
	c.mu.Lock()
	if c.s.opt.sessions > 0 && c.busy >= c.s.opt.sessions {
		c.mu.Unlock()
		_ = nc.Reject(ssh.ConnectionFailed, "open failed")
		return
	}
	c.busy++
	c.mu.Unlock()
	ch, reqs, err := nc.Accept()
	if err != nil {
		return
	}
	c.mu.Lock()
	c.chs[ch] = true
	c.mu.Unlock()
	c.s.wg.Add(1)
	go func() {
		defer c.s.wg.Done()
		for r := range reqs {
			if r.Type != "exec" {
				_ = r.Reply(false, nil)
				continue
			}
			var cmd struct{ Line string }
			if err := ssh.Unmarshal(r.Payload, &cmd); err != nil {
				_ = r.Reply(false, nil)
				continue
			}
			_ = r.Reply(true, nil)
			c.s.wg.Add(1)
			go func() {
				defer c.s.wg.Done()
				c.run(ch, cmd.Line)
			}()
		}
		c.mu.Lock()
		delete(c.chs, ch)
		c.busy--
		c.mu.Unlock()
	}()
}

func (c *conn) cutSessions() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ch := range c.chs {
		_ = ch.Close()
	}
}

// process is a session's command.
type process struct {
	cmd   *exec.Cmd
	files []*os.File
}

// end kills the command and its group, and cuts its streams, which grandchildren may hold.
func (p *process) end() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	for _, f := range p.files {
		_ = f.Close()
	}
}

func (s *Server) environment() []string {
	path := filepath.Join(s.Root, "bin") + ":" + os.Getenv("PATH")
	if s.opt.path != "" {
		path = filepath.Join(s.Root, "bin") + ":" + s.opt.path + ":" + os.Getenv("PATH")
	}
	return append([]string{"PATH=" + path, "HOME=" + filepath.Join(s.Root, "home"),
		"TMPDIR=" + filepath.Join(s.Root, "tmp"),
		"USER=" + s.opt.user, "LOGNAME=" + s.opt.user}, s.opt.env...)
}

func (c *conn) run(ch ssh.Channel, line string) {
	s := c.s
	s.execs.Add(1)
	time.Sleep(s.opt.delay) // the fault "slow"
	_, _ = io.WriteString(ch, s.opt.noise)
	_, _ = io.WriteString(ch.Stderr(), s.opt.noise)
	argv := append(append([]string(nil), s.opt.shell[1:]...), "-c", line)
	cmd := exec.Command(s.opt.shell[0], argv...) //nolint:gosec // that is what an SSH server does
	cmd.Dir = filepath.Join(s.Root, "home")
	cmd.Env = s.environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var r, w [3]*os.File
	for i := range r {
		var err error
		if r[i], w[i], err = os.Pipe(); err != nil {
			s.t.Error(err)
			return
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r[0], w[1], w[2]
	err := cmd.Start()
	for _, f := range []*os.File{r[0], w[1], w[2]} {
		_ = f.Close()
	}
	if err != nil {
		s.t.Error(err)
		return
	}
	p := &process{cmd: cmd, files: []*os.File{w[0], r[1], r[2]}}
	s.mu.Lock()
	s.procs[p] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.procs, p)
		s.mu.Unlock()
		for _, f := range p.files {
			_ = f.Close()
		}
	}()
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		c.input(ch, w[0])
	}()
	var out sync.WaitGroup
	out.Add(2)
	go func() { defer out.Done(); _, _ = io.Copy(ch, r[1]) }()
	go func() { defer out.Done(); _, _ = io.Copy(ch.Stderr(), r[2]) }()
	_ = cmd.Wait()
	_, _ = ch.SendRequest("exit-status", false, binary.BigEndian.AppendUint32(nil, uint32(cmd.ProcessState.ExitCode())))
	out.Wait()
	_ = ch.Close()
}

// input copies standard input and counts it.
func (c *conn) input(ch ssh.Channel, w *os.File) {
	defer func() { _ = w.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := ch.Read(buf)
		if n > 0 {
			at := c.s.received.Add(int64(n))
			if end := c.s.closeAt.Load(); end > 0 && at >= end {
				_, _ = w.Write(buf[:max(0, n-int(at-end))])
				c.while(func() bool { return !(*c.s.ready.Load())() })
				_ = c.raw.Close()
				return
			}
			if end := c.s.stallAt.Load(); end > 0 && at >= end {
				c.stall()
			}
			if _, werr := w.Write(buf[:n]); werr != nil {
				_, _ = io.Copy(io.Discard, ch)
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// stall reads no more until the connection ends.
func (c *conn) stall() { c.while(func() bool { return c.s.stallAt.Load() > 0 }) }

// while waits until more is false or the connection ends.
func (c *conn) while(more func() bool) {
	for more() {
		c.s.mu.Lock()
		alive := c.s.conns[c]
		c.s.mu.Unlock()
		if !alive {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (c *conn) forward(nc ssh.NewChannel) {
	var to struct {
		Host  string
		Port  uint32
		From  string
		FPort uint32
	}
	if err := ssh.Unmarshal(nc.ExtraData(), &to); err != nil || c.s.opt.noForward {
		_ = nc.Reject(ssh.Prohibited, "administratively prohibited")
		return
	}
	dst, err := net.Dial("tcp", net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))))
	if err != nil {
		_ = nc.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	ch, reqs, err := nc.Accept()
	if err != nil {
		_ = dst.Close()
		return
	}
	go ssh.DiscardRequests(reqs)
	c.s.wg.Add(2)
	go func() { defer c.s.wg.Done(); _, _ = io.Copy(ch, dst); _ = ch.Close() }()
	go func() { defer c.s.wg.Done(); _, _ = io.Copy(dst, ch); _ = dst.Close() }()
}
