package remote_test

import (
	"crypto/ed25519"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

// keygen runs ssh-keygen.
func keygen(t testing.TB, args ...string) {
	t.Helper()
	if out, err := exec.Command("ssh-keygen", append([]string{"-q"}, args...)...).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
}

// dialFails is Dial's error; a host that is there against expectation is closed, for a server that has a connection
// does not end.
func dialFails(t testing.TB, tg remote.Target, o remote.Options) error {
	t.Helper()
	h, err := remote.Dial(limit(t), tg, o)
	if err == nil {
		_ = h.Close()
	}
	return err
}

// A server that has nothing but SHA-1 is refused with the word that allows it, and let in with that word.
func TestSHA1IsUsedOnlyWhenAskedFor(t *testing.T) {
	dir := t.TempDir()
	rsa := filepath.Join(dir, "rsa")
	keygen(t, "-t", "rsa", "-b", "2048", "-N", "", "-f", rsa)
	pub, err := os.ReadFile(rsa + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, config string }{
		{"the key exchange", "KexAlgorithms diffie-hellman-group14-sha1,diffie-hellman-group-exchange-sha1"},
		{"the MAC", "Ciphers aes128-ctr\nMACs hmac-sha1"},
		{"the host key", "HostKey " + rsa + "\nHostKeyAlgorithms ssh-rsa"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tg, o := sshd(t, c.config)
			if c.name == "the host key" {
				line := fmt.Appendf(nil, "[127.0.0.1]:%d %s", tg.Port, pub)
				if err := os.WriteFile(o.KnownHosts, line, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := dialFails(t, tg, o)
			if f := wantFault(t, err, "ssh.legacy-algorithms"); !strings.Contains(f.Args["offered"], "sha1") &&
				!strings.Contains(f.Args["offered"], "ssh-rsa") {
				t.Errorf("it does not say what the node offers: %v", f.Args)
			}
			o.LegacyAlgorithms = true
			dial(t, tg, o)
		})
	}
	t.Run("the user's signature", func(t *testing.T) {
		public, _, _, _, err := ssh.ParseAuthorizedKey(pub)
		if err != nil {
			t.Fatal(err)
		}
		s := remotetest.New(t, remotetest.WithKey(public), remotetest.WithKeyAlgorithms(ssh.KeyAlgoRSA))
		tg, o := target(s), options(t, s)
		tg.Password, tg.Keys = "", []string{rsa}
		wantFault(t, dialFails(t, tg, o), "ssh.legacy-algorithms")
		o.LegacyAlgorithms = true
		dial(t, tg, o)
	})
}

// KEY-cert.pub beside the key is offered, as ssh does; the server takes nothing else.
func TestUserCertificate(t *testing.T) {
	for _, kind := range []string{"ed25519", "rsa", "ecdsa"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			ca, user := filepath.Join(dir, "ca"), filepath.Join(dir, "user")
			keygen(t, "-t", "ed25519", "-N", "", "-f", ca)
			keygen(t, "-t", kind, "-N", "", "-f", user)
			tg, o := sshd(t, "AuthorizedKeysFile none\nTrustedUserCAKeys "+ca+".pub")
			tg.Keys = []string{user}
			err := dialFails(t, tg, o)
			wantFault(t, err, "ssh.auth")
			keygen(t, "-s", ca, "-I", "me", "-n", "root", "-V", "+1h", user+".pub")
			dial(t, tg, o)
		})
	}
}

// A certificate that cannot be used is named; the key is no use without it, perhaps, but that is for the node to say.
func TestBadUserCertificate(t *testing.T) {
	s := remotetest.New(t)
	file, _, _ := key(t, "")
	if err := os.WriteFile(file+"-cert.pub", []byte("ssh-ed25519-cert-v01@openssh.com AAAA"), 0o600); err != nil {
		t.Fatal(err)
	}
	tg := target(s)
	tg.Password, tg.Keys = "", []string{file}
	err := dialFails(t, tg, options(t, s))
	if f := wantFault(t, err, "ssh.key-file"); f.Args["file"] != file+"-cert.pub" {
		t.Error(f.Args)
	}
}

