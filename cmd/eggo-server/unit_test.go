package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const unitFile = "eggo-server.service"

// settings of the unit, by key.
func settings(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if key, value, is := strings.Cut(strings.TrimSpace(line), "="); is && !strings.HasPrefix(key, "#") {
			out[key] = strings.TrimSpace(out[key] + " " + value)
		}
	}
	return out
}

// The unit does what the manual says of it: options from a file, directories of root alone, a sandbox in which runs can
// be started and hold SSH connections. Its start ends when requests are answered: the next command of the manual reads
// the setup token.
func TestTheUnitIsWhatTheManualSays(t *testing.T) {
	got := settings(t)
	for key, want := range map[string]string{
		"Type": "notify", "User": "root", "EnvironmentFile": "-/etc/default/eggo-server",
		"ExecStart": "/usr/bin/eggo-server serve $EGGO_SERVER_OPTIONS", "StateDirectory": "eggo eggo-server",
		"StateDirectoryMode": "0700", "UMask": "0077", "ProtectSystem": "strict", "NoNewPrivileges": "yes",
		"WantedBy": "multi-user.target",
		// A run inherits the sandbox: what a deploy.yaml may name is there, and temporary files have a place.
		"PrivateTmp": "", "ProtectHome": "read-only", "InaccessiblePaths": "", "TemporaryFileSystem": "",
		"RuntimeDirectory": "eggo-server", "RuntimeDirectoryMode": "0700",
		"Environment": "TMPDIR=/run/eggo-server GOMEMLIMIT=2GiB",
		// What requests can take is bounded, and no core file has the secrets of the memory.
		"MemoryMax": "3G", "LimitCORE": "0",
	} {
		if got[key] != want {
			t.Errorf("%s=%s, want %q", key, got[key], want)
		}
	}
	families := strings.Fields(got["RestrictAddressFamilies"])
	for _, f := range []string{"AF_UNIX", "AF_INET", "AF_INET6"} { // systemd-run; nodes and browsers
		if !slices.Contains(families, f) {
			t.Errorf("runs need %s", f)
		}
	}
	if got["KillMode"] != "" { // of the control group, in which runs are not
		t.Error(got["KillMode"])
	}
	for _, page := range []string{"server.md", "zh/server.md"} {
		text, err := os.ReadFile(filepath.Join("../../docs", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"systemctl enable --now eggo-server", "/etc/default/eggo-server",
			"EGGO_SERVER_OPTIONS", "/var/lib/eggo-server/" + setupToken, "`" + dataDir + "`"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s does not say %s", page, want)
			}
		}
	}
}

// systemd understands every line of the unit.
func TestSystemdUnderstandsTheUnit(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("there is no systemd-analyze")
	}
	text, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(t.TempDir(), unitFile)
	here := strings.ReplaceAll(string(text), "/usr/bin/eggo-server", "/bin/true")
	if err := os.WriteFile(at, []byte(here), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", "--generators=no", at).CombinedOutput()
	if err != nil || strings.Contains(string(out), unitFile) {
		t.Errorf("%v\n%s", err, out)
	}
}

// systemd hears when requests are answered, and a run does not inherit the socket.
func TestReadinessIsSaid(t *testing.T) {
	for _, name := range []string{filepath.Join(t.TempDir(), "n"), "@eggo-test-" + filepath.Base(t.TempDir())} {
		at := &net.UnixAddr{Name: name, Net: "unixgram"}
		l, err := net.ListenUnixgram("unixgram", at)
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("NOTIFY_SOCKET", name)
		ready := notifier()
		if os.Getenv("NOTIFY_SOCKET") != "" {
			t.Error("it is inherited")
		}
		ready("127.0.0.1:7443")
		text := make([]byte, 64)
		if n, err := l.Read(text); err != nil || string(text[:n]) != "READY=1" {
			t.Errorf("%q %v", text[:n], err)
		}
		l.Close()
	}
	notify("")
	notify("/nowhere/at/all")
}
