package server

import (
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/phases/pki"
)

const backupName = "one_20260102T030405Z_v1.34.2.tar.zst.age"

// installed gives the state directory what a run of the cluster would have left.
func (s *site) installed() {
	s.t.Helper()
	install(s.t, s.root)
}

func install(t testing.TB, root string) {
	t.Helper()
	dir := filepath.Join(root, "one")
	deploy := "cluster-id: one\nusername: root\nprivate-key-path: /k\nmasters:\n- {name: m1, ip: 192.0.2.1}\n" +
		"nodes:\n- {name: w1, ip: 192.0.2.2}\npackage-src: {x86src: /srv/bundle.tar.gz}\n"
	err := errors.Join(os.MkdirAll(filepath.Join(dir, "backups"), 0o700),
		os.WriteFile(filepath.Join(dir, "deploy.yaml"), []byte(deploy), 0o600),
		os.WriteFile(filepath.Join(dir, "backups", backupName), []byte("no backup"), 0o600))
	_, _, err2 := pki.Ensure(filepath.Join(dir, "pki"), pki.Spec{Domain: "cluster.local", Endpoint: "192.0.2.1",
		ServiceGateway: netip.MustParseAddr("10.32.0.1")}, time.Now())
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
}

// A backup is taken while the cluster stays Running, listed, proven and restored; no answer and no record has its key.
func TestBackups(t *testing.T) {
	s := begin(t)
	s.running()
	s.installed()
	const all = "/api/v1/clusters/one/backups"
	for _, body := range []string{`{}`, `{"passphrase":"hunter2","recipients":["age1x"]}`} {
		s.want(s.call("otto", "POST", all, body), 422, "backup.no-key")
	}
	// A private key by mistake is not written down, and not repeated.
	a := s.want(s.call("otto", "POST", all, `{"recipients":["AGE-SECRET-KEY-1HUNTER2"]}`), 422, "backup.no-recipient")
	if strings.Contains(a.text, "HUNTER2") {
		t.Error(a.text)
	}
	a = s.want(s.call("otto", "POST", all, `{"passphrase":"hunter2","keep":30}`), 202, "")
	if o, _ := a.body["operation"].(map[string]any); o["kind"] != "backup" || a.body["state"] != "Running" {
		t.Error(a.text)
	}
	s.reach("Running", func() bool { return s.m.Clusters()[0].Operation.Run() != "" })
	if v, _ := s.m.Cluster("one"); strings.Contains(string(v.Operation.Request), "hunter2") ||
		!strings.Contains(string(v.Operation.Request), `"keep":30`) {
		t.Error(string(v.Operation.Request))
	}
	s.world.Newest("one").Finish(nil)
	s.reach("Running", func() bool { return s.m.Clusters()[0].Operation == nil })
	a = s.want(s.call("vera", "GET", all, ""), 200, "")
	if !strings.Contains(a.text, `"name":"`+backupName) || !strings.Contains(a.text, `"kubernetes":"v1.34.2"`) ||
		strings.Contains(a.text, s.root) {
		t.Error(a.text)
	}
	for _, path := range []string{"/verify", "/restore"} {
		key := `{"passphrase":"hunter2"}`
		s.want(s.call("ann", "POST", all+"/other"+path, key), 404, "api.no-backup")
		s.want(s.call("ann", "POST", all+"/..%2Fdeploy.yaml"+path, key), 404, "api.no-backup")
		a := s.call("ann", "POST", all+"/"+backupName+path, key)
		if a.body["code"] != "backup.not-one" || a.status >= 500 || strings.Contains(a.text, "hunter2") {
			t.Errorf("%d %s", a.status, a.text)
		}
		a = s.call("ann", "POST", all+"/"+backupName+path, `{"identity":"AGE-SECRET-KEY-1HUNTER2"}`)
		if a.body["code"] != "backup.identity" || strings.Contains(a.text, "HUNTER2") {
			t.Errorf("%d %s", a.status, a.text)
		}
	}
	if v, _ := s.m.Cluster("one"); v.State != "Running" || v.Operation != nil {
		t.Errorf("%+v", v)
	}
}

// The ends of certificates, offline; and what Prometheus reads, of clusters that the caller may view alone.
func TestExpiryAndMetrics(t *testing.T) {
	s := begin(t)
	s.running()
	s.installed()
	a := s.want(s.call("vera", "GET", "/api/v1/clusters/one/certificates", ""), 200, "")
	end, err := time.Parse(time.RFC3339, a.body["expires"].(string))
	if list, _ := a.body["items"].([]any); err != nil || time.Until(end) < 300*24*time.Hour || len(list) < 8 {
		t.Error(a.text)
	}
	a = s.want(s.call("vera", "GET", "/metrics", ""), 200, "")
	for _, want := range []string{`eggo_cluster_state{cluster="one",state="Running"} 1`, "eggo_clusters 1",
		`eggo_certificate_expiry_timestamp_seconds{cluster="one"}`, `eggo_backups{cluster="one"} 1`,
		`eggo_backup_newest_size_bytes{cluster="one"} 9`, "go_goroutines"} {
		if !strings.Contains(a.text, want) {
			t.Errorf("no %s in\n%s", want, a.text)
		}
	}
	if a := s.want(s.call("one", "GET", "/metrics", ""), 200, ""); strings.Contains(a.text, `"one"`) ||
		strings.Contains(a.text, "go_goroutines") {
		t.Error(a.text)
	}
	s.want(s.call("", "GET", "/metrics", ""), 401, "access.unauthenticated")
	// Nobody can be logged in to, and the answer says so.
	a = s.call("vera", "GET", "/api/v1/clusters/one/status", "")
	if a.status >= 500 && a.body["code"] == nil {
		t.Errorf("%d %s", a.status, a.text)
	}
}

// The example of the manual that creates a cluster, as it stands there. Those before it are run by the tests of
// cmd/eggo-server.
func TestTheExampleOfTheManual(t *testing.T) {
	for _, program := range []string{"curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s; .ci/run installs it", program)
		}
	}
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"demo-key": strings.ReplaceAll(jsonKey, `\n`, "\n"), // as by ssh-keygen
		".ssh/known_hosts": "192.0.2.1 " + someHostKey + "\n"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, page := range []string{"server.md", "zh/server.md"} {
		text, err := os.ReadFile(filepath.Join("../../docs", page))
		if err != nil {
			t.Fatal(err)
		}
		s := begin(t)
		_, rest, _ := strings.Cut(string(text), `api/v1/clusters -d @-`)
		at := strings.LastIndex(string(text[:len(text)-len(rest)]), "\n    jq")
		example, _, _ := strings.Cut(string(text[at+1:]), "\n\n")
		script := strings.NewReplacer("https://localhost:7443", s.url, "curl ", "curl -sSf ").Replace(example)
		cmd := exec.Command("/bin/sh", "-euc", script)
		cmd.Dir, cmd.Env = home, append(os.Environ(), "TOKEN=ann", "HOME="+home)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), `"state":"Creating"`) {
			t.Errorf("%s: %v\n%s\n%s", page, err, script, out)
		}
		if _, err := s.m.Cluster("demo"); err != nil {
			t.Error(page, err)
		}
	}
}
