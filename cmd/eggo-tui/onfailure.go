package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
)

// onFailure is what --on-failure says.
type onFailure struct {
	decision engine.Decision
	retries  int
	ask      bool // whoever has the run on a board
}

// pauseBetweenRounds is what a step that has failed for good rests before it is tried again because --on-failure says so.
const pauseBetweenRounds = 5 * time.Second

func parseOnFailure(s string) (onFailure, error) {
	switch s {
	case "ask":
		return onFailure{ask: true}, nil
	case "", "abort", "skip":
		return onFailure{decision: engine.Decision(s)}, nil
	}
	if n, ok := strings.CutPrefix(s, "retry="); ok {
		if n, err := strconv.Atoi(n); err == nil && n > 0 && n <= 100 {
			return onFailure{decision: engine.TryAgain, retries: n}, nil
		}
	}
	return onFailure{}, event.NewFault(event.ClassUsage, "usage.on-failure", nil, "value", s)
}

// options sets what the engine does when a step fails for good.
func (o onFailure) options(opts *engine.Options) {
	if o.ask { // listen sets Decide
		return
	}
	if o.decision != engine.TryAgain {
		opts.OnFailure = o.decision
		return
	}
	var mu sync.Mutex
	tried := map[string]int{}
	hopeless := append(settled(), event.ClassAuth)
	opts.Decide = func(ctx context.Context, f engine.Failure) engine.Decision {
		mu.Lock()
		tried[f.Step.ID]++
		used := tried[f.Step.ID]
		mu.Unlock()
		if used > o.retries || slices.Contains(hopeless, f.Fault.Class) {
			return engine.Abort
		}
		select {
		case <-time.After(pauseBetweenRounds):
		case <-ctx.Done():
		}
		return engine.TryAgain
	}
}

// settled are the classes of what was found before anything was touched: it does not change by looking again.
func settled() []event.Class {
	return []event.Class{event.ClassPreflight, event.ClassUsage, event.ClassBundle, event.ClassLocked}
}
