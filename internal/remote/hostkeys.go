package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknown "golang.org/x/crypto/ssh/knownhosts"

	"github.com/eggo-k8s/eggo/internal/event"
)

// unknownKey is returned from the callback under the policy Ask: the handshake is given up while a person thinks, because the node would
// close the connection before long.
type unknownKey struct {
	addr string
	key  ssh.PublicKey
}

func (*unknownKey) Error() string { return "the host key is not known" }

// hostKeys is a known_hosts file and the policy for what is not in it.
type hostKeys struct {
	file   string
	policy Policy
	node   string
}

// load reads the file again, for a key may have been added since. It returns the callback and the algorithms of the keys that are known for
// addr. Only these are asked for if there are any: a node that is known by its ed25519 key alone may show another one and look like an impostor.
func (h *hostKeys) load(addr string) (ssh.HostKeyCallback, []string, error) {
	var files []string
	if _, err := os.Stat(h.file); err == nil {
		files = append(files, h.file)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, event.NewFault(event.ClassUsage, "ssh.known-hosts", err, "file", h.file)
	}
	db, err := knownhosts.NewDB(files...)
	if err != nil {
		return nil, nil, event.NewFault(event.ClassUsage, "ssh.known-hosts", err, "file", h.file)
	}
	check := db.HostKeyCallback()
	return func(host string, remote net.Addr, key ssh.PublicKey) error {
		return h.decide(check(host, remote, key), host, key)
	}, db.HostKeyAlgorithms(addr), nil
}

// decide turns the answer of known_hosts into nil or a fault.
func (h *hostKeys) decide(err error, addr string, key ssh.PublicKey) error {
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
		for _, k := range ke.Want {
			want = append(want, k.Key.Type()+" "+ssh.FingerprintSHA256(k.Key))
			lines = append(lines, k.Filename+":"+strconv.Itoa(k.Line))
		}
		return refused("ssh.hostkey-changed", nil, "addr", addr, "type", key.Type(), "fingerprint", shown,
			"known", strings.Join(want, ", "), "line", strings.Join(lines, ", "))
	case !knownhosts.IsHostUnknown(err):
		return refused("ssh.hostkey", err, "addr", addr, "type", key.Type(), "fingerprint", shown)
	}
	switch h.policy {
	case AcceptNew:
		return h.add(addr, key)
	case Ask:
		return &unknownKey{addr: addr, key: key}
	}
	return h.unknown(addr, key)
}

func (h *hostKeys) unknown(addr string, key ssh.PublicKey) *event.Fault {
	return refused("ssh.hostkey-unknown", nil, "addr", addr, "type", key.Type(), "fingerprint", ssh.FingerprintSHA256(key), "file", h.file)
}

// add appends a key. The file is written anew and renamed, under a lock, so that runs beside each other lose nothing.
func (h *hostKeys) add(addr string, key ssh.PublicKey) error {
	fail := func(err error) error {
		return event.NewFault(event.ClassFailed, "ssh.known-hosts", err, "file", h.file)
	}
	lock := flock.New(h.file+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return fail(err)
	}
	defer func() { _ = lock.Unlock() }()
	old, err := os.ReadFile(h.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	line := knownhosts.Line([]string{knownhosts.Normalize(addr)}, key)
	if bytes.Contains(append([]byte("\n"), old...), []byte("\n"+line+"\n")) {
		return nil
	}
	if len(old) > 0 && old[len(old)-1] != '\n' {
		old = append(old, '\n')
	}
	if err := renameio.WriteFile(h.file, fmt.Appendf(old, "%s\n", line), 0o600); err != nil {
		return fail(err)
	}
	return nil
}
