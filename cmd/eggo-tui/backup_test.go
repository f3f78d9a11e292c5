package main

import (
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/backup"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/testkit/operationtest"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

// backedUp is a state directory with the cluster away, a backup of it, and the private key of the backup.
func backedUp(t *testing.T) (state, file, identity string) {
	t.Helper()
	state, home := t.TempDir(), t.TempDir()
	dir, snapshot := filepath.Join(state, "away"), filepath.Join(home, "etcd.db")
	_, _, err := pki.Ensure(filepath.Join(dir, "pki"), pki.Spec{Domain: "cluster.local", Endpoint: "127.0.0.1",
		ServiceGateway: netip.MustParseAddr("10.32.0.1")}, time.Now())
	must(t, err, os.WriteFile(filepath.Join(dir, "deploy.yaml"), []byte(operationtest.Nobody), 0o600))
	ca, err := os.ReadFile(filepath.Join(dir, "pki", "ca.crt"))
	must(t, err, phasestest.WriteSnapshot(snapshot, ca))
	pair, err := backup.NewKeyPair()
	must(t, err)
	members, err := backup.Sources(dir, snapshot)
	must(t, err)
	lock, err := backup.RecipientsLock([]string{pair.Public})
	must(t, err)
	file, identity = filepath.Join(home, "away.age"), filepath.Join(home, "key")
	must(t, os.WriteFile(identity, pair.Private, 0o600), backup.Write(t.Context(), file, backup.Manifest{
		Cluster: "away", At: time.Now(), Revision: phasestest.Revision}, members, lock, func(int64, int64) {}))
	return state, file, identity
}

// Who restores onto new machines and does not come to a run has the cluster as it was. After a run has begun, the same
// command or a deploy continues it.
func TestARestoreThatBeginsNoRunIsUndone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flags  []string
		person bool // who does not trust the machine, and is asked before the run
	}{
		"with a person":                      {nil, true},
		"with a person, in the foreground":   {[]string{"--foreground"}, true},
		"with nobody":                        {nil, false},
		"with nobody, and in the foreground": {[]string{"--foreground"}, false},
	} {
		state, file, identity := backedUp(t)
		srv := remotetest.New(t, remotetest.WithUser("root", "x"))
		deploy := filepath.Join(t.TempDir(), "deploy.yaml")
		must(t, os.WriteFile(deploy, []byte(strings.NewReplacer("127.0.0.1, port: 1,", srv.IP+", port: "+
			strconv.Itoa(srv.Port)+",", "username: ops", "username: root", "eggo: {password-from: prompt}",
			"password: x").Replace(operationtest.Nobody)), 0o600))
		args := append([]string{"backup", "restore", file, "-f", deploy, "--yes", "--identity", identity, "--state-dir",
			state}, c.flags...)
		if c.person {
			f, cmd := atPTY(t, args...)
			until(t, f, "Which keys do you trust?")
			answer(t, f, "n")
			until(t, f, "put back")
			go func() { _, _ = io.Copy(io.Discard, f) }()
			if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 4 {
				t.Errorf("%s: exit code %d", name, cmd.ProcessState.ExitCode())
			}
		} else if out, err := exec.Command("eggo-tui", args...).CombinedOutput(); err == nil {
			t.Errorf("%s: %s", name, out)
		}
		id, _ := lastRun(t, state)
		own, err := os.ReadFile(filepath.Join(state, "away", "deploy.yaml"))
		if (id != "") == c.person || (err == nil && string(own) == operationtest.Nobody) != c.person {
			t.Errorf("%s: run %q, deploy.yaml %v", name, id, err)
		}
		for _, placed := range []string{"seed.json", "snapshots/*.db", "replaced-*"} {
			list, err := filepath.Glob(filepath.Join(state, "away", placed))
			if must(t, err); (len(list) == 1) == c.person {
				t.Errorf("%s: %s: %v", name, placed, list)
			}
		}
	}
}
