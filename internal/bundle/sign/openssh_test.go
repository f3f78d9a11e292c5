package sign

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// tool skips the test where OpenSSH's program is not installed.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

func run(t *testing.T, stdin string, env []string, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), append(env, "TZ=UTC")...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = errors.New(err.Error() + ": " + stderr.String())
	}
	return string(out), err
}

// opensshVerify asks ssh-keygen what it thinks of a signature.
func opensshVerify(t *testing.T, keygen, allowed, identity, namespace, message string, sig []byte) error {
	t.Helper()
	file := write(t, "allowed_signers", allowed, 0o600)
	_, err := run(t, message, nil, keygen, "-Y", "verify", "-f", file, "-I", identity, "-n", namespace, "-s",
		write(t, "sig", string(sig), 0o600))
	return err
}

func TestOpenSSHsKeysSignHereAndThere(t *testing.T) {
	keygen := tool(t, "ssh-keygen")
	for _, kind := range [][]string{
		{"-t", "ed25519"}, {"-t", "ecdsa", "-b", "256"}, {"-t", "ecdsa", "-b", "384"}, {"-t", "ecdsa", "-b", "521"},
		{"-t", "rsa", "-b", "2048"}, {"-t", "rsa", "-b", "2048", "-m", "PEM"},
	} {
		t.Run(strings.Join(kind, ""), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "key")
			if _, err := run(t, "", nil, keygen, append(kind, "-q", "-N", "", "-C", "", "-f", file)...); err != nil {
				t.Fatal(err)
			}
			s, err := Load(t.Context(), file, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			allowed, err := s.AllowedLine("builder@example.com")
			if err != nil {
				t.Fatal(err)
			}
			if err := opensshVerify(t, keygen, allowed, "builder@example.com", Namespace, sums,
				signed(t, s)); err != nil {
				t.Errorf("ssh-keygen on ours: %v", err)
			}
			for _, hash := range []string{"sha256", "sha512"} {
				sig, err := run(t, sums, nil, keygen, "-Y", "sign", "-O", "hashalg="+hash, "-f", file, "-n", Namespace)
				if err != nil {
					t.Fatal(err)
				}
				check := Check{Namespace, "builder@example.com", allow(t, allowed), noon()}
				if _, err := Verify(t.Context(), []byte(sig), strings.NewReader(sums), check); err != nil {
					t.Errorf("we on ssh-keygen's, %s: %v", hash, err)
				}
				if b, _ := parseArmored([]byte(sig)); string(b.armor()) != sig {
					t.Errorf("other armor:\n%s\n%s", b.armor(), sig)
				}
			}
		})
	}
}

func TestOpenSSHTakesOurKeysWithAndWithoutPassphrase(t *testing.T) {
	keygen := tool(t, "ssh-keygen")
	for _, phrase := range []string{"", "open sesame"} {
		pair, file := saved(t, phrase)
		if out, err := run(t, "", nil, keygen, "-y", "-P", phrase, "-f", file); err != nil || out != pair.Public {
			t.Errorf("%q: %s, %v", phrase, out, err)
		}
		if out, err := run(t, "", nil, keygen, "-l", "-f", file+".pub"); err != nil ||
			!strings.Contains(out, pair.Fingerprint()) {
			t.Errorf("%q: %s, %v", phrase, out, err)
		}
		if phrase == "" {
			continue
		}
		if _, err := run(t, "", nil, keygen, "-p", "-P", phrase, "-N", "another", "-f", file); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(t.Context(), file, "", func(context.Context, string, bool) ([]byte, error) {
			return []byte("another"), nil
		}); err != nil {
			t.Errorf("ssh-keygen's passphrase: %v", err)
		}
	}
}

