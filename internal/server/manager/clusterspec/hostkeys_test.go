package clusterspec

import (
	"crypto/ed25519"
	"encoding/pem"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// Known hosts are taken as ssh writes them; of what is none the line is said.
func TestKnownHosts(t *testing.T) {
	const kind, blob = "ssh-ed25519", "AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
	for text, lines := range map[string][]string{
		"":                                       nil,
		"\n# a comment\n":                        nil,
		"192.0.2.1 " + hostKey + " of m1\r\n":    nil,
		"[192.0.2.1]:2222,m1 " + hostKey:         nil,
		"*.example.com,!a.example " + hostKey:    nil,
		"@cert-authority * " + hostKey:           nil,
		"|1|AAAA|AAAA " + hostKey:                nil,
		"@revoked m1 " + hostKey:                 nil,
		"\n192.0.2.1 " + kind + "\nm1 x " + blob: {"2", "3"},
		hostKey:                                  {"1"},
		"|1|AAAA " + hostKey:                     {"1"},
		"|2|AAAA|AAAA " + hostKey:                {"1"},
		"@other m1 " + hostKey:                   {"1"},
		"! " + hostKey:                           {"1"},
		"[192.0.2.1 " + hostKey:                  {"1"},
		"m1 " + kind + " AAAA":                   {"1"},
		"m1 " + kind + " ?":                      {"1"},
		"@revoked":                               {"1"},
	} {
		var got []string
		for _, f := range KnownHosts("body.known_hosts", text) {
			got = append(got, f.Fault.Args["line"])
		}
		if !slices.Equal(got, lines) {
			t.Errorf("%q: %q, want %q", text, got, lines)
		}
	}
	if n := len(KnownHosts("", strings.Repeat("x\n", 1000))); n != mostLines {
		t.Errorf("%d are said", n)
	}
}

// A key with a passphrase cannot be used, since nobody is asked for it.
func TestAKeyWithAPassphrase(t *testing.T) {
	block, err := ssh.MarshalPrivateKeyWithPassphrase(ed25519.NewKeyFromSeed(make([]byte, 32)), "", []byte("word"))
	if err != nil {
		t.Fatal(err)
	}
	c := right()
	c.SSH.Key = string(pem.EncodeToMemory(block))
	if got := said((Rules{}).Create(c)); !slices.Equal(got, []string{"ssh.key ssh-key-locked"}) {
		t.Error(got)
	}
}
