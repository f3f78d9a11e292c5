package server

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/runs"
	"github.com/eggo-k8s/eggo/internal/server/route"
)

// ofOperation is askedFor about an operation of a cluster that exists, for which w is wanted. The key of a backup is
// asked for by the backup.
func (s *Server) ofOperation(
	ctx context.Context, cluster string, k manager.Kind, secrets map[string]string, w *runs.Wanted, seeded bool,
) error {
	if len(secrets) == 0 {
		return nil
	}
	if k == manager.Backup {
		secrets = maps.Clone(secrets)
		for _, id := range operation.BackupSecrets() {
			delete(secrets, id)
		}
	}
	if w == nil {
		v, err := s.Manager.Cluster(cluster)
		if err != nil {
			return err
		}
		was := wanted(v.Record)
		w = &was
	}
	return s.askedFor(ctx, cluster, w.Deploy, seeded, secrets)
}

// askedFor refuses secrets that no run of the cluster asks for, and such as no login takes: they are kept in memory for
// the runs that follow, and every run is sent them. deploy is the deploy.yaml that the cluster is created with, which
// counts if it has none of its own, or if it is about to.
func (s *Server) askedFor(
	ctx context.Context, cluster, deploy string, counts bool, secrets map[string]string,
) error {
	if len(secrets) == 0 {
		return nil
	}
	asked, err := s.Runs.Asks(ctx, cluster, deploy, counts)
	if err != nil {
		return err
	}
	said := slices.DeleteFunc(slices.Clone(asked), operation.IsKeyQuestion) // where keys are is not said
	for _, id := range slices.Sorted(maps.Keys(secrets)) {
		switch {
		case slices.Contains(asked, id):
			if len(secrets[id]) > runs.MostSecret {
				return event.NewFault(event.ClassUsage, "api.secret-long", nil, "name", id, "most",
					strconv.Itoa(runs.MostSecret))
			}
		case len(said) == 0:
			return event.NewFault(event.ClassUsage, "api.secret-none", nil, "cluster", cluster, "name", named(id))
		default:
			return event.NewFault(event.ClassUsage, "api.secret-other", nil, "cluster", cluster, "name", named(id),
				"asked", strings.Join(said[:min(len(said), mostNamed)], ", "), "n", strconv.Itoa(len(said)))
		}
	}
	return nil
}

// mostNamed is the maximum number of required secrets that a message lists.
const mostNamed = 20

// named is the name that a request gave, as far as it is worth repeating.
func named(id string) string {
	list := []rune(event.Clean(id))
	if len(list) > route.LongestName {
		return string(list[:route.LongestName]) + "…"
	}
	return string(list)
}