// Where we and ssh-keygen are asked the same, the answer is the same.
func TestOpenSSHVerifiesAlike(t *testing.T) {
	keygen := tool(t, "ssh-keygen")
	one, two, token := newKey(t), newKey(t), newFIDO(t, 1)
	k1, k2 := one.key.PublicKey(), two.key.PublicKey()
	sig := signed(t, one)
	fromToken := forge(t, blob{Version: version, PublicKey: token.Marshal(), Namespace: Namespace, Hash: "sha512"},
		sums, token.sign)
	year := func(n int) string { return time.Now().UTC().AddDate(n, 0, 0).Format("20060102150405Z") }
	for _, c := range []struct {
		name, allowed, identity, namespace, message string
		sig                                         []byte
	}{
		{"listed", line("a@x", k1), "a@x", Namespace, sums, sig},
		{"tampered", line("a@x", k1), "a@x", Namespace, strings.Replace(sums, "9", "8", 1), sig},
		{"another namespace", line("a@x", k1), "a@x", "git", sums, sig},
		{"another identity", line("a@x", k1), "b@x", Namespace, sums, sig},
		{"another key", line("a@x", k2), "a@x", Namespace, sums, sig},
		{"two keys", line("a@x", k2) + "\n" + line("a@x", k1), "a@x", Namespace, sums, sig},
		{"two keys of two", line("b@x", k2) + "\n" + line("a@x", k1), "b@x", Namespace, sums, sig},
		{"patterns", line("*@x,!b@x", k1), "a@x", Namespace, sums, sig},
		{"a pattern excludes", line("*@x,!a@x", k1), "a@x", Namespace, sums, sig},
		{"quoted principals", line(`"a b@x"`, k1), "a b@x", Namespace, sums, sig},
		{"namespaces", line(`a@x namespaces="git,eggo-bundle"`, k1), "a@x", Namespace, sums, sig},
		{"namespaces exclude", line(`a@x namespaces="git"`, k1), "a@x", Namespace, sums, sig},
		{"expired", line(`a@x valid-before="`+year(-1)+`"`, k1), "a@x", Namespace, sums, sig},
		{"not yet", line(`a@x valid-after="`+year(1)+`"`, k1), "a@x", Namespace, sums, sig},
		{"in time", line(`a@x valid-after="`+year(-1)+`",valid-before="`+year(1)+`"`, k1), "a@x", Namespace, sums, sig},
		{"expired, and a line that is not", line(`a@x valid-before="`+year(-1)+`"`, k1) + "\n" + line("a@x", k1), "a@x",
			Namespace, sums, sig},
		{"a security key", line("a@x", token), "a@x", Namespace, sums, fromToken},
		{"a security key, tampered", line("a@x", token), "a@x", Namespace, "x", fromToken},
		{"a comment", "# c\n" + line("a@x", k1) + " comment here", "a@x", Namespace, sums, sig},
		{"cut off", line("a@x", k1), "a@x", Namespace, sums, sig[:len(sig)-40]},
	} {
		t.Run(c.name, func(t *testing.T) {
			theirs := opensshVerify(t, keygen, c.allowed, c.identity, c.namespace, c.message, c.sig)
			check := Check{c.namespace, c.identity, allow(t, c.allowed), time.Now()}
			_, ours := Verify(t.Context(), c.sig, strings.NewReader(c.message), check)
			if c.name == "expired, and a line that is not" { // ssh-keygen may stop at the first line of the key
				if ours != nil {
					t.Error(ours)
				}
				return
			}
			if (theirs == nil) != (ours == nil) {
				t.Errorf("ssh-keygen: %v; we: %v", theirs, ours)
			}
		})
	}
}

func TestOpenSSHsAgentSigns(t *testing.T) {
	keygen, program, add := tool(t, "ssh-keygen"), tool(t, "ssh-agent"), tool(t, "ssh-add")
	dir, err := os.MkdirTemp("", "agent") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, program, "-D", "-a", socket)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = cmd.Wait() }()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it names its socket once it listens
		t.Fatal(err)
	}
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		file := filepath.Join(dir, kind)
		if _, err := run(t, "", nil, keygen, "-q", "-t", kind, "-N", "", "-f", file); err != nil {
			t.Fatal(err)
		}
		if _, err := run(t, "", []string{"SSH_AUTH_SOCK=" + socket}, add, "-q", file); err != nil {
			t.Fatal(err)
		}
		s, err := Load(t.Context(), file+".pub", socket, nil)
		if err != nil {
			t.Fatal(err)
		}
		allowed := line("a@x", s.key.PublicKey())
		if err := opensshVerify(t, keygen, allowed, "a@x", Namespace, sums, signed(t, s)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A certificate of OpenSSH's signs there and is refused here.
func TestOpenSSHsCertificateIsRefused(t *testing.T) {
	keygen := tool(t, "ssh-keygen")
	dir := t.TempDir()
	ca, user := filepath.Join(dir, "ca"), filepath.Join(dir, "user")
	for _, args := range [][]string{
		{"-q", "-t", "ed25519", "-N", "", "-f", ca}, {"-q", "-t", "ed25519", "-N", "", "-f", user},
		{"-q", "-s", ca, "-I", "id", "-n", "a@x", user + ".pub"},
	} {
		if _, err := run(t, "", nil, keygen, args...); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Load(t.Context(), user, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := os.ReadFile(user + "-cert.pub")
	if err != nil {
		t.Fatal(err)
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(cert)
	if err != nil {
		t.Fatal(err)
	}
	b, err := parseArmored(signed(t, s))
	if err != nil {
		t.Fatal(err)
	}
	b.PublicKey = key.Marshal()
	check := Check{Namespace, "", allow(t, line("a@x", s.key.PublicKey())), noon()}
	if _, err := Verify(t.Context(), b.armor(), strings.NewReader(sums), check); code(err) != "sign.certificate" {
		t.Error(err)
	}
	if _, err := Load(t.Context(), user+"-cert.pub", "", nil); code(err) != "sign.certificate" {
		t.Error(err)
	}
}
