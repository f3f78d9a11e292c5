package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// link is one SSH connection and its keepalives.
type link struct {
	client *ssh.Client
	conn   *heard
	gone   chan struct{} // closed when the connection has ended
	err    error         // why; valid after gone
	why    atomic.Pointer[error]
	wg     sync.WaitGroup
	login  *login
}

// heard remembers when something was read: on a slow link full of our own data an answer to a keepalive is late, but
// every byte from the node is a sign of life.
type heard struct {
	net.Conn
	last clock

	mu    sync.Mutex // the library may still read when the handshake has failed
	first []byte     // that the node sent, as many as refusal needs
}

// refusalMost bounds what is kept of the first bytes of a node.
const refusalMost = 256

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	if n > 0 {
		h.last.reset()
		h.mu.Lock()
		h.first = append(h.first, p[:min(n, refusalMost-len(h.first))]...)
		h.mu.Unlock()
	}
	return n, err
}

// notSSH reports whether what a server sent instead of its version is the greeting of another protocol: HTTP, or one
// whose replies begin with a number or a state, as of mail and file servers.
func notSSH(said string) bool {
	for _, start := range []string{"HTTP/", "220 ", "220-", "* OK", "+OK"} {
		if strings.HasPrefix(said, start) {
			return true
		}
	}
	return false
}

// refusal is the line that sshd sends instead of its version when it refuses a connection, such as "Exceeded
// MaxStartups" or "Not allowed at this time"; "" if there was none.
func (h *heard) refusal() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if bytes.Contains(h.first, []byte("SSH-")) {
		return ""
	}
	line, _, _ := bytes.Cut(bytes.TrimSpace(h.first), []byte("\n"))
	return event.Clean(string(bytes.TrimSpace(line)))
}

func address(t Target) string { return net.JoinHostPort(t.Addr, strconv.Itoa(t.Port)) }

