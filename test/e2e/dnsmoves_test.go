package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// TestCoreDNSMoves: CoreDNS of two control planes becomes a service, by a process that is killed on its way, and
// becomes pods again, while a pod on each node asks the cluster's DNS by UDP several times a second. Every question is
// answered, nothing of the former kind is left, and a cleanup leaves the machines as they were.
func TestCoreDNSMoves(t *testing.T) {
	full(t)
	s := newLab(t, 2)
	ctx := t.Context()
	nodes := []stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "mn"}}
	example(t, s, "coredns.yaml", func(map[string]any) {})
	pods, err := s.Deploy("root.yaml", "moves", nodes)
	must(t, "deploy.yaml", err)
	service, err := s.Vary(pods, "service.yaml", "dns: {corednstype: pod, replicas: 2}", "dns: {corednstype: binary}")
	must(t, "deploy.yaml", err)
	before := untouched(t, s, 2)
	try(t, s, 0, "deploy", "-f", pods)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 2))

	s.Say("== to a service of the control planes, killed once")
	if err := try(t, s, 0, "plan", "deploy", "-f", service).Has("changed from corednstype: pod to binary",
		"nothing was changed"); err != nil {
		t.Error(err)
	}
	end := resolveAll(t, s)
	r, err := s.Start(ctx, "", "deploy", "-f", service, "--foreground")
	must(t, "deploy", err)
	reached, err := r.When(ctx, "moves", func(all [][]event.Record) bool {
		return len(all) > 1 && slices.ContainsFunc(all[len(all)-1], func(r event.Record) bool {
			e, is := r.Event.(event.StepStarted)
			return is && strings.HasPrefix(e.Step, "addons.dns-through/")
		})
	})
	must(t, "watch", err)
	if !reached {
		got, err := r.Wait()
		t.Fatalf("the Service was not switched: %v\n%s", err, tail(got.Out, 40))
	}
	must(t, "kill", r.Signal(syscall.SIGKILL))
	_, err = r.Wait()
	must(t, "deploy", err)
	if got, err := s.Try(ctx, "", "status", "--id", "moves"); err != nil || got.Has("is not complete") != nil {
		t.Errorf("status in between: %v\n%s", err, tail(got.Out, 30))
	}
	try(t, s, 0, "deploy", "-f", service)
	end()
	must(t, "what is left of the pods", stand.Until(ctx, time.Minute, "the pods have ended",
		func(ctx context.Context) error {
			out, err := s.Kubectl(ctx, "get", "deployments,pods,configmaps,endpoints,endpointslices", "-n",
				"kube-system", "-o", "name")
			if err == nil && (strings.Contains(out, "/coredns") || strings.Contains(out, "endpoints/kube-dns") ||
				strings.Count(out, "endpointslice.discovery.k8s.io/kube-dns") != 1) {
				err = fmt.Errorf("there are %s", out)
			}
			return err
		}))
	try(t, s, 0, "deploy", "-f", service)
	noChange(t, s.State(), "moves")

	s.Say("== back to pods")
	end = resolveAll(t, s)
	try(t, s, 0, "deploy", "-f", pods)
	end()
	_, err = s.Each(ctx, 2, "! systemctl cat coredns.service 2>/dev/null && [ ! -e /etc/eggo/coredns ] && "+
		"! ls -d /opt/eggo/coredns-* 2>/dev/null && ! grep -q coredns.service /var/lib/eggo-node/record")
	must(t, "what is left of the services", err)
	if out, err := s.Kubectl(ctx, "get", "endpointslices", "-n", "kube-system", "-o", "name"); err != nil ||
		strings.Contains(out, "kube-dns-eggo") {
		t.Errorf("what is left of the services: %s %v", out, err)
	}
	try(t, s, 0, "deploy", "-f", pods)
	noChange(t, s.State(), "moves")
	must(t, "use", s.Works(ctx, 2))
	try(t, s, 0, "cleanup", "-f", pods, "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 2) })
}

// resolveAll has a pod of the workload on each node ask the cluster's DNS five times a second until the function that
// it returns is called, which wants every question to have been answered within two seconds.
func resolveAll(t *testing.T, s *stand.Stand) func() {
	t.Helper()
	ctx := t.Context()
	list, err := s.Kubectl(ctx, "get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].metadata.name}")
	must(t, "pods", err)
	clients := strings.Fields(list)
	if len(clients) < 2 {
		t.Fatalf("the workload has %q", clients)
	}
	// A lost question is asked again after five seconds.
	const script = "rm -f /tmp/end; until [ -e /tmp/end ]; do b=$(date +%s); if nslookup " +
		"kubernetes.default.svc.cluster.local. 10.32.0.10 >/dev/null 2>&1 && [ $(($(date +%s) - b)) -le 2 ]; then " +
		"echo answered; else echo \"failed $(date +%T)\"; fi; sleep 0.2; done"
	var wg sync.WaitGroup
	said := make([]string, len(clients))
	errs := make([]error, len(clients))
	for i, p := range clients {
		wg.Go(func() { said[i], errs[i] = s.Kubectl(ctx, "exec", p, "--", "sh", "-c", script) })
	}
	began := time.Now()
	return func() {
		t.Helper()
		for _, p := range clients {
			must(t, "end", stand.Until(ctx, time.Minute, "the client in "+p+" ends", func(ctx context.Context) error {
				_, err := s.Kubectl(ctx, "exec", p, "--", "sh", "-c", ": >/tmp/end")
				return err
			}))
		}
		wg.Wait()
		for i, p := range clients {
			must(t, "client in "+p, errs[i])
			asked, failed := strings.Count(said[i], "\n"), strings.Count(said[i], "failed")
			s.Say("%s asked %d times in %s, %d in vain", p, asked, time.Since(began).Round(time.Second), failed)
			if failed > 0 || asked < 10 {
				var when []string
				for line := range strings.Lines(said[i]) {
					if strings.HasPrefix(line, "failed") && len(when) < 10 {
						when = append(when, strings.TrimSpace(line))
					}
				}
				t.Errorf("%s asked %d times, %d in vain: %v", p, asked, failed, when)
			}
		}
	}
}
