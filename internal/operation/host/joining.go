package host

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Joining is the draft of a cluster, from its own deploy.yaml, and its services for machines that join it.
func (h *Host) Joining(c backend.Cluster) (config.Draft, backend.DraftServices, error) {
	data, err := os.ReadFile(c.File)
	if err != nil {
		return config.Draft{}, backend.DraftServices{}, event.NewFault(event.ClassFailed, "state.read", err)
	}
	cluster, problems := config.ReadDraft(data, c.File)
	if i := slices.IndexFunc(problems, func(p config.Problem) bool { return p.Severity == event.Error }); i >= 0 {
		return config.Draft{}, backend.DraftServices{}, problems[i].Fault()
	}
	w := h.newDraft(h.store().JoinDraft(c.Name))
	return cluster, w.joinServices(c, cluster), nil
}

// joinServices are those of a draft with machines that join a cluster.
func (d *draftServices) joinServices(c backend.Cluster, cluster config.Draft) backend.DraftServices {
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
	svc.Write = func(_ string, of config.Draft, _ *i18n.Printer) error {
		if err := store.WriteList(list, fresh(of)); err != nil {
			return err
		}
		return d.trustIn(c.Name, cluster)
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
		nodes, _, _ = config.LoadNodes(data, list) // where none are in it, the writing of the list has said why
	}
	return request.Join{Common: request.OfCluster(cluster), Nodes: nodes, List: list}
}
