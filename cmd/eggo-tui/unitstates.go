package main

import (
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
)

// statesTimeout bounds the time in which all machines together say how their units are.
const statesTimeout = 30 * time.Second

// unitsOf is a machine's answer, or why there is none.
type unitsOf struct {
	node, text string
	err        error
}

// unitStates asks the machines of a cluster how their units are, side by side. Nobody is asked for anything: a machine that cannot be logged
// in to without is one that does not answer. An error is of all of them.
func unitStates(ctx context.Context, env *environment, o logOptions, c request.ClusterInfo) ([]unitsOf, error) {
	if c.File == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, statesTimeout)
	defer cancel()
	quiet := *env
	quiet.Stdin, quiet.Stdout, quiet.Stderr, quiet.Ask = strings.NewReader(""), io.Discard, io.Discard, nil
	s, err := openLook(ctx, &quiet, runOptions{id: c.Name, state: o.state, output: "plain"}, "support", &collector{})
	if err != nil {
		return nil, err
	}
	defer s.close()
	out := make([]unitsOf, len(s.cluster.Nodes))
	var wg sync.WaitGroup
	for i, n := range s.cluster.Nodes {
		wg.Go(func() {
			out[i].node = n.Name
			h, err := s.connect(ctx, n)
			if err == nil {
				out[i].text, err = phases.UnitStates(ctx, h)
			}
			out[i].err = err
		})
	}
	wg.Wait()
	return out, nil
}

// why words the fault for the archive.
func why(env *environment, err error) string {
	text, _ := env.P.Fault(event.AsFault(err))
	return event.Clean(text)
}
