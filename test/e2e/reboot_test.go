package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// TestEveryNodeRebootedAtOnce: nobody is left to help anybody up. All nodes reboot in the same moment, then all lose
// their power in the same moment, and each time cluster and workload come back by themselves, with nothing to do for a
// deploy.
func TestEveryNodeRebootedAtOnce(t *testing.T) {
	full(t)
	s := newLab(t, 3)
	file, err := s.Deploy("deploy.yaml", "reboot", stand.OneAndTwo())
	must(t, "deploy.yaml", err)
	rebootedAtOnce(t, s, file, "reboot", 3, 3)
}

// rebootedAtOnce deploys a cluster on n nodes, of which so many have a kubelet, and takes all of them down at once.
func rebootedAtOnce(t *testing.T, s *stand.Stand, file, cluster string, n, kubelets int) {
	ctx := t.Context()
	deploy(t, s, file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "first use", s.Works(ctx, kubelets))
	downAtOnce(t, s, n, kubelets)
	deploy(t, s, file)
	noChange(t, s.State(), cluster)
}

// downAtOnce takes all machines of a cluster with a workload down at once, twice.
func downAtOnce(t *testing.T, s *stand.Stand, n, kubelets int) {
	t.Helper()
	ctx := t.Context()
	var names []string
	for k := 1; k <= n; k++ {
		names = append(names, fmt.Sprintf("n%d", k))
	}
	for _, way := range []struct {
		name string
		do   func() error
	}{
		{"rebooted", func() error { return each(names, func(node string) error { return s.Lab.Reboot(ctx, node) }) }},
		{"without power", func() error {
			if err := each(names, func(node string) error { return s.Lab.Kill(ctx, node) }); err != nil {
				return err
			}
			return s.Lab.Up(ctx, n)
		}},
	} {
		s.Say("== every node is %s at once", way.name)
		began := time.Now()
		since := func() time.Duration { return time.Since(began).Round(100 * time.Millisecond) }
		must(t, way.name, way.do())
		up := since()
		must(t, "nodes", stand.Until(ctx, s.Limit(3*time.Minute), "every node is Ready in its new boot",
			func(ctx context.Context) error {
				return booted(ctx, s, kubelets)
			}))
		ready := since()
		must(t, "use", s.Works(ctx, kubelets))
		s.Say("every node %s at once: machines up after %s, all nodes Ready after %s, everything works after %s",
			way.name, up, ready, since())
	}
}

func each(nodes []string, do func(string) error) error {
	var all errgroup.Group
	for _, n := range nodes {
		all.Go(func() error { return do(n) })
	}
	return all.Wait()
}

// booted: every node is Ready, and the kubelet that says so runs in the boot that the machine is in now. What a kubelet
// said before the reboot is still in the API for a while.
func booted(ctx context.Context, s *stand.Stand, kubelets int) error {
	out, err := s.Kubectl(ctx, "get", "nodes", "-o",
		`jsonpath={range .items[*]}{.metadata.name} {.status.nodeInfo.bootID} {.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}`)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != kubelets {
		return fmt.Errorf("%d nodes, not %d", len(lines), kubelets)
	}
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) != 3 || f[2] != "True" {
			return fmt.Errorf("not Ready: %s", line)
		}
		boot, err := s.Lab.Run(ctx, f[0], "cat /proc/sys/kernel/random/boot_id")
		if err != nil {
			return err
		}
		if strings.TrimSpace(boot) != f[1] {
			return fmt.Errorf("%s was Ready in its last boot", f[0])
		}
	}
	return nil
}
