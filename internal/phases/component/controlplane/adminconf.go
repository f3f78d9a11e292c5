package controlplane

import (
	"bytes"
	"context"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func (r *ControlPlane) adminConfWritten(ctx context.Context) (bool, error) {
	want, err := r.AdminConf()
	if err != nil {
		return false, err
	}
	if have, err := os.ReadFile(filepath.Join(r.StateDir, "admin.conf")); err != nil || !bytes.Equal(have, want) {
		return false, nil
	}
	on := []node.File{layout.SecretFile(r.Driver.Paths().AdminConf, want)}
	for _, n := range r.Cluster.With(bundle.ControlPlane) {
		if same, err := r.Node(n.Name).Same(ctx, on); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

func (r *ControlPlane) writeAdminConf(ctx context.Context) error {
	data, err := r.AdminConf()
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(filepath.Join(r.StateDir, "admin.conf"), data, 0o600); err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	if err := r.Keep(ctx, input.KeptAdminConf); err != nil {
		return err
	}
	on := []node.File{layout.SecretFile(r.Driver.Paths().AdminConf, data)}
	for _, n := range r.Cluster.With(bundle.ControlPlane) {
		if _, err := r.Node(n.Name).Put(ctx, on); err != nil {
			return err
		}
	}
	return nil
}

// rights are what nodes may ask for before they are nodes, and what the API server may do on kubelets.
func (r *ControlPlane) rights() ([]byte, error) { return assets.Rights(), nil }
