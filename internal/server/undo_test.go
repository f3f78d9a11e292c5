package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/runs"
	"github.com/eggo-k8s/eggo/internal/testkit/managertest"
)

// snapshotsLeft are the snapshots in the cluster's directory.
func (s *site) snapshotsLeft() []string {
	s.t.Helper()
	list, err := filepath.Glob(filepath.Join(s.root, "one", "snapshots", "*"))
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// A restore of etcd that does not begin leaves neither its decrypted snapshot nor another change: a restore onto new
// machines that has failed is still continued with its data.
func TestARestoreOfABackupThatDoesNotBegin(t *testing.T) {
	store := &managertest.Memory{}
	s, identity := keptIn(t, store)
	body := `{"identity":"` + identity + `"}`
	seed := filepath.Join(s.root, "one", "seed.json")
	const text = `{"sha256":"of another backup"}`
	if err := os.WriteFile(seed, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	unchanged := func(what string) {
		t.Helper()
		now, err := os.ReadFile(seed)
		if left := s.snapshotsLeft(); len(left) > 0 || err != nil || strings.TrimSpace(string(now)) != text {
			t.Errorf("%s: %v %s %v", what, left, now, err)
		}
		if v, err := s.m.Cluster("one"); err != nil || v.State != "Running" || v.Operation != nil {
			t.Errorf("%s: %v %v", what, v.State, err)
		}
	}
	s.want(s.onto(`{"identity":"`+identity+`","on_failure":"pray"}`), 422, "usage.on-failure")
	unchanged("a typo")
	store.Fill()
	if a := s.onto(body); a.status < 500 {
		t.Errorf("%d %s", a.status, a.text)
	}
	store.Repair()
	unchanged("a store that is full")
	a := s.want(s.onto(body), 202, "")
	v, err := s.m.Cluster("one")
	if left := s.snapshotsLeft(); len(left) != 1 || err != nil ||
		!strings.Contains(string(v.Operation.Request), left[0]) || s.there("seed.json") {
		t.Errorf("%v %v %s", left, err, a.text)
	}
}

// Until a restore onto new machines is the next thing that the server does, nothing of the cluster is set aside. One
// whose cluster was changed since it was read is refused: it would want what the cluster was.
func TestARestoreOntoNewMachinesOfAClusterThatWasChangedMeanwhile(t *testing.T) {
	var m *meanwhile
	s, identity := keptIn(t, &managertest.Memory{}, func(o *Options) {
		m = &meanwhile{rights: o.Access.(*rights)}
		o.Access = m
	})
	former, happened := s.world.Newest("one"), false
	m.asked.Store(0)
	m.last, m.do = 2, func() {
		happened = true
		if !s.there("deploy.yaml") || s.there("seed.json") {
			t.Error("the cluster is set aside while others can begin")
		}
		if _, err := s.m.Begin(t.Context(), "one", manager.Renew, manager.Request{}); err != nil {
			t.Error(err)
		}
		s.reach("Updating", func() bool { return s.world.Newest("one") != former })
		s.world.Newest("one").Finish(nil)
		s.reach("Running", nil)
	}
	body := `{"identity":"` + identity + `","allow_unsigned":true,` + ontoNew + `}`
	s.want(s.onto(body), 412, "manager.revision")
	if !happened || !s.there("deploy.yaml") || s.there("seed.json") || len(s.snapshotsLeft()) > 0 {
		t.Errorf("happened: %t; something is set aside, or left: %v", happened, s.snapshotsLeft())
	}
	s.want(s.onto(body), 202, "")
}

// The passphrase of a backup that does not begin is not kept.
func TestThePassphraseOfABackupThatDoesNotBegin(t *testing.T) {
	var r *runs.Runner
	store := &managertest.Memory{}
	s := beginOn(t, store, func(o *Options) { r = o.Runs })
	s.running()
	const body = `{"passphrase":"a very long passphrase"}`
	known := func() bool { return strings.Contains(fmt.Sprintf("%+v", r), "a very long passphrase") }
	store.Fill()
	if a := s.call("ann", "POST", "/api/v1/clusters/one/backups", body); a.status < 500 || known() {
		t.Errorf("%d, kept: %t", a.status, known())
	}
	store.Repair()
	s.want(s.call("ann", "POST", "/api/v1/clusters/one/backups", body), 202, "")
	if !known() { // this world takes no secrets
		t.Error("a backup that has begun has no passphrase")
	}
}
