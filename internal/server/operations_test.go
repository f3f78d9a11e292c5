package server

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/manager"
)

// fails has an operation of a cluster fail after it has changed something.
func (s *site) fails(k manager.Kind) {
	s.t.Helper()
	newest := s.world.Newest("one")
	if _, err := s.m.Begin(s.t.Context(), "one", k, manager.Request{}); err != nil {
		s.t.Fatal(err)
	}
	s.reach(map[bool]string{true: "Destroy", false: "Updating"}[k == manager.Delete], func() bool {
		return s.world.Newest("one") != newest
	})
	s.world.Newest("one").Finish(&event.Fault{Class: event.ClassFailed, Code: "run.failed"})
	s.reach("Unavailable", nil)
}

// What only an administrator may begin, only an administrator continues; what succeeded is not repeated.
func TestContinue(t *testing.T) {
	s := begin(t)
	s.running()
	for _, k := range []manager.Kind{manager.Restore, manager.Delete} {
		s.fails(k)
		a := s.want(s.call("vera", "GET", "/api/v1/clusters/one", ""), 200, "")
		if a.body["continues"] != string(k) {
			t.Error(a.text)
		}
		s.want(s.call("otto", "POST", "/api/v1/clusters/one/continue", ""), 403, "access.denied")
		s.want(s.call("otto", "POST", "/api/v1/clusters/one/continue", `{"on_failure":"ask"}`), 403, "access.denied")
	}
	newest := s.world.Newest("one")
	s.want(s.call("ann", "POST", "/api/v1/clusters/one/continue", ""), 202, "")
	s.reach("Destroy", func() bool { return s.world.Newest("one") != newest })
	s.world.Newest("one").Finish(&event.Fault{Class: event.ClassFailed, Code: "run.failed"})
	s.reach("Unavailable", nil)
	s.fails(manager.Renew)
	s.want(s.call("otto", "POST", "/api/v1/clusters/one/continue", `{"on_failure":"pray"}`), 422, "usage.on-failure")
	s.want(s.call("otto", "POST", "/api/v1/clusters/one/continue", ""), 202, "")
}

// A request that no run would take is refused before anything begins.
func TestTyposBeginNothing(t *testing.T) {
	s := begin(t)
	s.running()
	newest := s.world.Newest("one")
	for _, c := range []struct{ path, body, code string }{
		{"renew", `{"on_failure":"pray"}`, "usage.on-failure"},
		{"upgrade", `{"batch":"many"}`, "usage.batch"}, {"upgrade", `{"window":"night"}`, "usage.window"},
		{"upgrade", `{"soak":"9000h"}`, "usage.soak"}, {"upgrade", `{"back":true,"batch":"0"}`, "usage.batch"},
		{"upgrade", `{"back":true,"batch":"1","on_failure":"x"}`, "usage.on-failure"},
	} {
		s.want(s.call("ann", "POST", "/api/v1/clusters/one/"+c.path, c.body), 422, c.code)
	}
	s.want(s.call("ann", "POST", "/api/v1/clusters", `{"options":{"on_failure":"x"},`+oneCluster[1:]), 422,
		"usage.on-failure")
	if v, _ := s.m.Cluster("one"); v.State != "Running" || s.world.Newest("one") != newest {
		t.Errorf("%+v", v)
	}
}

// What goes beyond the work of an operator needs an administrator.
func TestWhatOperatorsMayNot(t *testing.T) {
	s := begin(t)
	s.running()
	here := filepath.Join(s.bundles, "a.tar.gz")
	for _, c := range []struct{ path, body string }{
		{"renew", `{"allow_unsigned":true}`}, {"upgrade", `{"bundles":["/srv/a.tar.gz"]}`},
		{"upgrade", `{"bundles":["` + s.bundles + `/../a.tar.gz"]}`}, {"backups", `{"passphrase":"x","keep":1}`},
		{"continue", `{"allow_unsigned":true}`}, {"renew", `{"host_keys":"accept-new"}`},
		{"continue", `{"host_keys":"accept-new"}`}, {"renew", `{"take_over":7}`}, {"continue", `{"take_over":7}`},
	} {
		s.want(s.call("otto", "POST", "/api/v1/clusters/one/"+c.path, c.body), 403, "access.denied")
	}
	newest := s.world.Newest("one")
	s.want(s.call("otto", "POST", "/api/v1/clusters/one/backups", `{"passphrase":"x","keep":14}`), 202, "")
	s.reach("Running", func() bool { return s.world.Newest("one") != newest })
	s.world.Newest("one").Finish(nil)
	s.reach("Running", func() bool { v, _ := s.m.Cluster("one"); return v.Operation == nil })
	s.want(s.call("otto", "POST", "/api/v1/clusters/one/upgrade", `{"bundles":["`+here+`"]}`), 202, "")
}

