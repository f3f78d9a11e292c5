package payload

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle/nodepath"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// CheckLinks is CheckTargets for the links that a service's start may switch: since they were made somebody may have
// changed the directories that they are in.
func (r *Payload) CheckLinks(ctx context.Context, n config.Node, nd *node.Node, svc node.Service) error {
	b := r.BundleOf(n)
	if len(svc.Binaries) == 0 || b == nil {
		return nil
	}
	return r.CheckTargets(ctx, nd, slices.DeleteFunc(r.Members(n, b.Manifest()), func(p Placed) bool {
		return !slices.ContainsFunc(svc.Binaries, func(b node.Binary) bool { return p.Executed && b.Link == p.File })
	}))
}

// PlaceFault says why a file may not be put where it is to go, nil when it may.
func PlaceFault(p Placed) *event.Fault {
	err := nodepath.Check(p.Use, p.File)
	if err == nil {
		return nil
	}
	return event.NewFault(event.ClassBundle, "place."+nodepath.Why(err), nil, "path", event.Clean(p.File), "member",
		event.Clean(p.Path),
		"choices", strings.Join(nodepath.Dirs(p.Use), ", "))
}

// placesLib inspects directories and units of a node. A link on the way is none of ours, unless the node's record says
// that an earlier version went through it: what we place as links are files. Below a directory that everybody may write
// to, as /tmp is, others could have made what is there, and could change what we put in it.
//
//go:embed places.sh
var placesLib string

// CheckTargets refuses, right before anything is written, what may not be placed: a path that is not on the list, a
// directory that a link leads elsewhere or that somebody else may change, a unit that would hide another one. The
// faults are those of PlaceFault, node.outside-whitelist (a link), node.place-open and node.place-unit.
func (r *Payload) CheckTargets(ctx context.Context, nd *node.Node, list []Placed) error {
	for _, p := range list {
		if fault := PlaceFault(p); fault != nil {
			return fault.On(nd.Name())
		}
	}
	faults, err := r.TargetFaults(ctx, nd, list)
	if err == nil && len(faults) > 0 {
		err = faults[0]
	}
	return err
}

// ClosedLib decides who may change what is in a directory.
//
//go:embed closed.sh
var ClosedLib string

// TargetFaults asks the node about the directories of a list, each once, and about its units.
func (r *Payload) TargetFaults(ctx context.Context, nd *node.Node, list []Placed) ([]*event.Fault, error) {
	var script strings.Builder
	var asked []string
	ask := func(what, line string) {
		if !slices.Contains(asked, what) {
			asked = append(asked, what)
			script.WriteString(line + "\n")
		}
	}
	for _, p := range list {
		dir := path.Dir(p.File)
		ask(dir, "place "+shell.Quote(dir))
		if nodepath.InUnits(p.File) {
			ask(p.File, fmt.Sprintf("shadowed %s %s", shell.Quote(dir), shell.Quote(path.Base(p.File))))
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	out, err := nd.Query(ctx, ClosedLib+placesLib+script.String())
	if err != nil {
		return nil, err
	}
	answers := strings.Split(strings.TrimSpace(out), "\n")
	var faults []*event.Fault
	for i, what := range asked {
		answer := "nothing"
		if i < len(answers) {
			answer = answers[i]
		}
		kind, is, _ := strings.Cut(answer, " ")
		if kind == "fine" && is == "" {
			continue
		}
		code := map[string]string{"link": "node.outside-whitelist", "unit": "node.place-unit"}[kind]
		f := event.NewFault(event.ClassFailed, cmp.Or(code, "node.place-open"), nil, "path", what, "is",
			event.Clean(is))
		faults = append(faults, f.On(nd.Name()))
	}
	return faults, nil
}

// PluginPlace stands for the plugins that a package or the network's pods may put beside ours.
func (r *Payload) PluginPlace() Placed {
	return Placed{File: path.Join(r.CNIDir(), "plugin"), Use: nodepath.Program}
}
