package remote

import (
	"bufio"
	"bytes"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// KeyMatch is what a known_hosts file says of a host key.
type KeyMatch int

// The matches: the file has nothing of the host with that type of key, it has this key, or it has another one or calls
// it revoked.
const (
	KeyUnlisted KeyMatch = iota
	KeyListed
	KeyDiffers
)

// CompareKeys compares unknown host keys with a known_hosts file that somebody has verified.
func CompareKeys(file string, keys []HostKeyQuestion) ([]KeyMatch, error) {
	fail := func(err error) error { return event.NewFault(event.ClassUsage, "ssh.known-hosts", err, "file", file) }
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fail(err)
	}
	db, err := parseKnown(file)
	if err != nil {
		return nil, fail(err)
	}
	bad := revoked(data)
	out := make([]KeyMatch, len(keys))
	for i, q := range keys {
		if bad[q.Fingerprint] {
			out[i] = KeyDiffers
			continue
		}
		for _, k := range db.HostKeys(q.Addr) {
			switch {
			case ssh.FingerprintSHA256(k) == q.Fingerprint:
				out[i] = KeyListed
			case k.Type() == q.Type && out[i] == KeyUnlisted:
				out[i] = KeyDiffers
			}
		}
	}
	return out, nil
}

// revoked are the fingerprints of the keys that a known_hosts file calls revoked.
func revoked(data []byte) map[string]bool {
	out := map[string]bool{}
	in := bufio.NewScanner(bytes.NewReader(data))
	in.Buffer(nil, len(data)+1)
	for in.Scan() {
		if words := strings.Fields(in.Text()); len(words) >= 4 && words[0] == "@revoked" &&
			parsable(in.Bytes()) {
			if k, _, _, _, err := ssh.ParseAuthorizedKey([]byte(strings.Join(words[2:], " "))); err == nil {
				out[ssh.FingerprintSHA256(k)] = true
			}
		}
	}
	return out
}
