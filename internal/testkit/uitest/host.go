package uitest

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
)

// Host is a control host for tests. A function that is nil finds nothing.
type Host struct {
	OnClusters func(ctx context.Context) ([]request.ClusterRuns, error)
	OnOpen     func(ctx context.Context, r request.Ref, replay float64) (backend.Board, error)
	OnLaunch   func(ctx context.Context, s backend.Start, to ask.Asker) (request.Ref, error)
	OnRead     func(ctx context.Context, q backend.Query, to ask.Asker) (backend.Answer, error)
	OnList     func(ctx context.Context, dir string, suffix []string) (string, []backend.Entry, error)
	OnCheck    func(ctx context.Context, file string) (backend.Checked, error)
	OnDemo     func(ctx context.Context) (backend.Board, error)
	OnBundle   func(ctx context.Context, path string) (backend.Bundle, error)
	OnVerify   func(ctx context.Context, path string, progress func(done, total int64)) error
	OnUpgrades func(ctx context.Context, cluster string, paths []string) (backend.Upgrades, error)
	OnWay      func(ctx context.Context, cluster string, bundles []string) (backend.Way, error)
}

// Clusters implements backend.Services.
func (h *Host) Clusters(ctx context.Context) (out []request.ClusterRuns, err error) {
	if h.OnClusters != nil {
		out, err = h.OnClusters(ctx)
	}
	return out, err
}

// Open implements backend.Services.
func (h *Host) Open(ctx context.Context, r request.Ref, replay float64) (out backend.Board, err error) {
	if h.OnOpen != nil {
		out, err = h.OnOpen(ctx, r, replay)
	}
	return out, err
}

// Launch implements backend.Services.
func (h *Host) Launch(ctx context.Context, s backend.Start, to ask.Asker) (out request.Ref, err error) {
	if h.OnLaunch != nil {
		out, err = h.OnLaunch(ctx, s, to)
	}
	return out, err
}

// Read implements backend.Services.
func (h *Host) Read(ctx context.Context, q backend.Query, to ask.Asker) (out backend.Answer, err error) {
	if h.OnRead != nil {
		out, err = h.OnRead(ctx, q, to)
	}
	return out, err
}

// List implements backend.Services.
func (h *Host) List(ctx context.Context, dir string, suffix []string) (at string, out []backend.Entry, err error) {
	if h.OnList != nil {
		at, out, err = h.OnList(ctx, dir, suffix)
	}
	return at, out, err
}

// Check implements backend.Services.
func (h *Host) Check(ctx context.Context, file string) (out backend.Checked, err error) {
	if h.OnCheck != nil {
		out, err = h.OnCheck(ctx, file)
	}
	return out, err
}

// Demo implements backend.Services.
func (h *Host) Demo(ctx context.Context) (out backend.Board, err error) {
	if h.OnDemo != nil {
		out, err = h.OnDemo(ctx)
	}
	return out, err
}

// Bundle implements backend.Services.
func (h *Host) Bundle(ctx context.Context, path string) (out backend.Bundle, err error) {
	if h.OnBundle != nil {
		out, err = h.OnBundle(ctx, path)
	}
	return out, err
}

// Verify implements backend.Services.
func (h *Host) Verify(ctx context.Context, path string, progress func(done, total int64)) (err error) {
	if h.OnVerify != nil {
		err = h.OnVerify(ctx, path, progress)
	}
	return err
}

// Upgrades implements backend.Services.
func (h *Host) Upgrades(ctx context.Context, cluster string, paths []string) (out backend.Upgrades, err error) {
	if h.OnUpgrades != nil {
		out, err = h.OnUpgrades(ctx, cluster, paths)
	}
	return out, err
}

// Way implements backend.Services.
func (h *Host) Way(ctx context.Context, cluster string, bundles []string) (out backend.Way, err error) {
	if h.OnWay != nil {
		out, err = h.OnWay(ctx, cluster, bundles)
	}
	return out, err
}
