package runtimes

import (
	"context"
	_ "embed"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

//go:embed pins.sh
var pinsLib string

// Pins: the kubelet removes no image with the label, however full the disk is.
func (d containerd) Pins() string { return strings.ReplaceAll(pinsLib, "@CTR@", d.ctr()) }

// Pins: there is no such mark.
func (docker) Pins() string { return "" }

// Pins: there is no such mark.
func (isulad) Pins() string { return "" }

// Pin keeps images on the node that nothing runs from yet, or any more, until Unpin. An image that somebody else has
// marked is left alone. A runtime that knows no mark pins nothing.
func (r *Runtimes) Pin(n config.Node, images func() []string) *engine.Step {
	s := plan.Step(plan.PhaseInfra, "pin-images", n.Name, []string{plan.ID(plan.PhaseInfra, "load-images", n.Name)})
	s.Retry = engine.Retry{Tries: 2, Delay: 2 * time.Second}
	lib := r.Runtime().Pins()
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		if lib == "" {
			return true, nil
		}
		out, err := nd.Query(ctx, lib+"loose "+shell.QuoteAll(images())+"\n")
		return err == nil && out == "", err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		_, err := nd.Change(ctx, node.Change{Desc: event.M("change.pin-images"),
			Script: lib + "home\npin " + shell.QuoteAll(images()) + "\n"})
		return err
	})
	return s
}

// Unpin takes away the marks that Pin made, when the steps of needs are done.
func (r *Runtimes) Unpin(n config.Node, needs []string) *engine.Step {
	s := plan.Step(plan.PhaseCheck, "unpin-images", n.Name, needs)
	s.Retry = engine.Retry{Tries: 2, Delay: 2 * time.Second}
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		out, err := nd.Query(ctx, "[ ! -e "+node.Dir+"/pinned ] || echo some\n")
		return err == nil && out == "", err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		_, err := nd.Change(ctx, node.Change{Desc: event.M("change.unpin-images"),
			Script: r.Runtime().Pins() + "unpin\n"})
		return err
	})
	return s
}
