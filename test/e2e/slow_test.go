package e2e

import (
	"io/fs"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// noisy is a systemctl that says 50 MB before each reload.
const noisy = `printf '%s\n' '#!/bin/sh' '[ "$1" != daemon-reload ] || yes | head -c 50000000 >&2' 'exec /usr/bin/systemctl "$@"' >/usr/local/bin/systemctl
chmod 755 /usr/local/bin/systemctl`

// TestSlowLinkAndFlood: an install whose control plane prints 50 MB at each reload of systemd, and whose worker is
// reached at 10 Mbit/s with 100 ms of round trip. It completes; no connection is lost, and the log is small and says
// what it lacks.
func TestSlowLinkAndFlood(t *testing.T) {
	full(t)
	s := newLab(t, 2)
	ctx := t.Context()
	base, err := s.Deploy("base.yaml", "slow", []stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "n"}})
	must(t, "deploy.yaml", err)
	addr, err := s.Lab.Address("n2")
	must(t, "address", err)
	file, err := s.Vary(base, "deploy.yaml", "ip: "+addr+"\n  port: 22\n", "ip: "+addr+"\n  port: 2200\n",
		"host-keys: strict", "host-keys: accept-new")
	must(t, "deploy.yaml", err)
	_, err = s.Lab.Run(ctx, "n1", noisy)
	must(t, "a noisy systemctl", err)
	must(t, "slow link", s.Lab.Slow(ctx, "n2", "10mbit"))
	must(t, "far sshd", s.Lab.FarSSH(ctx, "n2", 2200, 100*time.Millisecond))

	try(t, s, 0, "deploy", "-f", file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 2))

	runs, err := stand.Runs(s.State(), "slow")
	must(t, "runs", err)
	missing, sent := int64(0), int64(0)
	for _, r := range runs[len(runs)-1] {
		switch e := r.Event.(type) {
		case event.Notice:
			if e.Text.Key == event.OutputCut && e.Host == "n1" {
				n, _ := strconv.ParseInt(e.Text.Args["bytes"], 10, 64)
				missing += n
			}
		case event.HostState:
			if e.State == "lost" {
				t.Errorf("the connection to %s was lost: %v", e.Host, e.Fault)
			}
		case event.Progress:
			if e.Host == "n2" && e.Done == e.Total {
				sent += e.Total
			}
		}
	}
	size := int64(0)
	err = filepath.WalkDir(filepath.Join(s.State(), "slow", "runs"), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		i, err := d.Info()
		if err == nil {
			size += i.Size()
		}
		return err
	})
	must(t, "size of the log", err)
	s.Say("%d MB were sent to n2; %d MB of n1's output are missing in a log of %d MB", sent>>20, missing>>20, size>>20)
	if missing < 50_000_000 || size > 64<<20 {
		t.Errorf("%d bytes of output are said to be missing, the log has %d bytes", missing, size)
	}
}
