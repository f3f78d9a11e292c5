package server

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	deploy "github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/backup"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/runs"
	"github.com/eggo-k8s/eggo/internal/testkit/managertest"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// kept is a site with a cluster that has a backup, and the key of the backup.
func kept(t *testing.T) (s *site, identity string) {
	t.Helper()
	return keptIn(t, &managertest.Memory{})
}

// keptIn is kept, with its record in a store.
func keptIn(t *testing.T, store *managertest.Memory, change ...func(*Options)) (s *site, identity string) {
	t.Helper()
	s = beginOn(t, store, change...)
	s.running()
	s.installed()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	dir, snapshot := filepath.Join(s.root, "one"), filepath.Join(t.TempDir(), "etcd.db")
	ca, err := os.ReadFile(filepath.Join(dir, "pki", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := phasestest.WriteSnapshot(snapshot, ca); err != nil {
		t.Fatal(err)
	}
	members, err := backup.Sources(dir, snapshot)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := backup.RecipientsLock([]string{id.Recipient().String()})
	if err != nil {
		t.Fatal(err)
	}
	if err := backup.Write(t.Context(), filepath.Join(dir, "backups", backupName), backup.Manifest{Cluster: "one",
		At: time.Now(), Revision: phasestest.Revision}, members, lock, func(int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	return s, id.String()
}

const ontoNew = `"nodes":[{"name":"m1","address":"192.0.2.71","roles":["controlplane","etcd"]},
	{"name":"w9","address":"192.0.2.72","roles":["worker"]}]`

func (s *site) onto(body string) answer {
	s.t.Helper()
	return s.call("ann", "POST", "/api/v1/clusters/one/backups/"+backupName+"/restore", body)
}

// there says whether the cluster's directory has a file.
func (s *site) there(name string) bool {
	_, err := os.Stat(filepath.Join(s.root, "one", name))
	return err == nil
}

// A cluster whose machines are lost is deployed to new ones, beginning with the data of the backup. Preflight refuses
// them at first: the cluster is not what it was before, since its own deploy.yaml is set aside, and it is continued.
func TestARestoreOntoNewMachines(t *testing.T) {
	s, identity := kept(t)
	key, _ := json.Marshal(identity)
	before := s.world.Newest("one")
	a := s.want(s.onto(`{"identity":`+string(key)+`,"known_hosts":"192.0.2.71 `+someHostKey+`",`+ontoNew+`}`), 202, "")
	if a.body["state"] != "Updating" || !strings.Contains(a.text, "192.0.2.71") ||
		strings.Contains(a.text, `192.0.2.1"`) || strings.Contains(a.text, identity) {
		t.Error(a.text)
	}
	if s.there("deploy.yaml") || !s.there("seed.json") || !s.there("pki/ca.key") {
		t.Error("the cluster's directory is not ready for a deploy to new machines")
	}
	s.reach("Updating", func() bool { return s.world.Newest("one") != before })
	v, err := s.m.Cluster("one")
	if err != nil {
		t.Fatal(err)
	}
	deploy := wanted(v.Record).Deploy
	for text, has := range map[string]bool{"192.0.2.71": true, "w9": true, "192.0.2.1,": false, "cluster-id: one": true,
		"private-key-path: /k": true, "known_hosts-": true, "/srv/bundle.tar.gz": true} {
		if strings.Contains(deploy, text) != has {
			t.Errorf("%s: want %v in\n%s", text, has, deploy)
		}
	}
	if text, err := os.ReadFile(filepath.Join(s.data, "clusters", "one", "deploy.yaml")); string(text) != deploy {
		t.Error(err)
	}
	s.world.Newest("one").Refuse(&event.Fault{Class: event.ClassPreflight, Code: "preflight.failed"})
	s.reach("Unavailable", nil)
	if v, err = s.m.Cluster("one"); err != nil || v.Continued() != manager.Restore {
		t.Errorf("%v %q", err, v.Continued())
	}
	// The same request continues with the same data; so does continue.
	s.want(s.onto(`{"identity":`+string(key)+`,`+ontoNew+`}`), 202, "")
	s.reach("Updating", func() bool { v, _ := s.m.Cluster("one"); return v.Operation.Run() != "" })
	s.world.Newest("one").Finish(&event.Fault{Class: event.ClassFailed, Code: "run.failed"})
	s.reach("Unavailable", nil)
	s.want(s.call("otto", "POST", "/api/v1/clusters/one/continue", ""), 403, "access.denied")
	s.want(s.call("ann", "POST", "/api/v1/clusters/one/continue", ""), 202, "")
	s.reach("Updating", func() bool { v, _ := s.m.Cluster("one"); return v.Operation.Run() != "" })
	if v, err = s.m.Cluster("one"); err != nil || !strings.Contains(string(v.Operation.Request), `"seeded":true`) {
		t.Errorf("%v %s", err, v.Operation.Request)
	}
	s.world.Newest("one").Finish(nil)
	s.reach("Running", nil)
}

// The load balancer of a cluster is kept, or replaced by that of the request.
func TestARestoreOntoNewMachinesBehindALoadBalancer(t *testing.T) {
	for more, want := range map[string]string{"": "192.0.2.5", `,"no_load_balancer":true`: "",
		`,"load_balancer":{"name":"lb","address":"192.0.2.75"}`: "192.0.2.75"} {
		s, identity := kept(t)
		own := filepath.Join(s.root, "one", "deploy.yaml")
		text, err := os.ReadFile(own)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, "loadbalance: {name: lb, ip: 192.0.2.5, port: 22, bind-port: 8443}\n"...)
		if err := os.WriteFile(own, text, 0o600); err != nil {
			t.Fatal(err)
		}
		a := s.want(s.onto(`{"identity":"`+identity+`",`+ontoNew+more+`}`), 202, "")
		lb, _ := a.body["load_balancer"].(map[string]any)
		v, err := s.m.Cluster("one")
		if err == nil && want == "" {
			if w := wanted(v.Record); lb != nil || w.LoadBalancer != nil || strings.Contains(w.Deploy, "name: lb") {
				t.Errorf("%s\n%s", a.text, w.Deploy)
			}
			continue
		}
		if err != nil || lb["address"] != want || !strings.Contains(wanted(v.Record).Deploy, "name: lb\n  ip: "+want) {
			t.Errorf("%v %s\n%s", err, a.text, wanted(v.Record).Deploy)
		}
	}
}

// The machines of an imported cluster are replaced by machines that are installed.
func TestARestoreOntoNewMachinesOfAnImportedCluster(t *testing.T) {
	s, identity := kept(t)
	own := filepath.Join(s.root, "one", "deploy.yaml")
	text, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, append(text, "eggo: {imported: true}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	s.want(s.onto(`{"identity":"`+identity+`",`+ontoNew+`}`), 202, "")
	v, err := s.m.Cluster("one")
	if err != nil {
		t.Fatal(err)
	}
	deploy := wanted(v.Record).Deploy
	if strings.Contains(deploy, "imported") || !strings.Contains(deploy, "192.0.2.71") {
		t.Error(deploy)
	}
}

// What the command line refuses is refused here, and nothing is set aside.
func TestRestoresOntoNewMachinesThatAreRefused(t *testing.T) {
	s, identity := kept(t)
	key, _ := json.Marshal(identity)
	with := `{"identity":` + string(key) + `,`
	own := filepath.Join(s.root, "one", "deploy.yaml")
	text, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, deploy, body, code, find string }{
		{"the key of another backup", "", `{"identity":"` + other.String() + `",` + ontoNew + `}`, "backup.wrong-key", ""},
		{"no control plane", "", with + `"nodes":[{"name":"w","address":"192.0.2.9","roles":["worker"]}]}`,
			"api.invalid", "profile.too-few"},
		{"a wrong name", "", with + strings.Replace(ontoNew, `"w9"`, `"W 9"`, 1) + `}`, "api.invalid", "config.name"},
		{"a bundle of another kind", "", with + ontoNew + `,"bundles":{"mips":"/x"}}`, "api.invalid", "profile.arch"},
		{"other networks", "network: {podcidr: 10.7.0.0/16}\n", with + ontoNew + `}`, "backup.network", ""},
		{"a password in the file", "password: hunter2\n", with + ontoNew + `}`, "profile.not-kept", ""},
		{"a load balancer with a name of a node", "",
			with + ontoNew + `,"load_balancer":{"name":"w9","address":"192.0.2.75"}}`, "api.invalid",
			"profile.same-name"},
		{"a load balancer and none", "",
			with + ontoNew + `,"no_load_balancer":true,"load_balancer":{"name":"lb","address":"192.0.2.75"}}`,
			"api.invalid", "profile.balancer-both"},
		{"the load balancer on a machine that is lost",
			"loadbalance: {name: m1, ip: 192.0.2.1, port: 22, bind-port: 8443}\n", with + ontoNew + `}`, "api.invalid",
			"body.load_balancer"},
	} {
		if err := os.WriteFile(own, append(text, c.deploy...), 0o600); err != nil {
			t.Fatal(err)
		}
		a := s.onto(c.body)
		if a.body["code"] != c.code || a.status != 422 || !strings.Contains(a.text, c.find) ||
			strings.Contains(a.text, "hunter2") {
			t.Errorf("%s: %d %s, want %s %s", c.what, a.status, a.text, c.code, c.find)
		}
		if v, err := s.m.Cluster("one"); err != nil || v.State != "Running" || !s.there("deploy.yaml") ||
			s.there("seed.json") {
			t.Errorf("%s: %v %v", c.what, v.State, err)
		}
	}
	s.want(s.call("otto", "POST", "/api/v1/clusters/one/backups/"+backupName+"/restore", with+ontoNew+`}`), 403,
		"access.denied")
	if err := errors.Join(os.WriteFile(own, text, 0o600),
		os.WriteFile(filepath.Join(s.root, "one", "pki", "ca.crt"), []byte("another"), 0o600)); err != nil {
		t.Fatal(err)
	}
	s.want(s.onto(with+ontoNew+`}`), 422, "backup.other-cluster")
}

// A restore that is refused when its data are in place already, for a typo, or because it cannot be written down,
// leaves the cluster as it was: with its own deploy.yaml, and with nothing that a deploy would begin with.
func TestARestoreOntoNewMachinesThatDoesNotBegin(t *testing.T) {
	store := &managertest.Memory{}
	s, identity := keptIn(t, store)
	with := `{"identity":"` + identity + `",` + ontoNew
	own := filepath.Join(s.root, "one", "deploy.yaml")
	text, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	known := filepath.Join(s.root, "one", "known_hosts")
	if err := os.WriteFile(known, []byte("192.0.2.1 ssh-ed25519 AAAA\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, try := range map[string]func(){
		"a typo": func() { s.want(s.onto(with+`,"on_failure":"pray"}`), 422, "usage.on-failure") },
		"a store that is full": func() {
			store.Fill()
			if a := s.onto(with + "}"); a.status < 500 {
				t.Errorf("%d %s", a.status, a.text)
			}
			store.Repair()
		},
	} {
		try()
		now, err := os.ReadFile(own)
		v, err2 := s.m.Cluster("one")
		if err != nil || err2 != nil || string(now) != string(text) || s.there("seed.json") ||
			!s.there("known_hosts") || v.State != "Running" || v.Operation != nil {
			t.Errorf("%s: %v %v %v\n%s", what, v.State, err, err2, now)
		}
		if aside, _ := filepath.Glob(filepath.Join(s.root, "one", "replaced-*")); len(aside) > 0 {
			t.Errorf("%s: %v is left", what, aside)
		}
	}
	s.want(s.onto(with+"}"), 202, "")
	if s.there("deploy.yaml") || !s.there("seed.json") {
		t.Error("a restore that begins has not set the cluster aside")
	}
}

// What the store reports as failed may be written all the same. While nobody knows, what was set aside stays so: a
// restore that is found later is continued with the data of the backup, and not without them.
func TestARestoreOntoNewMachinesThatMayHaveBegun(t *testing.T) {
	store := &managertest.Memory{}
	s, identity := keptIn(t, store)
	body := `{"identity":"` + identity + `",` + ontoNew + `}`
	store.Tear()
	if a := s.onto(body); a.status < 500 {
		t.Errorf("%d %s", a.status, a.text)
	}
	if s.there("deploy.yaml") || !s.there("seed.json") {
		t.Error("it was undone though it may have been written down")
	}
	store.Repair()
	s.want(s.onto(body), 412, "manager.revision") // it was: the cluster is what its record says
	if v, err := s.m.Cluster("one"); err != nil || v.Continued() != manager.Restore || !s.there("seed.json") {
		t.Errorf("%v %q", err, v.Continued())
	}
	s.want(s.call("ann", "POST", "/api/v1/clusters/one/continue", ""), 202, "")
	s.reach("Updating", func() bool { v, _ := s.m.Cluster("one"); return v.Operation.Run() != "" })
	s.world.Newest("one").Finish(nil)
	s.reach("Running", nil)
}

// The server was killed when it had set the deploy.yaml of the cluster aside, and before it had written down that it
// restores the cluster: the same request, sent again, restores it. So it is with a cluster that the command line made,
// of which the record has nothing.
func TestARestoreOntoNewMachinesAfterTheServerWasKilled(t *testing.T) {
	killed := &Server{opens: make(chan struct{}, 1)}
	s, identity := keptIn(t, &managertest.Memory{}, func(o *Options) { killed.Options = *o })
	s.want(s.call("ann", "DELETE", "/api/v1/clusters/one?machines=keep", ""), 200, "")
	s.want(s.call("ann", "POST", "/api/v1/clusters:import", `{"name":"one"}`), 202, "")
	s.reach("Running", nil)
	in := &restoreBackupInput{BackupPath: BackupPath{InCluster: InCluster{"one"}, Backup: backupName}}
	body := `{"identity":"` + identity + `",` + ontoNew + `}`
	if err := json.Unmarshal([]byte(body), &in.Body); err != nil {
		t.Fatal(err)
	}
	if err := killed.moved(t.Context(), in, &runs.Wanted{}); err != nil {
		t.Fatal(err)
	}
	file, err := killed.backupNamed(t.Context(), in.BackupPath)
	if err == nil {
		err = killed.opening(t.Context(), in.Body.BackupKey, func(k request.BackupKey, d operation.Deps) error {
			r, err := operation.OpenRestore(t.Context(), request.BackupRestore{Common: request.OfFile(
				killed.Runs.File("one")), File: file, Key: k}, d, func(int64, int64) {})
			if err == nil {
				_, err = r.Place(t.Context())
				r.Close()
			}
			return err
		})
	}
	if err != nil || s.there("deploy.yaml") {
		t.Fatal(err)
	}
	a := s.want(s.onto(body), 202, "")
	if a.body["state"] != "Updating" || !strings.Contains(a.text, "192.0.2.71") || !s.there("seed.json") {
		t.Error(a.text)
	}
}

// unsigned has bundles that no known signer signed.
type unsigned struct {
	operation.Bundles
	operation.BundleSession
}

// Session implements operation.Bundles.
func (u unsigned) Session(use operation.BundleUse) operation.BundleSession {
	if !use.SignedOnly {
		panic("the programs of an unsigned bundle would be executed")
	}
	return u
}

// Stage implements operation.BundleSession.
func (unsigned) Stage(context.Context, deploy.BundleSource) (phases.Bundle, error) {
	return nil, event.NewFault(event.ClassBundle, "trust.unsigned", nil, "file", "/srv/bundle.tar.gz")
}

// Release implements operation.BundleSession.
func (unsigned) Release() {}

// What a request asks for executes nothing of a bundle that no known signer signed, and the answer says so.
func TestAVerificationTakesSignedBundles(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no etcd of this machine
	s, identity := keptIn(t, &managertest.Memory{}, func(o *Options) {
		deps := o.Deps
		o.Deps = func() operation.Deps {
			d := deps()
			d.Bundles = unsigned{}
			return d
		}
	})
	path := "/api/v1/clusters/one/backups/" + backupName + "/verify"
	a := s.want(s.call("otto", "POST", path, `{"identity":"`+identity+`"}`), 200, "")
	if why, _ := a.body["why"].(map[string]any); a.body["etcd"] != false || why["code"] != "backup.no-signed-etcd" {
		t.Error(a.text)
	}
}

// Bundles of this host, for new machines and for a verification, are named by administrators of all clusters.
func TestWhoNamesABundle(t *testing.T) {
	s, identity := kept(t)
	s.rights.roles["carl"], s.rights.only["carl"] = access.Admin, "one"
	backup := "/api/v1/clusters/one/backups/" + backupName
	onto := `{"identity":"` + identity + `",` + ontoNew + `,"bundles":{"amd64":"/srv/bundle.tar.gz"}}`
	s.want(s.call("carl", "POST", backup+"/restore", onto), 403, "access.bundle")
	verify := func(bundle string) string { return `{"identity":"` + identity + `","bundle":"` + bundle + `"}` }
	for _, who := range []string{"otto", "carl"} {
		s.want(s.call(who, "POST", backup+"/verify", verify("/srv/bundle.tar.gz")), 403, "access.denied")
	}
	s.want(s.call("ann", "POST", backup+"/verify", verify("bundle.tar.gz")), 422, "usage.bundle")
	a := s.want(s.call("otto", "POST", backup+"/verify", `{"identity":"`+identity+`"}`), 200, "")
	if why, _ := a.body["why"].(map[string]any); a.body["etcd"] != false || why["code"] == nil {
		t.Error(a.text)
	}
}
