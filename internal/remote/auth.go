package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// errSpent ends an authentication in which the password was refused already: a second try with the same one only brings
// a locked account nearer. errNotYet ends one in which it is not the password's turn. errMute is a refusal that the
// library does not know.
var (
	errSpent  = errors.New("the password was refused")
	errMute   = errors.New("the node refused keyboard-interactive without a question")
	errNotYet = errors.New("the keys were refused")
)

const (
	// keysAtOnce is how many keys are offered in one connection: sshd hangs up after six failures, and the password
	// must have its turn.
	keysAtOnce = 5
	// loginsMost bounds how many connections one login takes. An sshd may shut out an address that fails often.
	loginsMost = 12
)

// offer is a key that may let us in.
type offer struct {
	ssh.MultiAlgorithmSigner
	name string
}

func (f offer) public() string { return string(f.PublicKey().Marshal()) }

// login is what is offered to a node, in one connection or, when there are many keys, in several: first the keys and
// the password of the target, then the other keys of the agent.
type login struct {
	target Target
	shared *Shared
	keys   []offer // not offered yet
	named  int     // of them, from the first, in Target.Keys
	close  func()

	round    int
	set      []offer // of this connection
	password bool    // it is the password's turn in this connection

	mu      sync.Mutex
	pending bool // the password was not sent yet, and the node may want it
	tried   []string
	offered int    // keys, in this connection
	taken   string // the last of them that the node wanted a signature of
	node    answers
}

// newLogin reads the keys. It may ask for passphrases, so it comes before the connection.
func newLogin(ctx context.Context, t Target, o *Options) (*login, error) {
	l := &login{target: t, shared: o.Shared, close: func() {}}
	var held []ssh.MultiAlgorithmSigner
	var agentErr error
	if t.Agent != NoAgent {
		held, agentErr = l.openAgent(ctx, o.LegacyAlgorithms)
	}
	files := keyFiles{ask: t.Passphrase, held: held, legacy: o.LegacyAlgorithms}
	for _, file := range t.Keys {
		found, err := files.read(ctx, file)
		if err != nil {
			l.close()
			return nil, err
		}
		l.keys = append(l.keys, found...)
	}
	l.named = len(l.keys)
	if t.Agent != AgentOffers {
		held = nil
	}
	for _, s := range held {
		f := offer{s, "agent " + ssh.FingerprintSHA256(s.PublicKey())}
		if !slices.ContainsFunc(l.keys, func(n offer) bool { return n.public() == f.public() }) {
			l.keys = append(l.keys, f)
		}
	}
	if len(l.keys) == 0 && t.Password == "" {
		l.close()
		if agentErr != nil {
			return nil, refused("ssh.agent", agentErr)
		}
		return nil, refused("ssh.no-credentials", nil, "user", t.User)
	}
	// The key that let us in at another node of the run comes first: the agent's right one is looked for once.
	if i := slices.IndexFunc(l.keys, func(f offer) bool { return f.public() == l.shared.key() }); i > 0 {
		f := l.keys[i]
		l.keys = slices.Insert(slices.Delete(l.keys, i, i+1), 0, f)
		if i >= l.named {
			l.named++
		}
	}
	l.pending = t.Password != ""
	l.choose()
	return l, nil
}

// choose says what the next connection offers.
func (l *login) choose() {
	n := l.named
	if n == 0 && !l.pending {
		n = len(l.keys)
	}
	l.set = l.keys[:min(n, keysAtOnce)]
	l.password = l.pending && len(l.set) == l.named
	l.offered, l.taken, l.node = 0, "", answers{}
	l.round++
}

// again says, after a connection in which nothing let us in, whether another one has more to offer, and chooses it. cut
// says that the node
// hung up, as sshd does after some failures, so that it may not have heard all.
func (l *login) again(cut bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	done := len(l.set)
	if cut && l.offered < done {
		done = l.offered
	} else if l.password && (!cut || done == 0) {
		l.pending = false // the node did not want it
	}
	if done == 0 && len(l.set) > 0 {
		return false
	}
	l.keys, l.named = l.keys[done:], max(0, l.named-done)
	if len(l.keys) == 0 && !l.pending || l.round >= loginsMost {
		return false
	}
	l.choose()
	return true
}

