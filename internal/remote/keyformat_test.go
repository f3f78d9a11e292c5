package remote_test

import (
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// A file that is no private key in a readable format says what it is, where it is typed and where it is used, with a
// command that converts it.
func TestForeignKeyFilesSayHowToConvertThem(t *testing.T) {
	t.Setenv("SSH_AUTH_SOCK", "")
	plain, pub, _ := key(t, "")
	raw, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, code, says string }{
		{"PuTTY 2", "PuTTY-User-Key-File-2: ssh-rsa\r\nEncryption: none\r\n", "ssh.key-format", "puttygen"},
		{"PuTTY 3", "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: aes256-cbc\n", "ssh.key-format",
			"-O private-openssh-new -o"},
		{"ssh.com", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n", "ssh.key-format", "ssh-keygen -i"},
		{"encrypted PKCS#8", "-----BEGIN ENCRYPTED PRIVATE KEY-----\n", "ssh.key-format", "ssh-keygen -p"},
		{"a public key", remote.PublicKey(pub) + " me@here\n", "ssh.key-public", ""},
		{"a public key of RFC 4716", "---- BEGIN SSH2 PUBLIC KEY ----\n", "ssh.key-public", ""},
		{"a certificate of X.509", "-----BEGIN CERTIFICATE-----\n", "ssh.key-public", ""},
		{"something else", "hello\n", "ssh.key-file", ""},
		{"the key with a byte order mark", "\xef\xbb\xbf" + string(raw), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "my key")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			err := remote.CheckKey(file)
			if c.code == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			f := event.AsFault(err)
			if err == nil || f.Code != c.code || f.Class != event.ClassAuth || f.Args["file"] != file ||
				!strings.Contains(f.Args["command"], c.says) || c.says != "" &&
				!strings.Contains(f.Args["command"], "'"+file+"'") {
				t.Errorf("%+v", f)
			}
		})
	}
}

// A key that is on a security key needs an agent, whether its file is encrypted or not.
func TestAKeyOnASecurityKeyNeedsAnAgent(t *testing.T) {
	t.Setenv("SSH_AUTH_SOCK", "")
	point := strings.Repeat("p", 32)
	public := ssh.Marshal(struct{ Kind, Point, App string }{ssh.KeyAlgoSKED25519, point, "ssh:"})
	for _, cipher := range []string{"none", "aes256-ctr"} {
		head := ssh.Marshal(struct {
			Cipher, KDF, Options string
			Count                uint32
			Public, Private      string
		}{cipher, "none", "", 1, string(public), "opaque"})
		file := filepath.Join(t.TempDir(), "id_ed25519_sk")
		text := pem.EncodeToMemory(&pem.Block{Type: "OPENSSH PRIVATE KEY",
			Bytes: append([]byte("openssh-key-v1\x00"), head...)})
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		f := event.AsFault(remote.CheckKey(file))
		if f == nil || f.Code != "ssh.key-security" || f.Args["command"] != "ssh-add "+file {
			t.Errorf("%+v", f)
		}
	}
}

// The command that is named for an encrypted key of PKCS#8 converts it.
func TestAnEncryptedKeyOfPKCS8IsConverted(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "k")
	out, err := exec.Command("openssl", "genpkey", "-algorithm", "RSA", "-aes256", "-pass", "pass:open sesame", "-out",
		file).CombinedOutput()
	if err != nil {
		t.Skipf("%v: %s", err, out)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	f := event.AsFault(remote.CheckKey(file))
	if f == nil || f.Code != "ssh.key-format" {
		t.Fatal(f)
	}
	command := strings.Replace(f.Args["command"], "ssh-keygen -p", "ssh-keygen -p -P 'open sesame' -N ''", 1)
	if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
		t.Skipf("this ssh-keygen cannot: %v: %s", err, out)
	}
	if err := remote.CheckKey(file + ".openssh"); err != nil {
		t.Error(err)
	}
}
