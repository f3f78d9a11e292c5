package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// TestServerBackups: the server takes a backup by its schedule, and others when it is asked; a snapshot is restored;
// etcd verifies a backup only out of a bundle that is signed; then the machine is lost, and the cluster is restored
// onto a new one, with the workload and the Secrets of before. All by REST.
func TestServerBackups(t *testing.T) {
	full(t)
	s, ctx := newLab(t, 2), t.Context()
	before := untouched(t, s, 2)
	key, err := age.GenerateX25519Identity()
	must(t, "key of backups", err)
	v := atWork(t, s, "--shared-roles", "--backup-every", "1h", "--backup-recipient", key.Recipient().String())
	all := []string{"controlplane", "etcd", "worker"}
	v.create("saved", []any{v.node("n1", all...)}, nil)
	v.awaits("saved", "Running", 15*time.Minute)
	s.Admin = "n1"
	kubectl := func(args ...string) string {
		t.Helper()
		out, err := s.Kubectl(ctx, args...)
		must(t, strings.Join(args, " "), err)
		return out
	}
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "first use", s.WorksOn(ctx, "n1"))

	s.Say("== by the schedule")
	must(t, "a backup", stand.Until(ctx, 10*time.Minute, "the schedule has taken a backup",
		func(context.Context) error {
			if n := len(v.backups("saved")); n != 1 {
				return fmt.Errorf("%d backups", n)
			}
			return nil
		}))
	v.rests("saved", 5*time.Minute)

	s.Say("== a snapshot, and back to it")
	kubectl("create", "secret", "generic", "first", "--from-literal=x=kept")
	v.call("POST", "/clusters/saved/snapshots", map[string]any{}, 202, nil)
	v.rests("saved", 5*time.Minute)
	var taken struct{ Items []struct{ Name string } }
	v.call("GET", "/clusters/saved/snapshots", nil, 200, &taken)
	if len(taken.Items) != 1 {
		t.Fatal(taken)
	}
	kubectl("create", "secret", "generic", "second", "--from-literal=x=lost")
	v.call("POST", "/clusters/saved/restore", map[string]any{"snapshot": taken.Items[0].Name}, 202, nil)
	v.rests("saved", 10*time.Minute)
	if out := kubectl("get", "secret", "-o", "name"); !strings.Contains(out, "secret/first") ||
		strings.Contains(out, "secret/second") {
		t.Errorf("after the restore: %s", out)
	}

	s.Say("== a backup, verified by a real etcd")
	v.call("POST", "/clusters/saved/backups", map[string]any{"recipients": []string{key.Recipient().String()}}, 202,
		nil)
	v.rests("saved", 5*time.Minute)
	list := v.backups("saved")
	if len(list) != 2 {
		t.Fatal(list)
	}
	path := "/clusters/saved/backups/" + list[0]
	other, err := age.GenerateX25519Identity()
	must(t, "another key", err)
	v.refused("POST", path+"/verify", map[string]any{"identity": other.String()}, 422, "backup.wrong-key")
	var proven struct {
		Etcd bool
		Why  struct{ Code string }
	}
	verify := func() {
		t.Helper()
		proven.Etcd, proven.Why.Code = false, ""
		v.call("POST", path+"/verify", map[string]any{"identity": key.String()}, 200, &proven)
	}
	verify()
	if proven.Etcd || proven.Why.Code != "backup.no-signed-etcd" {
		t.Errorf("an etcd of an unsigned bundle: %v", proven)
	}
	site := newSigner(t, "site")
	site.sign(t, s.Bundle)
	try(t, s, 0, "signers", "add", site.list)
	verify()
	if !proven.Etcd {
		t.Errorf("no etcd served the backup: %v", proven)
	}

	s.Say("== the machine is lost")
	must(t, "power cut", s.Lab.Kill(ctx, "n1"))
	v.awaits("saved", "Unreachable", 2*time.Minute)
	known, err := os.ReadFile(s.Lab.KnownHosts())
	must(t, "known hosts", err)
	v.call("POST", path+"/restore", map[string]any{"identity": key.String(), "known_hosts": string(known),
		"nodes": []any{v.node("n2", all...)}}, 202, nil)
	v.rests("saved", 20*time.Minute)
	s.Admin = "n2"
	if out := kubectl("get", "secret", "first", "-o", "jsonpath={.data.x}"); out != "a2VwdA==" {
		t.Errorf("the Secret is %q", out)
	}
	must(t, "use after the restore", s.WorksOn(ctx, "n2"))
	if strings.Contains(v.said.String(), key.String()) {
		t.Error("an answer has the key of the backups")
	}

	s.Say("== delete")
	v.call("DELETE", "/clusters/saved?purge=true", nil, 202, nil)
	v.gone()
	same(t, before[1:], func() []lab.Snapshot {
		one, err := s.Lab.Snapshot(ctx, "n2") // n1 is off
		must(t, "snapshot", err)
		return []lab.Snapshot{one}
	})
}

// backups are the names of the cluster's, the newest first.
func (v *server) backups(name string) (names []string) {
	v.t.Helper()
	var list struct{ Items []struct{ Name string } }
	v.call("GET", "/clusters/"+name+"/backups", nil, 200, &list)
	for _, b := range list.Items {
		names = append(names, b.Name)
	}
	return names
}