// CheckKey says what is wrong with the file of a private key by itself. That nobody knows its passphrase yet is not
// wrong, nor that it is the
// public half of a key that the agent has to hold.
func CheckKey(file string) error {
	i, err := os.Stat(file)
	if err == nil && !i.Mode().IsRegular() {
		err = errors.New("not a file")
	}
	if err == nil {
		l := &login{close: func() {}}
		held, _ := l.openAgent(context.Background(), true) // an agent that cannot be used holds no key
		files := keyFiles{ask: func(context.Context, string) (string, error) { return "", errLocked }, held: held,
			legacy: true}
		_, err = files.read(context.Background(), file)
		l.close()
	}
	if err == nil || errors.Is(err, errLocked) {
		return nil
	}
	if f := (*event.Fault)(nil); errors.As(err, &f) {
		return f
	}
	return keyFault(err, file)
}

// keyFault says why the file of a private key cannot be used.
func keyFault(err error, file string) *event.Fault {
	if errors.Is(err, fs.ErrNotExist) {
		return refused("ssh.key-missing", nil, "file", file)
	}
	return refused("ssh.key-file", err, "file", file)
}

var errLocked = errors.New("the key is encrypted")

// keyFiles reads keys from files.
type keyFiles struct {
	ask    func(ctx context.Context, file string) (string, error) // for a passphrase; nil: nobody knows
	held   []ssh.MultiAlgorithmSigner                             // by the agent
	legacy bool
}

// read is the key of a file, with its certificate (FILE-cert.pub) first if there is one. A key that the agent holds
// needs no passphrase; of such a one the file may be the public half.
func (k keyFiles) read(ctx context.Context, file string) ([]offer, error) {
	s, err := k.signer(ctx, file)
	if f := (*event.Fault)(nil); errors.As(err, &f) && strings.HasPrefix(f.Code, "ssh.key-") {
		return nil, err
	}
	if err != nil {
		return nil, keyFault(err, file)
	}
	out := []offer{{s, file}}
	cert := strings.TrimSuffix(file, ".pub") + "-cert.pub"
	raw, err := os.ReadFile(cert)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err == nil {
		s, err = certified(raw, s)
	}
	if err != nil {
		return nil, refused("ssh.key-file", err, "file", cert)
	}
	return append([]offer{{s, cert}}, out...), nil
}

// certified joins a certificate and its key.
func certified(raw []byte, s ssh.MultiAlgorithmSigner) (ssh.MultiAlgorithmSigner, error) {
	pub, _, _, _, err := ssh.ParseAuthorizedKey(raw)
	if err != nil {
		return nil, err
	}
	cert, ok := pub.(*ssh.Certificate)
	if !ok || cert.CertType != ssh.UserCert {
		return nil, errors.New("not a user certificate")
	}
	joined, err := ssh.NewCertSigner(cert, s)
	if err != nil {
		return nil, err
	}
	return joined.(ssh.MultiAlgorithmSigner), nil // as s is one
}

// keySizeMost bounds a key file.
const keySizeMost = 1 << 20

