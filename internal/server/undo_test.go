package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/manager/managertest"
	"github.com/eggo-k8s/eggo/internal/manager/runs"
)

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
