package cleanup

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// forgetState removes the cluster's authorities and kubeconfig from the jump host: they open nothing any more. Logs of
// the runs, known hosts and snapshots stay, and the cluster's own deploy.yaml under another name, so that nobody takes
// the cluster for one that lives.
func (r *Cleanup) forgetState(ctx context.Context) error {
	left := false
	gone := []string{"pki", "admin.conf", input.UpgradeName, input.FormerName, input.FormerDNSName, input.SeedName,
		input.OwnerName}
	for _, name := range append(gone, configName) {
		_, err := os.Lstat(filepath.Join(r.StateDir, name))
		left = left || err == nil
	}
	if !left {
		return cmp.Or(r.Keep(ctx, forgotten()...), engine.ErrUnchanged)
	}
	for _, name := range gone {
		if err := os.RemoveAll(filepath.Join(r.StateDir, name)); err != nil {
			return event.NewFault(event.ClassFailed, "state.write", err)
		}
	}
	saved := filepath.Join(r.StateDir, configName)
	if err := os.Rename(saved, saved+".cleaned"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return r.Keep(ctx, forgotten()...)
}

// forgotten are the parts of a cluster's files that a cleanup removes.
func forgotten() []input.Kept {
	return []input.Kept{input.KeptPKI, input.KeptAdminConf, input.KeptConfig, input.KeptUpgrade, input.KeptFormer,
		input.KeptDNS, input.KeptSeed, input.KeptOwner}
}

// configName is the cluster's own deploy.yaml in its state directory.
const configName = "deploy.yaml"