// The right key is the last of thirty in the agent, and sshd hangs up after a few.
func TestAgentWithManyKeys(t *testing.T) {
	for _, tries := range []int{6, 2} {
		t.Run(fmt.Sprint("MaxAuthTries ", tries), func(t *testing.T) {
			tg, o := sshd(t, fmt.Sprint("MaxAuthTries ", tries))
			keys := make([]ed25519.PrivateKey, 0, 31)
			for range 12 {
				_, _, k := key(t, "")
				keys = append(keys, k)
			}
			keys = append(keys, privateKey(t, tg.Keys[0]))
			sock := filepath.Join(t.TempDir(), "agent")
			serveAgent(t, sock, keys...)
			t.Setenv("SSH_AUTH_SOCK", sock)
			named := tg.Keys
			tg.Keys, tg.Agent = nil, remote.AgentOffers
			dial(t, tg, o)
			// Named in deploy.yaml by its public half, the agent's key is the first that is offered.
			tg.Keys = []string{named[0] + ".pub"}
			dial(t, tg, o)
		})
	}
}

func privateKey(t *testing.T, file string) ed25519.PrivateKey {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	k, err := ssh.ParseRawPrivateKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	return *k.(*ed25519.PrivateKey)
}

// What deploy.yaml names comes before the keys of an agent that has many, in as few connections as there are.
func TestNamedKeyComesFirst(t *testing.T) {
	file, pub, _ := key(t, "")
	keys := make([]ed25519.PrivateKey, 0, 20)
	for range 20 {
		_, _, k := key(t, "")
		keys = append(keys, k)
	}
	sock := filepath.Join(t.TempDir(), "agent")
	serveAgent(t, sock, keys...)
	t.Setenv("SSH_AUTH_SOCK", sock)
	for _, tg := range []remote.Target{{Keys: []string{file}}, {Password: "secret"}} {
		tg.Agent = remote.AgentOffers
		s := remotetest.New(t, remotetest.WithKey(pub))
		tg.Name, tg.Addr, tg.Port = "n1", s.IP, s.Port
		o := options(t, s)
		dial(t, tg, o)
		if n := s.Connections(); n != 1 {
			t.Errorf("%d connections for what was named", n)
		}
		// The password is never sent twice, and what was offered is said.
		s.RefuseAuth()
		err := dialFails(t, tg, o)
		f := wantFault(t, err, "ssh.auth")
		if tg.Password != "" && s.PasswordTries() != 2 {
			t.Errorf("the password was sent %d times in two logins", s.PasswordTries())
		}
		if n := strings.Count(f.Args["tried"], "agent"); n != 20 {
			t.Errorf("%d keys of the agent were tried: %v", n, f.Args)
		}
	}
}

// An encrypted key that the agent holds needs no passphrase, and the other keys of the agent are not offered with it.
func TestEncryptedKeyInTheAgent(t *testing.T) {
	file, pub, priv := key(t, "open sesame")
	_, _, other := key(t, "")
	sock := filepath.Join(t.TempDir(), "agent")
	serveAgent(t, sock, other, priv)
	t.Setenv("SSH_AUTH_SOCK", sock)
	s := remotetest.New(t, remotetest.WithKey(pub))
	tg := target(s)
	tg.Password, tg.Keys, tg.Agent = "", []string{file}, remote.AgentHolds
	dial(t, tg, options(t, s))
	if n := s.KeysOffered(); n != 1 {
		t.Errorf("%d keys were offered", n)
	}
}

// Nobody has to run an agent: without one, it is not the agent that is wrong. One that is there and fails is.
func TestWithoutAnAgent(t *testing.T) {
	s := remotetest.New(t)
	tg := target(s)
	tg.Password, tg.Keys, tg.Agent = "", nil, remote.AgentOffers
	t.Setenv("SSH_AUTH_SOCK", "")
	wantFault(t, dialFails(t, tg, options(t, s)), "ssh.no-credentials")
	t.Setenv("SSH_AUTH_SOCK", filepath.Join(t.TempDir(), "gone"))
	wantFault(t, dialFails(t, tg, options(t, s)), "ssh.agent")
}

// A machine without sudo is not one whose sudoers are wrong.
func TestSudoIsMissing(t *testing.T) {
	s := remotetest.New(t, remotetest.WithUser("ops", "secret"), remotetest.WithEnv("PATH="+toolsWithoutSudo(t)))
	tg := target(s)
	tg.User = "ops"
	err := dialFails(t, tg, options(t, s))
	if f := wantFault(t, err, "ssh.sudo-missing"); f.Args["user"] != "ops" {
		t.Error(f.Args)
	}
}

// toolsWithoutSudo is a directory for PATH that has what a login needs, and no sudo.
func toolsWithoutSudo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"sh", "env", "dd"} {
		p, err := exec.LookPath(name)
		if err != nil {
			t.Skip(err)
		}
		if err := os.Symlink(p, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
