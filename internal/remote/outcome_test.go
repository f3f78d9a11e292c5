package remote_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

// A login that was refused says why, in whichever way the node refuses it: the password or key was wrong, passwords are
// not accepted at all, or more than a password is required.
func TestARefusedLoginSaysWhy(t *testing.T) {
	file, pub, _ := key(t, "")
	other, _, _ := key(t, "")
	_, otherPub, _ := key(t, "")
	for _, c := range []struct {
		name   string
		server []remotetest.Option
		target remote.Target
		code   string
		wanted string // that more-factors names
	}{
		{name: "keyboard-interactive is offered, but asks nothing", server: []remotetest.Option{
			remotetest.WithMuteKeyboard()}, target: remote.Target{Password: "wrong"}, code: "ssh.auth"},
		{name: "the same, with a key before it", server: []remotetest.Option{remotetest.WithMuteKeyboard(),
			remotetest.WithKey(pub)}, target: remote.Target{Password: "wrong", Keys: []string{other}},
			code: "ssh.auth"},
		{name: "a one-time code is required as well", server: []remotetest.Option{
			remotetest.WithQuestions("Password: |Code: ")}, target: remote.Target{Password: "secret"},
			code: "ssh.more-factors", wanted: `keyboard-interactive ("Password: , Code:")`},
		{name: "a one-time code is required after the password", server: []remotetest.Option{
			remotetest.WithQuestions("Password: ", "Code: ")}, target: remote.Target{Password: "secret"},
			code: "ssh.more-factors", wanted: `keyboard-interactive ("Code:")`},
		{name: "the password is asked for again", server: []remotetest.Option{
			remotetest.WithQuestions("Password: ", "Password: ")}, target: remote.Target{Password: "wrong"},
			code: "ssh.auth"},
		{name: "a password is required beside the key", server: []remotetest.Option{remotetest.WithBoth(),
			remotetest.WithKey(pub)}, target: remote.Target{Keys: []string{file}}, code: "ssh.more-factors",
			wanted: "password"},
		{name: "both are required and the password is wrong", server: []remotetest.Option{remotetest.WithBoth(),
			remotetest.WithKey(pub)}, target: remote.Target{Keys: []string{file}, Password: "wrong"}, code: "ssh.auth"},
		{name: "both are required and the key is wrong", server: []remotetest.Option{remotetest.WithBoth(),
			remotetest.WithKey(otherPub)}, target: remote.Target{Keys: []string{file}, Password: "secret"},
			code: "ssh.no-password-login"},
		{name: "both are required and there", server: []remotetest.Option{remotetest.WithBoth(),
			remotetest.WithKey(pub)}, target: remote.Target{Keys: []string{file}, Password: "secret"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := remotetest.New(t, c.server...)
			tg := c.target
			tg.Name, tg.Addr, tg.Port = "n1", s.IP, s.Port
			if c.code == "" {
				dial(t, tg, options(t, s))
				return
			}
			f := wantFault(t, dialFails(t, tg, options(t, s)), c.code)
			if f.Class != event.ClassAuth || f.Retry {
				t.Errorf("it would be tried again: %+v", f)
			}
			if strings.Contains(f.Cause, "unexpected message") {
				t.Errorf("the cause is %q", f.Cause)
			}
			if f.Args["wanted"] != c.wanted {
				t.Errorf("wanted %q", f.Args["wanted"])
			}
			if n := s.PasswordTries(); n > 1 {
				t.Errorf("the password was sent %d times", n)
			}
		})
	}
}