// A bundle outside of the server's directory needs an administrator of all clusters. One of a single cluster gets the
// same answer for each path, whether there is a file or not, and whatever is in it.
func TestPathsOfBundlesSayNothing(t *testing.T) {
	s := begin(t)
	s.running()
	s.rights.roles["carl"], s.rights.only["carl"] = access.Admin, "one"
	said := map[string]bool{}
	for _, path := range []string{"/etc/shadow", "/etc/hostname", "/nothing/there", "/etc", "/dev/zero", "/",
		s.bundles + "/../x.tar.gz", s.bundles + "/below/x.tar.gz"} {
		a := s.want(s.call("carl", "POST", "/api/v1/clusters/one/upgrade", `{"bundles":["`+path+`"]}`), 403,
			"access.bundle")
		said[a.text] = true
	}
	if len(said) != 1 {
		t.Errorf("%v", said)
	}
	s.want(s.call("carl", "POST", "/api/v1/clusters/one/upgrade", `{"allow_unsigned":true,"bundles":["`+s.bundles+
		`/x.tar.gz"]}`), 202, "")
}

// Everything that is asked for is written down with what it is about, also what is refused.
func TestTheAuditSaysWhatItWasAbout(t *testing.T) {
	s := begin(t)
	s.running()
	s.want(s.call("ann", "POST", "/api/v1/clusters/one/restore", `{"snapshot":"s.db"}`), 404, "api.no-snapshot")
	s.want(s.call("vera", "POST", "/api/v1/clusters/one/renew", ""), 403, "access.denied")
	s.want(s.call("vera", "GET", "/api/v1/clusters/one/kubeconfig", ""), 403, "access.denied")
	s.want(s.call("otto", "POST", "/api/v1/clusters/one/runs/r1/decisions", `{"step":"s1","decision":"skip"}`), 404,
		"usage.no-run")
	s.fails(manager.Renew)
	s.want(s.call("otto", "POST", "/api/v1/clusters/one/continue", ""), 202, "")
	s.want(s.call("ann", "DELETE", "/api/v1/clusters/one?machines=keep", ""), 409, "manager.busy")
	s.rights.mu.Lock()
	defer s.rights.mu.Unlock()
	var got []string
	for _, e := range s.rights.entries {
		got = append(got, strings.Join([]string{e.Caller.Name, e.Action, e.Cluster, e.Target}, " "))
	}
	for _, want := range []string{"ann create-cluster one ", "ann restore-snapshot one s.db",
		"vera renew-certificates one ", "vera get-admin-kubeconfig one ", "otto decide one skip s1 in r1",
		"otto continue-cluster one renew",
		"ann delete-cluster one machines=keep"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

// Secrets of registries are in files that only root can read, and in no record.
func TestSecretsOfRegistries(t *testing.T) {
	s := begin(t)
	s.want(s.call("ann", "POST", "/api/v1/clusters",
		`{"registries":[{"host":"r.example:5000","username":"eggo","password":"swordfish"}],`+oneCluster[1:]), 202, "")
	file := filepath.Join(s.data, "clusters", "one", "registry-1-password")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	v, err := s.m.Cluster("one")
	if err != nil || strings.Contains(string(v.Wanted), "swordfish") || !strings.Contains(string(v.Wanted), file) {
		t.Errorf("%s %v", v.Wanted, err)
	}
	a := s.want(s.call("ann", "POST", "/api/v1/clusters", strings.Replace(`{"settings":{"eggo.registries":
		"{r: {username: a, password: swordfish}}","eggo.password-from":"file:/etc/shadow"},`+oneCluster[1:], `"one"`,
		`"two"`, 1)), 422, "api.invalid")
	if strings.Contains(a.text, "swordfish") {
		t.Error(a.text)
	}
}

// A cluster that was handed over is shown, and can be forgotten; all else is refused with where it is.
func TestAClusterThatWasHandedOver(t *testing.T) {
	s := begin(t)
	s.running()
	got := s.want(s.call("ann", "GET", "/api/v1/clusters/one", ""), 200, "")
	dir := filepath.Join(s.root, "one")
	mark := `{"place":"clusters @ https://192.0.2.9:6443","owner":"b","by":"me","at":"2026-11-30T08:00:00Z"}`
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "moved.json"), []byte(mark), 0o600); err != nil {
		t.Fatal(err)
	}
	newest := s.world.Newest("one")
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/renew", ""}, {"POST", "/snapshots", ""}, {"POST", "/upgrade", `{"bundles":["/srv/a.tar.gz"]}`},
		{"POST", "/continue", ""}, {"POST", "/backups", `{"passphrase":"x"}`}, {"DELETE", "", ""},
		{"PUT", "", got.text}, {"GET", "/kubeconfig", ""}, {"POST", "/kubeconfig", "{}"},
		{"POST", "/restore", `{"snapshot":"s.db"}`},
	} {
		a := s.call("ann", c.method, "/api/v1/clusters/one"+c.path, c.body)
		if s.want(a, 409, "state.moved"); !strings.Contains(a.text, "clusters @ https://192.0.2.9:6443") {
			t.Error(c.path, a.text)
		}
	}
	s.want(s.call("vera", "GET", "/api/v1/clusters/one", ""), 200, "")
	if s.world.Newest("one") != newest {
		t.Error("a run has begun")
	}
	s.want(s.call("ann", "DELETE", "/api/v1/clusters/one?machines=keep", ""), 200, "")
}
