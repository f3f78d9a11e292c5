// Package remotetest is an SSH server inside the test's process, with faults to inject. Its sessions run real shells on
// this machine, in a scratch directory. Like sshd, it does not kill what a session leaves running; the end of the test
// does.
package remotetest

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
)

// Server is one node.
type Server struct {
	Addr string // host:port
	IP   string
	Port int
	Root string // scratch directory: HOME is Root/home, TMPDIR Root/tmp, and Root/bin comes first in PATH

	t       testing.TB
	opt     options
	mu      sync.Mutex
	hostKey ssh.Signer
	ln      net.Listener
	conns   map[*conn]bool
	procs   map[*process]bool
	wg      sync.WaitGroup

	received atomic.Int64                // bytes of standard input of all sessions
	closeAt  atomic.Int64                // 0: never
	ready    atomic.Pointer[func() bool] // before closeAt
	stallAt  atomic.Int64
	dials    atomic.Int64
	execs    atomic.Int64
	logins   atomic.Int64 // tries of a password
	offers   atomic.Int64 // of a key
	silent   atomic.Bool
	refuse   atomic.Bool
}

type options struct {
	noPasswords    bool
	user, password string
	keyboard       bool
	mute           bool
	questions      []string
	factors        bool
	keys           []ssh.PublicKey
	keyAlgorithms  []string
	ciphers        []string
	shell          []string
	path           string
	env            []string
	sessions       int
	noAnswer       bool
	delay          time.Duration
	noise          string
	banner         string
	sudo           *Sudo
	noForward      bool
	ip             string
}

// Option of New.
type Option func(*options)

// Sudo is how the node's sudo (a stand-in that knows -S, -p and --) behaves.
type Sudo struct {
	Password string // "" asks for none
	Refuse   string // printed instead, after the password was right; status 1
	Tries    int    // 0 means 3
	Lecture  string // printed before the first prompt
}

// WithUser sets the user and the password. Without it, the user is root and the password "secret".
func WithUser(name, password string) Option {
	return func(o *options) { o.user, o.password = name, password }
}

// WithKeyboard takes the password by keyboard-interactive only.
func WithKeyboard() Option { return func(o *options) { o.keyboard = true } }

// WithMuteKeyboard offers keyboard-interactive beside passwords and refuses it without a question, as sshd does with
// UsePAM no.
func WithMuteKeyboard() Option { return func(o *options) { o.mute = true } }

// WithQuestions asks these by keyboard-interactive, one after the other, and then refuses the login. Questions that are
// asked together are separated by "|".
func WithQuestions(questions ...string) Option {
	return func(o *options) { o.keyboard, o.questions = true, questions }
}

// WithBoth requires a key and the password.
func WithBoth() Option { return func(o *options) { o.factors = true } }

// WithKey lets a public key in.
func WithKey(k ssh.PublicKey) Option { return func(o *options) { o.keys = append(o.keys, k) } }

// WithoutPasswords has the server take keys only.
func WithoutPasswords() Option { return func(o *options) { o.noPasswords = true } }

// WithKeyAlgorithms takes signatures with these algorithms only, and says so.
func WithKeyAlgorithms(names ...string) Option { return func(o *options) { o.keyAlgorithms = names } }

// WithCiphers offers these ciphers only.
func WithCiphers(names ...string) Option { return func(o *options) { o.ciphers = names } }

// WithPath puts a directory before all others in PATH, for a shell of one's own named sh.
func WithPath(dir string) Option { return func(o *options) { o.path = dir } }

// WithLoginShell sets what runs a session's command: the words before "-c COMMAND".
func WithLoginShell(argv ...string) Option { return func(o *options) { o.shell = argv } }

// WithEnv adds to the environment.
func WithEnv(kv ...string) Option { return func(o *options) { o.env = append(o.env, kv...) } }

// WithMaxSessions refuses more sessions on a connection than n.
func WithMaxSessions(n int) Option { return func(o *options) { o.sessions = n } }

// WithNoAnswer accepts connections and says nothing.
func WithNoAnswer() Option { return func(o *options) { o.noAnswer = true } }

// WithBanner says text instead of speaking SSH.
func WithBanner(text string) Option { return func(o *options) { o.banner = text } }

// WithDelay waits before each session's command.
func WithDelay(d time.Duration) Option { return func(o *options) { o.delay = d } }

// WithNoise prints text on both streams before each session's command, as a chatty .bashrc does.
func WithNoise(text string) Option { return func(o *options) { o.noise = text } }

// WithSudo puts a sudo into PATH.
func WithSudo(s Sudo) Option { return func(o *options) { o.sudo = &s } }

// WithoutForwarding refuses direct-tcpip.
func WithoutForwarding() Option { return func(o *options) { o.noForward = true } }

// WithIP has it listen at another address of this machine than 127.0.0.1.
func WithIP(ip string) Option { return func(o *options) { o.ip = ip } }

// New starts a server; the test's end stops it.
func New(t testing.TB, opts ...Option) *Server {
	t.Helper()
	s := &Server{t: t, Root: t.TempDir(), conns: map[*conn]bool{}, procs: map[*process]bool{},
		opt: options{user: "root", password: "secret", shell: []string{"/bin/sh"}, ip: "127.0.0.1"}}
	for _, o := range opts {
		o(&s.opt)
	}
	for _, d := range []string{"home", "tmp", "bin"} {
		if err := os.Mkdir(filepath.Join(s.Root, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if s.opt.sudo != nil {
		s.writeSudo(*s.opt.sudo)
	}
	s.ChangeHostKey()
	s.listen(net.JoinHostPort(s.opt.ip, "0"))
	t.Cleanup(s.stop)
	return s
}

func (s *Server) listen(addr string) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		s.t.Fatal(err)
	}
	tcp := ln.Addr().(*net.TCPAddr)
	s.mu.Lock()
	s.ln, s.Addr, s.IP, s.Port = ln, ln.Addr().String(), tcp.IP.String(), tcp.Port
	s.mu.Unlock()
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s.dials.Add(1)
			s.wg.Add(1)
			go func() {
				defer s.wg.Done()
				s.serve(c)
			}()
		}
	}()
}

