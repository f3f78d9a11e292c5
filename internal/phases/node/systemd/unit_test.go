package systemd

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

func TestAUnitAsItIsWritten(t *testing.T) {
	u := Unit{Description: "a thing", After: []string{"network-online.target", "etcd.service"},
		Wants: []string{"containerd.service"}, Type: "notify", Program: "/usr/local/bin/thing",
		Flags: map[string]string{"name": "m1", "a-list": "a=1,b=2", "message": `50% of $HOME is "quoted" \ here`}}
	want := `# Written by Eggo; removed by eggo-tui cleanup.
[Unit]
Description=a thing
After=network-online.target etcd.service
Wants=containerd.service
StartLimitIntervalSec=0

[Service]
Type=notify
TimeoutStartSec=120
ExecStart=/usr/local/bin/thing \
  --a-list=a=1,b=2 \
  "--message=50%% of $$HOME is \"quoted\" \\ here" \
  --name=m1
Restart=always
RestartSec=2
LimitNOFILE=65536

[Install]
WantedBy=multi-user.target
`
	if diff := cmp.Diff(want, string(u.Render())); diff != "" {
		t.Error(diff)
	}
}

// A program that is not root has its files from root.
func TestAUnitOfAnAccountOfItsOwn(t *testing.T) {
	u := Unit{Description: "a store", Program: "/usr/local/bin/store", Environment: []string{"/etc/store.conf"},
		User: "store", Credentials: map[string]string{"b.key": "/etc/pki/b.key", "a.crt": "/etc/pki/a.crt"},
		Before: []string{"chown -Rh store:store /var/lib/store/100%"}}
	want := `[Service]
User=store
Group=store
UMask=0077
NoNewPrivileges=yes
LoadCredential=a.crt:/etc/pki/a.crt
LoadCredential=b.key:/etc/pki/b.key
EnvironmentFile=/etc/store.conf
ExecStartPre=+chown -Rh store:store /var/lib/store/100%%
ExecStart=/usr/local/bin/store
`
	if got := string(u.Render()); !strings.Contains(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestAWordOfExecStart(t *testing.T) {
	for in, want := range map[string]string{
		"--a=b": "--a=b", "100%": "100%%", "$HOME": "$$HOME", "${X}": "$${X}", "a b": `"a b"`, "a\tb": `"a\x09b"`,
		`a"b`: `"a\"b"`, "a'b": `"a'b"`, `a\b`: `"a\\b"`, "a;b": `"a;b"`, "": `""`,
		"a\nExecStartPre=/bin/evil": `"a\x0aExecStartPre=/bin/evil"`, "a\x1b[2J": `"a\x1b[2J"`, "a\r": `"a\x0d"`,
		"a\x00": `"a\x00"`, ";": `";"`, "名": "名",
	} {
		if got := ExecWord(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// odd are names that mean something to systemd, a shell or a terminal.
var odd = []string{
	"a b", "a%hb", "100%", "$HOME", "${X}", "$(reboot)", "`reboot`", `a"b`, "a'b", `a\b`, `a\`, "a;b", ";",
	"a\nExecStartPre=/bin/evil", "a\r", "a\tb", "a\x1b[2J",
	"-a", "@a", "!a", "+a", ":a", "|a", "#a", "名", "a\\\nb", "  ", "",
}

func TestUnitsSayWhatWasMeant(t *testing.T) {
	for _, s := range odd {
		program := "/usr/local/bin/" + s
		u := Unit{Description: s, Environment: []string{"/etc/" + s}, Program: program,
			Flags: map[string]string{"a": s, "b": "c"}}
		text := string(u.Render())
		if got := nodestest.ExecStart(t, text); !slices.Equal(got, []string{program, "--a=" + s, "--b=c"}) {
			t.Errorf("%q: %q", s, got)
		}
		if n := strings.Count(text, "\n"); n != strings.Count(string(Unit{Environment: []string{"x"},
			Flags: map[string]string{"a": "", "b": ""}}.Render()), "\n") {
			t.Errorf("%q: another number of lines:\n%s", s, text)
		}
	}
}
