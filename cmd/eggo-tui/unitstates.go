package main

import (
	"context"
	"time"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
)

// statesTimeout bounds the time in which all machines together say how their units are.
const statesTimeout = 30 * time.Second

// unitStates asks the nodes of a cluster how their units are, side by side. Nobody is asked for anything: a node that
// cannot be logged in to without is one that does not answer. An error is of all of them.
func unitStates(
	ctx context.Context, env *environment, o logOptions, c request.ClusterInfo,
) ([]operation.NodeResult[string], error) {
	if c.File == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, statesTimeout)
	defer cancel()
	q := request.Common{Source: request.Source{Cluster: c.Name}}
	return operation.UnitStates(ctx, q, env.quiet(stateRoot(env, o.state)))
}

// why words the fault for the archive.
func why(env *environment, err error) string {
	text, _ := env.P.Fault(event.AsFault(err))
	return event.Clean(text)
}
