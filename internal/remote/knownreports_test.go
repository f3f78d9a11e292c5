package remote

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/skeema/knownhosts"
	xknown "golang.org/x/crypto/ssh/knownhosts"
)

// What OpenSSH accepts in a known_hosts file, and other clients in Go have stumbled over: several keys of one type,
// wildcards and other ports, IPv6 without brackets, a certificate authority for all hosts.
func TestKnownHostsThatOthersStumbleOver(t *testing.T) {
	mine, other := keyNumber(t, 1), keyNumber(t, 2)
	const old = "10.0.0.1 %[2]s\n10.0.0.1 %[1]s\n"
	for name, c := range map[string]struct {
		text, addr string
		unknown    bool
	}{
		"two keys of one type":               {old, "10.0.0.1:22", false},
		"two keys, a port":                   {"[10.0.0.1]:2222 %[2]s\n[10.0.0.1]:2222 %[1]s\n", "10.0.0.1:2222", false},
		"two keys, one hashed":               {xknown.HashHostname("10.0.0.1") + " %[2]s\n10.0.0.1 %[1]s\n", "10.0.0.1:22", false},
		"wildcard with another port":         {"* %[1]s\n", "10.0.0.1:2222", false},
		"IPv6 without brackets":              {"2600:1f13::16f8 %[1]s\n", "[2600:1f13::16f8]:22", false},
		"IPv6 without brackets, not the one": {"2600:1f13::16f8 %[2]s\n10.0.0.1 %[1]s\n", "10.0.0.1:22", false},
		"a CA for all hosts":                 {"@cert-authority * %[2]s\n", "10.0.0.1:22", true},
		"a CA for all hosts, and a key":      {"@cert-authority * %[2]s\n10.0.0.1 %[1]s\n", "10.0.0.1:22", false},
	} {
		path := filepath.Join(t.TempDir(), "known_hosts")
		text := fmt.Sprintf(c.text+"# %[1]s %[2]s\n", publicKey(mine), publicKey(other))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := parseKnown(path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if list := db.algorithms(c.addr); c.unknown && len(list) > 0 {
			t.Errorf("%s: only %v", name, list)
		}
		host, _, err := net.SplitHostPort(c.addr)
		if err != nil {
			t.Fatal(err)
		}
		err = db.check(c.addr, &net.TCPAddr{IP: net.ParseIP(host), Port: 22}, mine)
		if is := knownhosts.IsHostUnknown(err); err != nil && !is || is != c.unknown {
			t.Errorf("%s: %v", name, err)
		}
	}
}
