package dial

import (
	"crypto/sha256"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
)

// A known_hosts file is compared by address, port and type; a key that it calls revoked differs.
func TestKnownHosts_ComparedWithAFile(t *testing.T) {
	t.Parallel()
	const a = "AAAAC3NzaC1lZDI1NTE5AAAAIB1u8sdmYwyxHT1vs6vvE8Bx4y9uAPi4mM7CvZ4YvJ9a"
	const b = "AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
	file := filepath.Join(t.TempDir(), "known")
	text := "192.0.2.1 ssh-ed25519 " + a + "\n[192.0.2.2]:2222 ssh-ed25519 " + a + "\n@revoked * ssh-ed25519 " + b +
		"\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	key := func(addr, blob string) ask.HostKey {
		return ask.HostKey{Addr: addr, Type: "ssh-ed25519", Fingerprint: fingerprint(t, blob)}
	}
	got, err := KnownHosts(file, []ask.HostKey{key("192.0.2.1:22", a), key("192.0.2.2:2222", a),
		key("192.0.2.2:22", a), key("192.0.2.1:22", b), key("192.0.2.9:22", b)})
	want := []ask.KeyCheck{ask.KeyVerified, ask.KeyVerified, ask.KeyUnlisted, ask.KeyDiffers,
		ask.KeyDiffers}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q %v, want %q", got, err, want)
	}
	if _, err := KnownHosts(file+"x", nil); err == nil {
		t.Error("a file that is not there says nothing")
	}
}

func fingerprint(t *testing.T, blob string) string {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(blob)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}
