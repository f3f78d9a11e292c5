package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// sendFile writes a file of this machine to a node.
func sendFile(t *testing.T, s *stand.Stand, node, file, to, mode string) {
	t.Helper()
	f, err := os.Open(file)
	must(t, file, err)
	defer f.Close()
	c := s.Lab.SSH(t.Context(), node, "umask 077; cat >"+to+" && chmod "+mode+" "+to)
	c.Stdin = f
	out, err := c.CombinedOutput()
	must(t, to+": "+string(out), err)
}

// TestServerUnit: the server is a unit of systemd on a machine of its own, with the sandbox of the shipped unit.
// When its start has ended, the setup token is there. The bundle is in /tmp. The unit is restarted, killed, and gets a
// new program while a cluster is created: the run is a scope of its own and goes on; it is stopped and started while
// the cluster runs.
func TestServerUnit(t *testing.T) {
	full(t)
	s := newLab(t, 3)
	before := untouched(t, s, 3)
	ctx := t.Context()
	on := func(line string) string {
		t.Helper()
		out, err := s.Lab.Run(ctx, "n1", line)
		must(t, line, err)
		return strings.TrimSpace(out)
	}
	host := address(t, s, "n1")
	const bundle = "/tmp/bundle.tar.gz"
	sendFile(t, s, "n1", s.Program("eggo-server"), "/usr/bin/eggo-server", "755")
	sendFile(t, s, "n1", filepath.Join(s.Root, "cmd", "eggo-server", "eggo-server.service"),
		"/etc/systemd/system/eggo-server.service", "644")
	sendFile(t, s, "n1", s.Bundle, bundle, "600")

	s.Say("== from nothing to the page")
	on("echo 'EGGO_SERVER_OPTIONS=--listen 0.0.0.0:7443 --name " + host + "' >/etc/default/eggo-server")
	setup := on("systemctl daemon-reload && systemctl enable --now eggo-server && " +
		"cat /var/lib/eggo-server/setup-token")
	v := &server{Stand: s, t: t, address: net.JoinHostPort(host, "7443")}
	ca := func(context.Context) ([]byte, error) { return []byte(on("cat /var/lib/eggo-server/tls/ca.crt")), nil }
	v.answers(ca)
	v.setUp(setup)
	if got := on("systemctl show -P SubState -P NRestarts eggo-server"); got != "running\n0" && got != "0\nrunning" {
		t.Errorf("the unit is %q", got)
	}

	s.Say("== restarted while a cluster is created")
	v.create("unit", []any{v.node("n2", "controlplane", "etcd"), v.node("n3", "worker")},
		map[string]any{"server_address": host, "bundles": map[string]any{runtime.GOARCH: bundle}})
	const scopes = "systemctl list-units --type=scope --plain --no-legend | grep Eggo || true"
	must(t, "a change", stand.Until(ctx, 5*time.Minute, "a node is changed", func(ctx context.Context) error {
		_, err := s.Lab.Run(ctx, "n2", "test -e /var/lib/eggo-node && test -e /usr/local/bin/etcd")
		return err
	}))
	run := on(scopes)
	if strings.Count(run, "\n") != 0 || !strings.Contains(run, "running") {
		t.Fatalf("the run is no scope: %q", run)
	}
	for what, line := range map[string]string{
		"a restart": "systemctl restart eggo-server",
		"SIGKILL":   "systemctl kill -s KILL eggo-server && sleep 1 && systemctl start eggo-server",
		"an upgrade of the program": "cp /usr/bin/eggo-server /usr/bin/new && " +
			"mv /usr/bin/new /usr/bin/eggo-server && " +
			"systemctl restart eggo-server",
	} {
		s.Say("-- %s", what)
		on(line)
		v.answers(ca)
		if is := v.cluster("unit"); is.State != "Creating" {
			t.Errorf("%+v after %s", is, what)
		}
		if now := on(scopes); now != run {
			t.Errorf("after %s the run is %q, and was %q", what, now, run)
		}
	}
	v.awaits("unit", "Running", 15*time.Minute)
	runs := on("ls /var/lib/eggo/unit/runs")
	if strings.Contains(runs, "\n") {
		t.Errorf("there was more than one run: %q", runs)
	}
	s.Admin = "n2"
	must(t, "nodes", stand.Until(ctx, time.Minute, "two nodes are Ready", func(ctx context.Context) error {
		out, err := s.Kubectl(ctx, "get", "nodes", "--no-headers")
		if err == nil && strings.Count(out, " Ready ") != 2 {
			err = fmt.Errorf("%s", out)
		}
		return err
	}))

	s.Say("== stopped, started, and the cluster deleted")
	on("systemctl stop eggo-server && systemctl start eggo-server")
	v.answers(ca)
	v.awaits("unit", "Running", 2*time.Minute)
	v.call("DELETE", "/clusters/unit?purge=true", nil, http.StatusAccepted, nil)
	v.gone()
	if left := on(scopes + "; journalctl -q -p err -u eggo-server --no-pager | tail -5"); left != "" {
		t.Errorf("left: %s", left)
	}
	same(t, before[1:], func() []lab.Snapshot { return snapshots(t, s, 3)[1:] })
}
