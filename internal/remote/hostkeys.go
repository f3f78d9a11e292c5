package remote

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknown "golang.org/x/crypto/ssh/knownhosts"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// unknownKey is returned from the callback under the policy Ask: the handshake is given up while a person thinks,
// because the node would close the connection before long.
type unknownKey struct {
	addr string
	key  ssh.PublicKey
}

func (*unknownKey) Error() string { return "the host key is not known" }

// hostKeys is a known_hosts file and the policy for what is not in it.
type hostKeys struct {
	file   string // that the next command reads
	known  *knownFile
	policy Policy
	accept map[string][]string // Options.Accepted
	tell   func()              // says that the lock of the file is waited for
	warn   func(lines []string)
	serves int // Target.Serves
}

func newHostKeys(ctx context.Context, t Target, o *Options) *hostKeys {
	h := &hostKeys{file: o.KnownHosts, known: o.Shared.known(o.KnownHosts, o.AlsoKnown), policy: o.HostKeys,
		accept: o.Accepted, serves: t.Serves}
	if len(o.AlsoKnown) > 0 {
		h.file = o.AlsoKnown[0]
	}
	h.warn = func(lines []string) {
		o.Emit(event.Notice{Step: o.Step(ctx), Text: event.M("notice.known-hosts-skipped", "count",
			strconv.Itoa(len(lines)), "lines", strings.Join(lines, ", "))})
	}
	h.tell = func() {
		o.Emit(event.Notice{Host: t.Name, Step: o.Step(ctx),
			Text: event.M("notice.known-hosts-locked", "file", h.lockFile())})
	}
	return h
}

func (h *hostKeys) lockFile() string { return h.known.path + ".lock" }

// load returns the callback and the algorithms of the keys that are known for addr. Only these are asked for if there
// are any: a node that is known by its ed25519 key alone may show another one and look like an impostor.
func (h *hostKeys) load(ctx context.Context, addr string) (ssh.HostKeyCallback, []string, error) {
	algorithms, err := h.known.algorithms(addr)
	if err != nil {
		return nil, nil, event.NewFault(event.ClassUsage, "ssh.known-hosts", err, "file", h.file)
	}
	if lines := h.known.skipped(); len(lines) > 0 {
		h.warn(lines)
	}
	if len(algorithms) == 0 {
		algorithms = h.acceptedAlgorithms(addr)
	}
	return func(host string, remote net.Addr, key ssh.PublicKey) error {
		return h.decide(ctx, h.known.check(host, remote, key), host, key)
	}, algorithms, nil
}

// decide turns the answer of known_hosts into nil or a fault.
func (h *hostKeys) decide(ctx context.Context, err error, addr string, key ssh.PublicKey) error {
	shown := ssh.FingerprintSHA256(key)
	var revoked *xknown.RevokedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &revoked):
		return refused("ssh.hostkey-revoked", nil, "addr", addr, "type", key.Type(), "fingerprint", shown,
			"line", revoked.Revoked.Filename+":"+strconv.Itoa(revoked.Revoked.Line))
	case knownhosts.IsHostKeyChanged(err):
		var ke *xknown.KeyError
		errors.As(err, &ke)
		var want, lines []string
		for _, k := range h.lasting(ke.Want) {
			want = append(want, k.Key.Type()+" "+ssh.FingerprintSHA256(k.Key))
			lines = append(lines, k.Filename+":"+strconv.Itoa(k.Line))
		}
		return refused("ssh.hostkey-changed", nil, "addr", addr, "type", key.Type(), "fingerprint", shown,
			"known", strings.Join(want, ", "), "line", strings.Join(lines, ", "))
	case !knownhosts.IsHostUnknown(err):
		return refused("ssh.hostkey", err, "addr", addr, "type", key.Type(), "fingerprint", shown)
	}
	switch {
	case h.policy == AcceptNew,
		slices.ContainsFunc(h.accept[addr], func(a string) bool { return isKey(a, key) }):
		return h.add(ctx, addr, key)
	case h.policy == Ask:
		return &unknownKey{addr: addr, key: key}
	}
	return h.unknown(addr, key)
}

// lasting are the keys of files that the next command reads, if there are any.
func (h *hostKeys) lasting(keys []xknown.KnownKey) []xknown.KnownKey {
	out := slices.DeleteFunc(slices.Clone(keys), func(k xknown.KnownKey) bool { return k.Filename == h.known.path })
	if h.file == h.known.path || len(out) == 0 {
		return keys
	}
	return out
}

func (h *hostKeys) unknown(addr string, key ssh.PublicKey) *event.Fault {
	return refused("ssh.hostkey-unknown", nil, "addr", addr, "type", key.Type(), "fingerprint",
		ssh.FingerprintSHA256(key), "file", h.file, "key", publicKey(key))
}

// publicKey is a key as in a .pub file, without a comment.
func publicKey(key ssh.PublicKey) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

// isKey says whether a text is a key: a comment may follow.
func isKey(text string, key ssh.PublicKey) bool {
	words := strings.Fields(text)
	return len(words) > 1 && words[0]+" "+words[1] == publicKey(key)
}

// acceptedAlgorithms are those of the keys that are accepted for addr: the node may have others, which it would show.
func (h *hostKeys) acceptedAlgorithms(addr string) (out []string) {
	for _, text := range h.accept[addr] {
		kind, _, _ := strings.Cut(text, " ")
		if kind == ssh.KeyAlgoRSA {
			out = append(out, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		} else {
			out = append(out, kind)
		}
	}
	return out
}

// add puts a key into the file.
func (h *hostKeys) add(ctx context.Context, addr string, key ssh.PublicKey) error {
	err := h.known.add(ctx, addr, key, h.tell)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctxFault(ctx)
	case errors.Is(err, errHeld):
		return failed("ssh.known-hosts-locked", true, nil, "file", h.lockFile(), "limit", h.known.limit.String())
	case err != nil:
		return event.NewFault(event.ClassFailed, "ssh.known-hosts", err, "file", h.known.path)
	}
	return nil
}

// persist has the caller make safe what was added. Others may do so at once: it is done twice then.
func (h *hostKeys) persist(ctx context.Context, added func(context.Context) error) error {
	n := h.known.adds.Load()
	if added == nil || n <= h.known.safe.Load() {
		return nil
	}
	if err := added(ctx); err != nil {
		if ctx.Err() != nil {
			return ctxFault(ctx)
		}
		// the file is in order, it is the store that is not
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	h.known.safe.Store(n)
	return nil
}