// HostKey is the key that the server shows.
func (s *Server) HostKey() ssh.PublicKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hostKey.PublicKey()
}

// ChangeHostKey makes a new one, for connections from now on.
func (s *Server) ChangeHostKey() {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	s.hostKey = signer
	s.mu.Unlock()
}

// Down stops listening and cuts all connections, as a node that reboots; Up listens again at the same address.
func (s *Server) Down() {
	s.mu.Lock()
	ln := s.ln
	s.mu.Unlock()
	_ = ln.Close()
	s.Cut()
}

// Up listens again after Down.
func (s *Server) Up() { s.listen(s.Addr) }

// Cut ends all connections at once.
func (s *Server) Cut() {
	for _, c := range s.open() {
		_ = c.raw.Close()
	}
}

// CutSessions ends all sessions without an exit status; the connections stay.
func (s *Server) CutSessions() {
	for _, c := range s.open() {
		c.cutSessions()
	}
}

func (s *Server) open() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*conn
	for c := range s.conns {
		all = append(all, c)
	}
	return all
}

// CloseAfter cuts the connection when n more bytes of standard input have come. Exactly n bytes reach the command.
func (s *Server) CloseAfter(n int64) { s.CloseAfterWhen(n, func() bool { return true }) }

// CloseAfterWhen is CloseAfter that waits for ready before it cuts the connection. Nothing more is read meanwhile.
func (s *Server) CloseAfterWhen(n int64, ready func() bool) {
	s.ready.Store(&ready)
	s.closeAt.Store(s.received.Load() + n)
}

// StallAfter stops reading standard input when n more bytes have come.
func (s *Server) StallAfter(n int64) { s.stallAt.Store(s.received.Load() + n) }

// Heal takes CloseAfter, StallAfter, Silence and RefuseAuth back, for connections from now on.
func (s *Server) Heal() {
	s.closeAt.Store(0)
	s.stallAt.Store(0)
	s.silent.Store(false)
	s.refuse.Store(false)
}

// Silence stops reading and answering on all connections, without closing them, as when packets are dropped.
func (s *Server) Silence() { s.silent.Store(true) }

// RefuseAuth refuses every login from now on.
func (s *Server) RefuseAuth() { s.refuse.Store(true) }

// Received is how many bytes of standard input have come in all sessions.
func (s *Server) Received() int64 { return s.received.Load() }

// Connections is how many were accepted, Sessions how many commands were started, PasswordTries how many passwords
// came.
func (s *Server) Connections() int64 { return s.dials.Load() }

// Sessions is how many commands were started.
func (s *Server) Sessions() int64 { return s.execs.Load() }

// PasswordTries is how many passwords came.
func (s *Server) PasswordTries() int64 { return s.logins.Load() }

// KeysOffered is how many keys came, of a server WithKey.
func (s *Server) KeysOffered() int64 { return s.offers.Load() }

// SudoPasswords are what was typed to sudo, in order.
func (s *Server) SudoPasswords() []string {
	b, err := os.ReadFile(filepath.Join(s.Root, "sudo.typed"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// Pids of the sessions' commands that still run.
func (s *Server) Pids() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var pids []int
	for p := range s.procs {
		pids = append(pids, p.cmd.Process.Pid)
	}
	return pids
}

func (s *Server) writeSudo(sudo Sudo) {
	tries := sudo.Tries
	if tries == 0 {
		tries = 3
	}
	script := `#!/bin/sh
prompt='Password: '
while :; do case $1 in -S) shift;; -p) prompt=$2; shift 2;; --) shift; break;; *) break;; esac; done
want=` + shell.Quote(sudo.Password) + ` refuse=` + shell.Quote(sudo.Refuse) + ` lecture=` + shell.Quote(sudo.Lecture) + ` tries=` +
		strconv.Itoa(tries) + `
printf %s "$lecture" >&2
n=0
while [ -n "$want" ]; do
  printf %s "$prompt" | sed 's/%%/%/g' >&2
  IFS= read -r got || { echo 'sudo: no password was provided' >&2; exit 1; }
  printf '%s\n' "$got" >>` + shell.Quote(filepath.Join(s.Root, "sudo.typed")) + `
  [ "$got" = "$want" ] && break
  n=$((n + 1))
  [ $n -ge $tries ] && { echo "sudo: $n incorrect password attempts" >&2; exit 1; }
  echo 'Sorry, try again.' >&2
done
[ -n "$refuse" ] && { printf '%s\n' "$refuse" >&2; exit 1; }
exec "$@"
`
	if err := os.WriteFile(filepath.Join(s.Root, "bin", "sudo"), []byte(script), 0o700); err != nil {
		//nolint:gosec // a program
		s.t.Fatal(err)
	}
}

// stop ends everything that the server started.
func (s *Server) stop() {
	s.Heal()
	s.Down()
	// What hears that its input has ended gets a moment to clean up.
	for end := time.Now().Add(5 * time.Second); len(s.Pids()) > 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	s.mu.Lock()
	procs := make([]*process, 0, len(s.procs))
	for p := range s.procs {
		procs = append(procs, p)
	}
	s.mu.Unlock()
	for _, p := range procs {
		p.end()
	}
	s.wg.Wait()
}
