package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
	"github.com/eggo-k8s/eggo/test/lab/upstream"
)

// calicoVersion is the release that the lab's upstream has.
const calicoVersion = "v3.28.5"

// withCalico packs a bundle with Calico in place of flannel.
func withCalico(t *testing.T, s *stand.Stand) {
	t.Helper()
	w := workshopOn(t, s)
	path := w.spec(t, "calico", func(doc map[string]any) {
		doc["addons"] = []any{map[string]any{"name": "calico-vxlan.yaml", "version": calicoVersion,
			"url": "https://raw.githubusercontent.com/projectcalico/calico/" + calicoVersion +
				"/manifests/calico-vxlan.yaml"}}
		var images []any
		for _, im := range doc["images"].([]any) {
			if !strings.Contains(fmt.Sprint(im), "flannel") {
				images = append(images, im)
			}
		}
		for _, name := range []string{"node", "cni", "kube-controllers"} {
			images = append(images, map[string]any{"name": "docker.io/calico/" + name + ":" + calicoVersion,
				"roles": []string{"control-plane", "worker"}})
		}
		doc["images"] = images
	})
	spec, err := upstream.LoadSpec(path)
	must(t, "spec", err)
	must(t, "upstream of Calico", upstream.Build(t.Context(), upstream.Options{Spec: spec,
		Report: upstream.Printer(s.Out)}))
	s.Bundle = filepath.Join(w.pack(t, path, runtime.GOARCH), "calico-"+runtime.GOARCH+".tar.gz")
}

const onlyFriends = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: friends}
spec: {podSelector: {matchLabels: {app: web}}, ingress: [{from: [{podSelector: {matchLabels: {role: friend}}}]}]}
`

// guarded wants a NetworkPolicy to let one pod call the Service and to keep another one out, on every node of these.
func guarded(t *testing.T, s *stand.Stand, nodes ...string) {
	t.Helper()
	ctx := t.Context()
	kubectl := func(args ...string) {
		t.Helper()
		_, err := s.Kubectl(ctx, args...)
		must(t, "kubectl "+strings.Join(args, " "), err)
	}
	calls := func(pod string) error {
		_, err := s.Kubectl(ctx, "exec", pod, "--", "/agnhost", "connect", "--timeout=3s", "web:80")
		return err
	}
	var pods []string
	for _, n := range nodes {
		for _, role := range []string{"friend", "stranger"} {
			pod := role + "-" + n
			pods = append(pods, pod)
			must(t, pod, s.Apply(ctx, fmt.Sprintf("apiVersion: v1\nkind: Pod\n"+
				"metadata: {name: %s, labels: {role: %s}}\n"+
				"spec: {nodeName: %s, terminationGracePeriodSeconds: 0, containers: [{name: c, "+
				"image: \"registry.k8s.io/e2e-test-images/agnhost:2.57\", args: [pause]}]}\n", pod, role, n)))
		}
	}
	for _, p := range pods {
		kubectl("wait", "--for=condition=Ready", "--timeout=120s", "pod/"+p)
		must(t, p+" without a policy", calls(p))
	}
	must(t, "policy", s.Apply(ctx, onlyFriends))
	must(t, "policy", stand.Until(ctx, time.Minute, "strangers are kept out, and friends are not",
		func(context.Context) error {
			for _, p := range pods {
				err := calls(p)
				if friend := strings.HasPrefix(p, "friend-"); friend && err != nil {
					return err
				} else if !friend && err == nil {
					return fmt.Errorf("%s is answered", p)
				}
			}
			return nil
		}))
	kubectl("delete", "networkpolicy", "friends")
	kubectl(append([]string{"delete", "pod", "--wait=true"}, pods...)...)
}

// TestCalico: the network is Calico from the bundle, with the Pod CIDR of deploy.yaml. A NetworkPolicy is enforced on
// every node, after a reboot and on a node that joined as well; a node leaves; nothing of it remains.
func TestCalico(t *testing.T) {
	full(t)
	s := newLab(t, 3)
	ctx := t.Context()
	withCalico(t, s)
	base, err := s.Deploy("calico.yaml", "calico", []stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "n"}})
	must(t, "deploy.yaml", err)
	file, err := s.Vary(base, "calico-own.yaml", "plugin: flannel", "plugin: calico",
		"podcidr: 10.244.0.0/16", "podcidr: 10.199.0.0/16", "filename: kube-flannel.yml", "filename: calico-vxlan.yaml")
	must(t, "deploy.yaml", err)
	before := untouched(t, s, 3)
	deploy(t, s, file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 2))
	out, err := s.Kubectl(ctx, "get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].status.podIP}")
	must(t, "addresses", err)
	for _, ip := range strings.Fields(out) {
		if !strings.HasPrefix(ip, "10.199.") {
			t.Errorf("a pod has the address %s", ip)
		}
	}
	guarded(t, s, "n1", "n2")

	s.Say("== a node joins, and one is rebooted")
	try(t, s, 0, "join", "--id", "calico", "--name", "n3", address(t, s, "n3"))
	must(t, "use", s.Works(ctx, 3))
	must(t, "reboot", s.Lab.Reboot(ctx, "n2"))
	must(t, "nodes", stand.Until(ctx, 3*time.Minute, "every node is Ready in its boot",
		func(ctx context.Context) error { return booted(ctx, s, 3) }))
	must(t, "use", s.Works(ctx, 3))
	guarded(t, s, "n2", "n3")
	try(t, s, 0, "deploy", "--id", "calico")
	noChange(t, s.State(), "calico")

	s.Say("== a node leaves")
	try(t, s, 0, "delete", "--id", "calico", "--yes", "--purge", "n3")
	absent(t, s, "calico", "n3")
	must(t, "use", s.Works(ctx, 2))
	try(t, s, 0, "cleanup", "--id", "calico", "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 3) })
}
