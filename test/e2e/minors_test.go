package e2e

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// TestMinors: other minors of Kubernetes than the default spec's, each with a bundle of its own and the same program.
func TestMinors(t *testing.T) {
	full(t)
	for _, version := range []string{"v1.33.13", "v1.35.4"} {
		t.Run(version, func(t *testing.T) {
			s := newStand(t)
			ctx := t.Context()
			must(t, "build", s.Build(ctx))
			bundle, err := s.PackVersion(ctx, version)
			must(t, "pack", err)
			s.Bundle = bundle
			t.Cleanup(func() {
				if err := s.Lab.Down(context.WithoutCancel(ctx), true); err != nil {
					t.Error(err)
				}
			})
			must(t, "lab", s.Lab.Up(ctx, 2))
			must(t, "old state", os.RemoveAll(s.State())) // of another run in the same directory: these nodes are new
			cluster := "minor" + strings.ReplaceAll(version, ".", "-")
			file, err := s.Deploy(cluster+".yaml", cluster,
				[]stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "n"}})
			must(t, "deploy.yaml", err)
			before := untouched(t, s, 2)
			deploy(t, s, file)
			must(t, "workload", s.StartWorkload(ctx))
			must(t, "use", s.Works(ctx, 2))
			out, err := s.Kubectl(ctx, "get", "nodes", "-o", "jsonpath={.items[*].status.nodeInfo.kubeletVersion}")
			if err != nil || strings.TrimSpace(out) != version+" "+version {
				t.Errorf("the kubelets are %q, %v", out, err)
			}
			deploy(t, s, file)
			noChange(t, s.State(), cluster)
			try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge")
			same(t, before, func() []lab.Snapshot { return snapshots(t, s, 2) })
		})
	}
}
