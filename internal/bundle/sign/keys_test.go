package sign

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

func saved(t *testing.T, passphrase string) (KeyPair, string) {
	t.Helper()
	pair, err := Generate("builder@example.com", []byte(passphrase))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key")
	if err := pair.Save(file); err != nil {
		t.Fatal(err)
	}
	return pair, file
}

func write(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestANewKeyIsSavedAndSigns(t *testing.T) {
	pair, file := saved(t, "")
	for name, mode := range map[string]os.FileMode{file: 0o600, file + ".pub": 0o644} {
		if st, err := os.Stat(name); err != nil || st.Mode().Perm()&^mode != 0 {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
	s, err := Load(t.Context(), file, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Fingerprint() != pair.Fingerprint() || !strings.HasSuffix(pair.Public, " builder@example.com\n") {
		t.Errorf("%s, %s", s.Fingerprint(), pair.Public)
	}
	l, err := pair.AllowedLine("builder@example.com")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(t.Context(), signed(t, s), strings.NewReader(sums),
		Check{Namespace, "", allow(t, l), noon()}); err != nil {
		t.Error(err)
	}
	if err := pair.Save(file); code(err) != "sign.key-exists" {
		t.Errorf("a second one: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := pair.Save(file); code(err) != "sign.key-exists" {
		t.Errorf("the public half is there: %v", err)
	}
	if err := pair.Save(filepath.Join(file, "none", "key")); code(err) != "sign.key-write" {
		t.Errorf("no directory: %v", err)
	}
	if _, err := Generate("a\nb", nil); code(err) != "sign.comment" {
		t.Error(err)
	}
}

func TestThePassphraseIsAskedFor(t *testing.T) {
	_, file := saved(t, "open sesame")
	gone := errors.New("the terminal went away")
	for _, c := range []struct {
		name    string
		answers []string
		asked   int
		code    string
	}{
		{"right", []string{"open sesame"}, 1, ""},
		{"at the third try", []string{"x", "", "open sesame"}, 3, ""},
		{"never", []string{"x", "", "", "open sesame"}, 3, "sign.key-passphrase"},
		{"gone", nil, 1, gone.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := 0
			s, err := Load(t.Context(), file, "", func(_ context.Context, f string, again bool) ([]byte, error) {
				if f != file || again != (asked > 0) {
					t.Errorf("asked for %s, again %v", f, again)
				}
				if asked++; asked > len(c.answers) {
					return nil, gone
				}
				return []byte(c.answers[asked-1]), nil
			})
			if code(err) != c.code || asked != c.asked || (s == nil) != (c.code != "") {
				t.Errorf("%v after %d questions", err, asked)
			}
		})
	}
	if _, err := Load(t.Context(), file, "", nil); code(err) != "sign.key-passphrase" {
		t.Error(err)
	}
}

func TestKeysThatAreNotTaken(t *testing.T) {
	pair, open := saved(t, "")
	if err := os.Chmod(open, 0o640); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GODEBUG", "rsa1024min=0")
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	public := write(t, "id.pub", pair.Public, 0o644)
	for _, c := range []struct{ name, file, code string }{
		{"absent", filepath.Join(t.TempDir(), "none"), "sign.key-read"},
		{"a directory", t.TempDir(), "sign.key-read"},
		{"a fifo", fifo, "sign.key-read"},
		{"huge", write(t, "huge", strings.Repeat("x", maxKeyFile+1), 0o600), "sign.key-read"},
		{"readable by the group", open, "sign.key-mode"},
		{"no key", write(t, "text", "hello\n", 0o600), "sign.key-format"},
		{"a damaged key", write(t, "bad", strings.Replace(string(pair.Private), "AAAA", "BBBB", 1), 0o600),
			"sign.key-format"},
		{"another PEM", write(t, "pem", "-----BEGIN X-----\n-----END X-----\n", 0o600), "sign.key-format"},
		{"weak", write(t, "weak", string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY",
			Bytes: x509.MarshalPKCS1PrivateKey(weak)})), 0o600), "sign.key-weak"},
		{"public, no agent named", public, "sign.agent"},
		{"of a type not known", write(t, "dss.pub", "ssh-dss AAAAB3NzaC1kc3MAAAAA\n", 0o644), "sign.key-format"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if s, err := Load(t.Context(), c.file, "", nil); code(err) != c.code || s != nil {
				t.Errorf("%v, want %q", err, c.code)
			}
		})
	}
}

// serve lets ring answer on a socket until the test ends; silent ones take connections and say nothing.
func serve(t *testing.T, ring agent.Agent) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if ring == nil {
					_, _ = io.Copy(io.Discard, c)
					return
				}
				_ = agent.ServeAgent(ring, c)
			}()
		}
	}()
	return socket
}

func TestAnAgentSigns(t *testing.T) {
	ring := agent.NewKeyring()
	rsaPrivate, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	rsaPublic, err := ssh.NewPublicKey(&rsaPrivate.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	pair, _ := saved(t, "")
	edPrivate, err := ssh.ParseRawPrivateKey(pair.Private)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []any{rsaPrivate, edPrivate} {
		if err := ring.Add(agent.AddedKey{PrivateKey: k}); err != nil {
			t.Fatal(err)
		}
	}
	socket := serve(t, ring)
	for name, public := range map[string]string{"ed25519": pair.Public,
		"rsa": string(ssh.MarshalAuthorizedKey(rsaPublic))} {
		t.Run(name, func(t *testing.T) {
			s, err := Load(t.Context(), write(t, "id.pub", public, 0o644), socket, nil)
			if err != nil {
				t.Fatal(err)
			}
			check := Check{Namespace, "", allow(t, "a@x "+public), noon()}
			if _, err := Verify(t.Context(), signed(t, s), strings.NewReader(sums), check); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if _, err := Sign(t.Context(), s, Namespace, strings.NewReader(sums)); code(err) != "sign.refused" {
				t.Errorf("after the end: %v", err)
			}
		})
	}
	other, _ := saved(t, "")
	if _, err := Load(t.Context(), write(t, "id.pub", other.Public, 0o644), socket,
		nil); code(err) != "sign.agent-key" {
		t.Error(err)
	}
	if _, err := Load(t.Context(), write(t, "id.pub", pair.Public, 0o644), socket+"x", nil); code(err) != "sign.agent" {
		t.Error(err)
	}
}

func TestAnAgentThatSaysNothingIsLeftWithItsContext(t *testing.T) {
	pair, _ := saved(t, "")
	file, socket := write(t, "id.pub", pair.Public, 0o644), serve(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := Load(ctx, file, socket, nil)
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// waiting is an agent that lists its key and waits for a person who never comes when it is to sign.
type waiting struct {
	agent.Agent
	asked chan struct{}
	end   chan struct{}
}

func (w waiting) Sign(ssh.PublicKey, []byte) (*ssh.Signature, error) {
	close(w.asked)
	<-w.end
	return &ssh.Signature{}, nil
}

func TestWaitingForAPersonEndsWithTheContext(t *testing.T) {
	pair, _ := saved(t, "")
	key, err := ssh.ParseRawPrivateKey(pair.Private)
	if err != nil {
		t.Fatal(err)
	}
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: key}); err != nil {
		t.Fatal(err)
	}
	w := waiting{ring, make(chan struct{}), make(chan struct{})}
	defer close(w.end)
	s, err := Load(t.Context(), write(t, "id.pub", pair.Public, 0o644), serve(t, w), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-w.asked; cancel() }()
	if _, err := Sign(ctx, s, Namespace, strings.NewReader(sums)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