func (k keyFiles) signer(ctx context.Context, file string) (ssh.MultiAlgorithmSigner, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	raw, err := io.ReadAll(io.LimitReader(f, keySizeMost))
	if err != nil {
		return nil, err
	}
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if pub, _, _, _, err := ssh.ParseAuthorizedKey(raw); err == nil {
		if s := heldBy(k.held, pub); s != nil {
			return s, nil
		}
		return nil, refused("ssh.key-public", nil, "file", file)
	}
	if f := foreignKey(raw, file); f != nil {
		return nil, f
	}
	if pub := onSecurityKey(raw); pub != nil {
		if s := heldBy(k.held, pub); s != nil {
			return s, nil
		}
		return nil, refused("ssh.key-security", nil, "file", file, "command", "ssh-add "+shell.Quote(file))
	}
	s, err := ssh.ParsePrivateKey(raw)
	var missing *ssh.PassphraseMissingError
	if errors.As(err, &missing) {
		if missing.PublicKey != nil {
			if s := heldBy(k.held, missing.PublicKey); s != nil {
				return s, nil
			}
		}
		if k.ask == nil {
			return nil, errors.New("the key is encrypted and nobody can be asked for its passphrase")
		}
		pass, askErr := k.ask(ctx, file)
		if askErr != nil {
			return nil, askErr
		}
		s, err = ssh.ParsePrivateKeyWithPassphrase(raw, []byte(pass))
	}
	if err != nil {
		return nil, err
	}
	return modern(s, k.legacy)
}

// heldBy is the agent's key of that public half, nil if it has none.
func heldBy(held []ssh.MultiAlgorithmSigner, pub ssh.PublicKey) ssh.MultiAlgorithmSigner {
	for _, s := range held {
		if bytes.Equal(s.PublicKey().Marshal(), pub.Marshal()) {
			return s
		}
	}
	return nil
}

// openAgent gives the keys of the agent, which stays connected until close; none where no agent runs.
func (l *login) openAgent(ctx context.Context, legacy bool) ([]ssh.MultiAlgorithmSigner, error) {
	sock := os.Getenv("SSH_AUTH_SOCK")
	if sock == "" {
		return nil, nil
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", sock)
	if err != nil {
		return nil, err
	}
	signers, err := agent.NewClient(c).Signers()
	var held []ssh.MultiAlgorithmSigner
	for _, s := range signers {
		if m, err := modern(s, legacy); err == nil {
			held = append(held, m)
		}
	}
	if err != nil || len(held) == 0 {
		_ = c.Close()
		if err == nil {
			err = errors.New("the agent has no keys")
		}
		return nil, err
	}
	l.close = func() { _ = c.Close() }
	return held, nil
}

// noted is a key that remembers what became of it.
type noted struct {
	offer
	l    *login
	once sync.Once
}

// PublicKey is asked for when the key is offered.
func (n *noted) PublicKey() ssh.PublicKey {
	n.once.Do(func() {
		n.l.mu.Lock()
		defer n.l.mu.Unlock()
		n.l.offered++
		n.l.tried = append(n.l.tried, "publickey "+n.name)
	})
	return n.offer.PublicKey()
}

// SignWithAlgorithm is asked for when the node would take the key.
func (n *noted) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	n.l.mu.Lock()
	n.l.taken = n.public()
	n.l.mu.Unlock()
	return n.offer.SignWithAlgorithm(rand, data, algorithm)
}

// take hands out the password, once for a login: when it is its turn, or beside a key that was taken (sshd may want
// both).
func (l *login) take(what string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.pending {
		return "", errSpent
	}
	if !l.password && l.taken == "" {
		return "", errNotYet
	}
	l.pending = false
	l.tried = append(l.tried, what)
	return l.target.Password, nil
}

// methods are for one connection.
func (l *login) methods() []ssh.AuthMethod {
	var m []ssh.AuthMethod
	if len(l.set) > 0 {
		m = append(m, ssh.PublicKeysCallback(func() ([]ssh.Signer, error) {
			var out []ssh.Signer
			for _, f := range l.set {
				out = append(out, &noted{offer: f, l: l})
			}
			return out, nil
		}))
	}
	if l.target.Password != "" {
		m = append(m,
			ssh.PasswordCallback(func() (string, error) { return l.take("password") }),
			ssh.KeyboardInteractive(l.answer))
	}
	return m
}

// succeeded remembers which key it was.
func (l *login) succeeded() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taken != "" {
		l.shared.remember(l.taken)
	}
}

func (l *login) offeredKeys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.tried) == 0 {
		return []string{"none"}
	}
	return slices.Clone(l.tried)
}
