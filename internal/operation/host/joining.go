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

// Joining returns the draft of a cluster, from its own deploy.yaml, and the control host of machines that join it.
func (h *Host) Joining(c request.ClusterRuns) (config.Draft, backend.DraftServices, error) {
	data, err := os.ReadFile(c.File)
	if err != nil {
		return config.Draft{}, nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	cluster, problems := config.ReadDraft(data, c.File)
	if i := slices.IndexFunc(problems, func(p config.Problem) bool { return p.Severity == event.Error }); i >= 0 {
		return config.Draft{}, nil, problems[i].Fault()
	}
	return cluster, h.newDraft(h.store().JoinDraft(c.Name)).joining(c, cluster), nil
}

// joinDraft is a draft with machines that join a cluster: their list is written in place of a deploy.yaml.
type joinDraft struct {
	*Draft
	name    string
	cluster config.Draft
	list    string // the file that the list is written to
}

func (d *Draft) joining(c request.ClusterRuns, cluster config.Draft) *joinDraft {
	return &joinDraft{d, c.Name, cluster, filepath.Join(filepath.Dir(c.File), "join.yaml")}
}

// Write writes the list of the machines that the cluster does not have.
func (j *joinDraft) Write(_ string, of config.Draft, _ *i18n.Printer) error {
	if err := store.WriteList(j.list, j.fresh(of)); err != nil {
		return err
	}
	return j.trustIn(j.name, j.cluster)
}

// Start returns the join of the machines that the cluster does not have.
func (j *joinDraft) Start(_ string, of config.Draft) backend.Start {
	return backend.Start{Request: joinOf(j.name, j.list, j.fresh(of))}
}

func (j *joinDraft) fresh(of config.Draft) []config.Machine {
	known := map[string]bool{}
	for _, m := range j.cluster.Machines {
		known[draft.MachineKey(m)] = true
	}
	return slices.DeleteFunc(slices.Clone(of.Machines), func(m config.Machine) bool {
		return known[draft.MachineKey(m)]
	})
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
