package phases

import (
	"bytes"
	"context"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Import plans to take over a cluster that others have made, when its CAs and keys are in the state directory: the
// certificates of the control host are issued, and each node says whose it is. Nothing that runs is touched.
func Import(env Env) *engine.Plan {
	r := newRun(env)
	b := plan.New(r.options(), plan.Phase{ID: plan.PhasePreflight, Open: true}, plan.Phase{ID: plan.PhaseImport})
	b.Add(preflight.Steps(r.Nodes, nil, preflight.Accept(r.Env, r.checkImport))...)
	certs := plan.Step(plan.PhaseImport, "certificates", "", plan.Checked())
	certs.Apply = r.EnsurePKI
	conf := plan.Step(plan.PhaseImport, "kubeconfig", "", []string{certs.ID})
	conf.Check, conf.Apply = r.hasAdminConf, r.saveAdminConf
	healthy := plan.Step(plan.PhaseImport, "healthy", "", []string{conf.ID})
	healthy.Verify = func(ctx context.Context) error {
		if err := r.etcd.Health(ctx); err != nil {
			return err
		}
		return r.control.ServersReady(ctx)
	}
	b.Add(certs, conf, healthy)
	for _, n := range r.Cluster.Nodes {
		s := r.host.Imported(n, r.driver.SupportUnits())
		s.Needs = append(s.Needs, healthy.ID)
		b.Add(s)
	}
	return b.Plan()
}

// checkImport refuses nodes that are another cluster's, or do not run.
func (r *run) checkImport(ctx context.Context) error {
	return preflight.Tell(r.Emit, preflight.Run(ctx, r.checked(r.Cluster.Nodes), preflight.Import()))
}

func (r *run) hasAdminConf(context.Context) (bool, error) {
	want, err := r.AdminConf()
	if err != nil {
		return false, err
	}
	have, err := os.ReadFile(filepath.Join(r.StateDir, "admin.conf"))
	return err == nil && bytes.Equal(have, want), nil
}

func (r *run) saveAdminConf(ctx context.Context) error {
	data, err := r.AdminConf()
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(filepath.Join(r.StateDir, "admin.conf"), data, 0o600); err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return r.Keep(ctx, KeptAdminConf)
}
