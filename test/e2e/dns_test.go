package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// TestCoreDNSAsAService: CoreDNS is a service of both control planes, from a program of the bundle, which has no image
// of it. Pods ask it through the Service and each server by itself; one that is killed comes back.
func TestCoreDNSAsAService(t *testing.T) {
	full(t)
	s := newLab(t, 2)
	ctx := t.Context()
	without := s.Bundle
	nodes := []stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "mn"}}
	const pods, service = "dns: {corednstype: pod, replicas: 2}", "dns: {corednstype: binary}"
	example(t, s, "coredns.yaml", func(doc map[string]any) {
		var rest []any
		for _, x := range doc["images"].([]any) {
			if !strings.Contains(x.(map[string]any)["name"].(string), "coredns") {
				rest = append(rest, x)
			}
		}
		doc["images"] = rest
	})
	base, err := s.Deploy("root.yaml", "names", nodes)
	must(t, "deploy.yaml", err)
	file, err := s.Vary(base, "names.yaml", pods, service)
	must(t, "deploy.yaml", err)
	lacks, err := s.Vary(file, "lacks.yaml", s.Bundle, without)
	must(t, "deploy.yaml", err)
	before := untouched(t, s, 2)

	s.Say("== a bundle without the program is refused")
	if err := try(t, s, 6, "deploy", "-f", lacks).Has("bundle.no-coredns"); err != nil {
		t.Error(err)
	}
	if got, err := s.Packs(ctx, nil, "verify", without, "-f", lacks); err != nil || got.Code != 6 ||
		got.Has("verify.no-program", "coredns") != nil {
		t.Errorf("eggo-bundle verify: %d %v\n%s", got.Code, err, tail(got.Out, 20))
	}

	try(t, s, 0, "deploy", "-f", file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 2))
	var addresses []string
	for _, n := range nodes {
		a, err := s.Lab.Address(n.Name)
		must(t, "address", err)
		addresses = append(addresses, a)
	}
	servers, err := s.Kubectl(ctx, "get", "endpointslices", "-n", "kube-system", "-l",
		"kubernetes.io/service-name=kube-dns", "-o",
		"jsonpath={.items[*].endpoints[*].addresses[*]} {.items[*].ports[*].port}")
	must(t, "endpoints", err)
	for _, want := range append(addresses, "53", "9153") {
		if !strings.Contains(servers+" ", want+" ") {
			t.Errorf("kube-dns leads to %q, without %s", servers, want)
		}
	}
	if out, err := s.Kubectl(ctx, "get", "pods", "-n", "kube-system", "-o", "name"); err != nil ||
		strings.Contains(out, "coredns") {
		t.Errorf("pods of kube-system: %s %v", out, err)
	}
	answered := func(servers ...string) {
		t.Helper()
		must(t, "names", stand.Until(ctx, time.Minute, "pods' questions are answered", func(ctx context.Context) error {
			list, err := s.Kubectl(ctx, "get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].metadata.name}")
			if err != nil {
				return err
			}
			ip, err := s.Kubectl(ctx, "get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
			if err != nil {
				return err
			}
			for _, p := range strings.Fields(list) {
				for _, server := range servers {
					out, err := s.Kubectl(ctx, "exec", p, "--", "nslookup", "web.default.svc.cluster.local.", server)
					if err != nil || !strings.Contains(out, ip) {
						return fmt.Errorf("%s asks %s: %s %w", p, server, out, err)
					}
				}
			}
			return nil
		}))
	}
	answered(append(addresses, "10.32.0.10")...)

	s.Say("== one is killed")
	before1 := onFirst(t, s, "systemctl show -P MainPID coredns")
	onNode(t, s, "kill -9 "+strings.TrimSpace(before1), "")
	answered(addresses...)
	if now := onFirst(t, s, "systemctl show -P MainPID coredns"); now == before1 {
		t.Error("CoreDNS of n1 was not killed")
	}
	if err := try(t, s, 0, "status", "--id", "names", "--output", "json").Has("\"coredns\""); err != nil {
		t.Error(err)
	}

	s.Say("== second deploy changes nothing; a control plane comes back from a reboot")
	try(t, s, 0, "deploy", "-f", file)
	noChange(t, s.State(), "names")
	must(t, "reboot", s.Lab.Reboot(ctx, "n2"))
	answered(addresses...)
	must(t, "use", s.Works(ctx, 2))
	try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 2) })
}
