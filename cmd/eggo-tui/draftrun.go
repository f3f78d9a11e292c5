package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/draft"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/pages"
	"github.com/eggo-k8s/eggo/internal/ui/wizard"
)

// newCluster is the wizard; what it has written is installed in a process of its own.
func (d *backendServices) newCluster(ctx context.Context, deps *pages.Deps) frame.Page {
	return wizard.New(ctx, onScreen(newDraftServices(d.env, d.state).services(), deps))
}

// addNodes is the wizard's table over the cluster's own deploy.yaml, for machines that join it.
func (d *backendServices) addNodes(ctx context.Context, deps *pages.Deps, c backend.Cluster) frame.Page {
	cluster, svc, err := d.joining(c)
	if err != nil {
		return pages.NewAdd(deps, c) // join itself says what is wrong
	}
	return wizard.NewAdd(ctx, onScreen(svc, deps), cluster, c.File)
}

// onScreen are the services of a draft as the screen has them: a run begins on a page of its own, with the passwords
// that were typed.
func onScreen(svc draft.Services, deps *pages.Deps) wizard.Services {
	return wizard.Services{
		Services: svc,
		Beat:     func() time.Duration { return time.Second },
		Run: func(file string, of config.Draft) frame.Page {
			own := *deps
			launch := deps.S.Launch
			own.S.Launch = func(ctx context.Context, st backend.Start, ask backend.Asker) (backend.Ref, error) {
				return launch(ctx, st, backend.Knowing(ask, draft.Secrets(of)))
			}
			return pages.NewLaunch(&own, svc.Start(file, of))
		},
	}
}

// joining is the draft of a cluster, from its own deploy.yaml, and its services for machines that join it.
func (d *backendServices) joining(c backend.Cluster) (config.Draft, draft.Services, error) {
	data, err := os.ReadFile(c.File)
	if err != nil {
		return config.Draft{}, draft.Services{}, event.NewFault(event.ClassFailed, "state.read", err)
	}
	cluster, problems := config.ReadDraft(data, c.File)
	if i := slices.IndexFunc(problems, func(p config.Problem) bool { return p.Severity == event.Error }); i >= 0 {
		return config.Draft{}, draft.Services{}, problems[i].Fault()
	}
	w := newDraftServices(d.env, d.state)
	w.kept = store.Dir{Root: w.root}.JoinDraft(c.Name)
	return cluster, w.joinServices(c, cluster), nil
}

// joinServices are those of a draft with machines that join a cluster.
func (d *draftServices) joinServices(c backend.Cluster, cluster config.Draft) draft.Services {
	known := map[string]bool{}
	for _, m := range cluster.Machines {
		known[draft.MachineKey(m)] = true
	}
	fresh := func(of config.Draft) []config.Machine {
		return slices.DeleteFunc(slices.Clone(of.Machines), func(m config.Machine) bool {
			return known[draft.MachineKey(m)]
		})
	}
	list := filepath.Join(filepath.Dir(c.File), "join.yaml")
	svc := d.services()
	svc.Write = func(_ string, of config.Draft) error {
		if err := store.WriteList(list, fresh(of)); err != nil {
			return err
		}
		return d.trustIn(c.Name)
	}
	svc.Start = func(_ string, of config.Draft) backend.Start {
		return backend.Start{Request: joinOf(c.Name, list, fresh(of))}
	}
	return svc
}

// joinOf is the request for machines to join. Whoever continues it from the command line names the list.
func joinOf(cluster, list string, machines []config.Machine) request.Join {
	data, err := config.JoinList(machines)
	var nodes []config.Node
	if err == nil {
		nodes, _ = config.LoadNodes(data, list) // where none are in it, the writing of the list has said why
	}
	return request.Join{Common: request.OfCluster(cluster), Nodes: nodes, List: list}
}
