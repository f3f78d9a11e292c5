package remote

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknown "golang.org/x/crypto/ssh/knownhosts"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Lines that cannot be parsed are skipped, and named once with their own numbers; all others count, whatever they are
// beside.
func TestLinesThatCannotBeParsedAreSkipped(t *testing.T) {
	t.Parallel()
	good, other := keyNumber(t, 1), keyNumber(t, 2)
	bad := map[string]string{
		"a key of SSH-1":                    "10.0.0.9 1024 35 1450178384923847561298374651928374651",
		"a damaged hash":                    "|1|AAAA|not-base64 " + publicKey(good),
		"a hash of another kind":            "|2|AAAA|AAAA " + publicKey(good),
		"an unknown marker":                 "@trusted 10.0.0.9 " + publicKey(good),
		"two markers":                       "@revoked @cert-authority * " + publicKey(good),
		"an unknown type of key":            "10.0.0.9 ssh-future AAAAC3NzaC1mdXR1cmU=",
		"a key that was cut":                "10.0.0.9 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB",
		"a type that is not the key's":      "10.0.0.9 ssh-rsa " + strings.Fields(publicKey(good))[1],
		"a name alone":                      "10.0.0.9",
		"a port without its bracket":        "[10.0.0.9:22 " + publicKey(good),
		"the message of a merge":            "<<<<<<< HEAD",
		"a line longer than any key":        "10.0.0.9 ssh-rsa " + strings.Repeat("A", 70_000),
		"words that were pasted by mistake": "Warning: Permanently added '10.0.0.9' to the list",
	}
	for name, line := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "known_hosts")
			text := fmt.Sprintf("# mine\n%s\n10.0.0.1 %s\n@revoked * %s\n", line, publicKey(good),
				publicKey(keyNumber(t, 3)))
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			k := newKnownFile(file)
			if a, err := k.algorithms("10.0.0.1:22"); err != nil || !slices.Equal(a, []string{ssh.KeyAlgoED25519}) {
				t.Fatal(a, err)
			}
			if err := k.check("10.0.0.1:22", &net.TCPAddr{}, good); err != nil {
				t.Error(err)
			}
			err := k.check("10.0.0.1:22", &net.TCPAddr{}, other)
			h := &hostKeys{file: file, known: k, policy: Strict}
			f := event.AsFault(h.decide(t.Context(), err, "10.0.0.1:22", other))
			if f.Code != "ssh.hostkey-changed" || f.Args["line"] != file+":3" {
				t.Errorf("%s %v", f.Code, f.Args)
			}
			err = k.check("10.0.0.1:22", &net.TCPAddr{}, keyNumber(t, 3))
			f = event.AsFault(h.decide(t.Context(), err, "10.0.0.1:22", keyNumber(t, 3)))
			if f.Args["line"] != file+":4" {
				t.Errorf("%s %v", f.Code, f.Args)
			}
			if lines := k.skipped(); !slices.Equal(lines, []string{file + ":2"}) || k.skipped() != nil {
				t.Error(lines)
			}
			if err := k.add(t.Context(), "10.0.0.2:22", other, nil); err != nil {
				t.Error(err)
			}
			if now, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(now), text) {
				t.Errorf("the file is another one: %v", err)
			}
			got, err := CompareKeys(file, []HostKeyQuestion{{Addr: "10.0.0.1:22", Type: "ssh-ed25519",
				Fingerprint: ssh.FingerprintSHA256(good)}})
			if err != nil || got[0] != KeyListed {
				t.Error(got, err)
			}
		})
	}
}

// A key that a file has which is only read is known; keys are added to the other file, and advice names the first.
func TestFilesThatAreOnlyRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own, mine := filepath.Join(dir, "new", "known_hosts"), filepath.Join(dir, "mine")
	line := knownhosts.Line([]string{"10.0.0.1:22"}, keyNumber(t, 1)) + "\n"
	if err := os.WriteFile(mine, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	o := &Options{KnownHosts: own, AlsoKnown: []string{mine, filepath.Join(dir, "none")}, Shared: NewShared(Limits{})}
	o.fill()
	h := newHostKeys(t.Context(), Target{Name: "n1"}, o)
	if err := h.known.check("10.0.0.1:22", &net.TCPAddr{}, keyNumber(t, 1)); err != nil {
		t.Error(err)
	}
	err := h.known.check("10.0.0.1:22", &net.TCPAddr{}, keyNumber(t, 2))
	if f := event.AsFault(h.decide(t.Context(), err, "10.0.0.1:22", keyNumber(t, 2))); f.Args["line"] != mine+":1" {
		t.Error(f.Args)
	}
	err = h.known.check("10.0.0.2:22", &net.TCPAddr{}, keyNumber(t, 2))
	if f := event.AsFault(h.decide(t.Context(), err, "10.0.0.2:22", keyNumber(t, 2))); f.Args["file"] != mine {
		t.Error(f.Args)
	}
	h.policy = AcceptNew
	if err := h.decide(t.Context(), &xknown.KeyError{}, "10.0.0.2:22", keyNumber(t, 2)); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(mine); err != nil || string(text) != line {
		t.Errorf("%q %v", text, err)
	}
	if err := newKnownFile(own, mine).check("10.0.0.2:22", &net.TCPAddr{}, keyNumber(t, 2)); err != nil {
		t.Error(err)
	}
}