// accounts is a directory for sshdWith: root's password is "right", changed so many days after 1970, and a wrong one is
// refused without a delay.
func accounts(t *testing.T, days string) string {
	t.Helper()
	if out, err := exec.Command("unshare", "-m", "true").CombinedOutput(); err != nil {
		t.Skipf("needs a mount namespace of its own: %v %s", err, out)
	}
	hash, err := exec.Command("openssl", "passwd", "-6", "right").Output()
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"shadow": fmt.Sprintf("root:%s:%s:0:99999:7:::\nsshd:!:19000::::::\n", strings.TrimSpace(string(hash)), days),
		"pam": "auth required pam_unix.so nodelay\naccount required pam_unix.so\npassword required pam_unix.so\n" +
			"session required pam_permit.so\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// OpenSSH's own server, with each combination of the settings that decide about passwords. The right password logs in
// wherever passwords are accepted at all; each other outcome has its code.
func TestPasswordsAtSSHD(t *testing.T) {
	t.Parallel()
	right, file := accounts(t, "19000"), filepath.Join(t.TempDir(), "other")
	keygen(t, "-t", "ed25519", "-N", "", "-f", file)
	for _, pam := range []bool{true, false} {
		for _, kbd := range []bool{true, false} {
			for _, passwords := range []bool{true, false} {
				if testing.Short() && (pam || !kbd) {
					continue // what the library does not expect is with the others
				}
				yes := map[bool]string{true: "yes", false: "no"}
				config := fmt.Sprintf("UsePAM %s\nKbdInteractiveAuthentication %s\nPasswordAuthentication %s\n",
					yes[pam], yes[kbd], yes[passwords])
				asks := passwords || pam && kbd
				refused := "ssh.no-password-login"
				if asks {
					refused = "ssh.auth"
				}
				for _, c := range []struct{ more, password, code string }{
					{"", "right", map[bool]string{true: "", false: refused}[asks]},
					{"", "wrong", refused},
					{"PermitRootLogin prohibit-password", "right", refused},
					{"MaxAuthTries 1", "wrong", refused},
				} {
					name := strings.ReplaceAll(strings.TrimSpace(config+c.more), "\n", ", ") + ", " + c.password
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						tg, o := sshdWith(t, right, config+c.more)
						tg.Password, tg.Keys = c.password, nil
						if c.more == "MaxAuthTries 1" {
							tg.Keys = []string{file} // sshd hangs up before it hears the password
						}
						if c.code == "" {
							dial(t, tg, o)
							return
						}
						wantFault(t, dialFails(t, tg, o), c.code)
					})
				}
			}
		}
	}
}

// A node that refuses connections for a while says so in place of its version; the fault has these words.
func TestANodeThatRefusesTheConnectionIsQuoted(t *testing.T) {
	for _, line := range []string{"Not allowed at this time", "Exceeded MaxStartups"} {
		s := remotetest.New(t, remotetest.WithBanner(line+"\r\n"))
		f := wantFault(t, dialFails(t, target(s), options(t, s)), "ssh.handshake")
		if !strings.Contains(f.Cause, line) || !f.Retry {
			t.Errorf("%+v", f)
		}
	}
}

// A port at which a web or mail server answers is no node whose sshd refuses: the address or port is wrong.
func TestAnotherServerIsNoSSHD(t *testing.T) {
	for _, line := range []string{"HTTP/1.1 400 Bad Request", "220 mail.example ESMTP", "+OK POP3 ready"} {
		s := remotetest.New(t, remotetest.WithBanner(line+"\r\n"))
		if f := wantFault(t, dialFails(t, target(s), options(t, s)), "ssh.not-ssh"); f.Retry {
			t.Errorf("%s: it is tried again", line)
		}
	}
}

// A password that has expired is not a wrong one: what the node says of it is in the fault.
func TestAnExpiredPasswordAtSSHD(t *testing.T) {
	t.Parallel()
	old := accounts(t, "0")
	tg, o := sshdWith(t, old, "UsePAM yes\nKbdInteractiveAuthentication yes\nPasswordAuthentication no\n")
	tg.Password, tg.Keys = "right", nil
	f := wantFault(t, dialFails(t, tg, o), "ssh.more-factors")
	if !strings.Contains(f.Args["wanted"], "change your password") {
		t.Error(f.Args)
	}
	tg, o = sshdWith(t, old, "UsePAM no\nPasswordAuthentication yes\n")
	tg.Password, tg.Keys = "right", nil
	if f = wantFault(t, dialFails(t, tg, o), "ssh.no-shell"); !strings.Contains(f.Cause, "password has expired") {
		t.Error(f.Cause)
	}
}
