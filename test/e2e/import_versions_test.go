package e2e

import (
	"context"
	"os"
	"slices"
	"testing"
)

// TestImportVersions: clusters of other minor versions of Kubernetes than the default spec's, which kubeadm has made by
// hand, are imported and taken over.
func TestImportVersions(t *testing.T) {
	full(t)
	for _, version := range []string{"v1.33.13", "v1.35.4"} {
		t.Run(version, func(t *testing.T) { importVersion(t, version) })
	}
}

func importVersion(t *testing.T, version string) {
	s, ctx := newStand(t), t.Context()
	must(t, "build", s.Build(ctx))
	bundle, err := s.PackKubeadm(ctx, version)
	must(t, "pack", err)
	s.Bundle = bundle
	t.Cleanup(func() {
		if err := s.Lab.Down(context.WithoutCancel(ctx), true); err != nil {
			t.Error(err)
		}
	})
	must(t, "lab", s.Lab.Up(ctx, 2))
	must(t, "old state", os.RemoveAll(s.State())) // of another run in the same directory: these nodes are new
	kubeadmByHand(t, s, version, 1, "n1", "n2")
	for _, args := range [][]string{
		{"taint", "node", "n1", "node-role.kubernetes.io/control-plane-"},
		{"wait", "--for=condition=Ready", "--timeout=300s", "node", "--all"},
	} {
		_, err := s.Kubectl(ctx, args...)
		must(t, args[0], err)
	}
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 2))

	s.Say("== imported, and nothing of it is restarted")
	before := whatRuns(t, s, 2)
	try(t, s, 0, importing(t, s)...)
	if after := whatRuns(t, s, 2); !slices.Equal(after, before) {
		t.Errorf("the import has changed what runs: %v, and before %v", after, before)
	}
	must(t, "status", try(t, s, 0, "status", "--id", "taken").Has("n1", "n2", version))

	s.Say("== taken over")
	watch := watchService(t, s, "n2", "n1")
	try(t, s, 0, "deploy", "--id", "taken")
	asked, failed := watch()
	s.Say("the Service was asked %d times meanwhile, %d times in vain", asked, failed)
	if asked == 0 || failed > 0 {
		t.Errorf("the workload stood still: %d of %d calls failed", failed, asked)
	}
	must(t, "use", s.Works(ctx, 2))
	try(t, s, 0, "deploy", "--id", "taken")
	noChange(t, s.State(), "taken")
	try(t, s, 0, "certs", "renew", "--id", "taken")
	try(t, s, 0, "cleanup", "--id", "taken", "--yes", "--purge")
}