// connect opens a connection; a host key is decided on the way.
func connect(ctx context.Context, t Target, o *Options) (*link, error) {
	l, err := newLogin(ctx, t, o)
	if err != nil {
		return nil, err
	}
	keys := newHostKeys(ctx, t, o)
	k, err := logIn(ctx, t, o, l, keys)
	var unknown *unknownKey
	if errors.As(err, &unknown) {
		if err = ask(ctx, t, o, keys, unknown); err == nil {
			k, err = logIn(ctx, t, o, l, keys)
		}
		if errors.As(err, &unknown) {
			err = keys.unknown(unknown.addr, unknown.key)
		}
	}
	if safe := keys.persist(ctx, o.Added); err == nil && safe != nil {
		k.drop(safe)
		return nil, safe
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return k, nil
}

func ask(ctx context.Context, t Target, o *Options, keys *hostKeys, u *unknownKey) error {
	if o.Ask == nil {
		return keys.unknown(u.addr, u.key)
	}
	yes, err := o.Ask(ctx, HostKeyQuestion{Node: t.Name, Addr: u.addr, Type: u.key.Type(),
		Fingerprint: ssh.FingerprintSHA256(u.key), Serves: keys.serves})
	if ctx.Err() != nil {
		return ctxFault(ctx)
	}
	if err != nil || !yes {
		return keys.unknown(u.addr, u.key)
	}
	return keys.add(ctx, u.addr, u.key)
}

// logIn shakes hands, with more than one connection if it takes one to offer all keys.
func logIn(ctx context.Context, t Target, o *Options, l *login, keys *hostKeys) (*link, error) {
	var legacy error
	for {
		k, err := handshake(ctx, t, o, l, keys)
		if err == nil {
			l.succeeded()
			return k, nil
		}
		f := event.AsFault(err)
		if f.Node != "" { // the bastion's, which was no login at this node
			return nil, err
		}
		if f.Code == "ssh.legacy-algorithms" && legacy == nil {
			legacy = err
		}
		cut := strings.Contains(f.Cause, "ssh: disconnect")
		if f.Code != "ssh.auth" && f.Code != "ssh.legacy-algorithms" || negotiation(err) != nil || !l.again(cut) {
			if f.Code == "ssh.auth" && legacy != nil {
				return nil, legacy
			}
			if f.Code == "ssh.auth" {
				l.explain(f)
			}
			return nil, err
		}
	}
}

func handshake(ctx context.Context, t Target, o *Options, l *login, keys *hostKeys) (*link, error) {
	addr := address(t)
	check, known, err := keys.load(ctx, addr)
	if err != nil {
		return nil, err
	}
	if o.Via != nil {
		if err := o.Via.Ready(ctx); err != nil {
			return nil, err
		}
	}
	dctx, cancel := context.WithTimeout(ctx, o.Timeouts.Connect)
	raw, err := o.Dialer(dctx, "tcp", addr)
	cancel()
	if err != nil {
		return nil, connectFault(ctx, err, addr, o.Timeouts.Connect)
	}
	setUserTimeout(raw, o.Timeouts.User)
	conn := &heard{Conn: raw, last: newClock(o.Now)}
	// The library's own time limit covers the TCP connection only: a port that accepts and says nothing would hold it
	// for ever.
	_ = raw.SetDeadline(time.Now().Add(o.Timeouts.Handshake))
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	// What the callback says is kept aside, for the library wraps only the words of some errors.
	var verdict error
	sc, chans, reqs, err := ssh.NewClientConn(conn, addr, &ssh.ClientConfig{
		Config: algorithms(o.LegacyAlgorithms),
		User:   t.User,
		Auth:   l.methods(), AuthCallback: l.hear,
		HostKeyCallback: func(host string, remote net.Addr, key ssh.PublicKey) error {
			verdict = check(host, remote, key)
			return verdict
		},
		HostKeyAlgorithms: hostKeyAlgorithms(known, o.LegacyAlgorithms),
	})
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = raw.Close()
		if verdict != nil && ctx.Err() == nil {
			return nil, verdict
		}
		if algo := negotiation(err); algo != nil {
			if algo.What == "host key" && !common(algo.RequestedAlgorithms, known) && len(known) > 0 {
				return nil, refused("ssh.hostkey-changed", err, "addr", addr, "type", "", "fingerprint", "-",
					"known", strings.Join(known, ", "), "line", keys.file)
			}
			return nil, negotiationFault(err, algo, addr, o.LegacyAlgorithms)
		}
		if f := signatureFault(err, addr, o.LegacyAlgorithms); f != nil {
			return nil, f
		}
		if said := conn.refusal(); notSSH(said) {
			return nil, failed("ssh.not-ssh", false, fmt.Errorf("%w: it sent %q", err, said), "addr", addr)
		} else if said != "" {
			err = fmt.Errorf("%w: it sent %q", err, said)
		}
		return nil, handshakeFault(ctx, err, addr, l, o.Timeouts.Handshake)
	}
	_ = raw.SetDeadline(time.Time{})
	k := &link{client: ssh.NewClient(sc, chans, reqs), conn: conn, gone: make(chan struct{}), login: l}
	conn.last.reset()
	k.wg.Add(2)
	go k.wait()
	go k.keepalive(o.Timeouts)
	return k, nil
}

func (k *link) wait() {
	defer k.wg.Done()
	err := k.client.Wait()
	if p := k.why.Load(); p != nil {
		err = *p
	}
	k.err = err
	close(k.gone)
	_ = k.conn.Close()
	k.login.close()
}

// cut ends the connection at once, without a word to the node.
func (k *link) cut(why error) {
	k.why.CompareAndSwap(nil, &why)
	_ = k.conn.Close()
}

// drop ends the connection and waits for its goroutines.
func (k *link) drop(why error) {
	k.cut(why)
	k.wg.Wait()
}

// dead says that the connection has ended, or is about to because it was cut.
func (k *link) dead() bool {
	select {
	case <-k.gone:
		return true
	default:
		return k.why.Load() != nil
	}
}

var errSilent = errors.New("the node does not answer keepalives")

// keepalive probes a connection on which nothing was read for an interval, and cuts it after too many. The clock is its
// own: the request itself has none.
func (k *link) keepalive(t Timeouts) {
	defer k.wg.Done()
	tick := time.NewTicker(t.Keepalive)
	defer tick.Stop()
	asked := make(chan struct{}, 1)
	for {
		select {
		case <-k.gone:
			return
		case <-tick.C:
		}
		idle := k.conn.last.since()
		if idle >= time.Duration(t.Misses)*t.Keepalive {
			k.cut(errSilent)
			return
		}
		if idle < t.Keepalive/2 {
			continue
		}
		select {
		case asked <- struct{}{}:
			k.wg.Add(1)
			go func() {
				defer k.wg.Done()
				_, _, _ = k.client.SendRequest("keepalive@openssh.com", true, nil)
				<-asked
			}()
		default: // one is under way
		}
	}
}
