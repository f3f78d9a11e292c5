package main

import (
	"cmp"
	"context"
	"maps"
	"sync"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
)

// backendServices are what the front ends know of this machine and can begin on it.
type backendServices struct {
	env   *environment
	state string // --state-dir

	mu sync.Mutex
	// answers of the person by cluster, while the screen is open: who goes on is not asked again
	known map[string]map[string]string
}

// answered gives what the person has answered about a cluster.
func (d *backendServices) answered(cluster string) map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.known[cluster])
}

// remember keeps the answers that led to every machine; nil forgets them.
func (d *backendServices) remember(cluster string, answers map[string]string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known = map[string]map[string]string{}
	}
	d.known[cluster] = maps.Clone(answers)
}

// learn remembers the answers if they led somewhere and were refused nowhere; who refuses them is asked about anew.
func (d *backendServices) learn(cluster string, a *screenAsker) {
	answers := a.answers()
	a.mu.Lock()
	opened, refused := a.opened, a.refused
	a.mu.Unlock()
	switch {
	case cluster == "":
	case refused > 0:
		d.remember(cluster, nil)
	case opened > 0:
		d.remember(cluster, answers)
	}
}

func (d *backendServices) services() backend.Services {
	return backend.Services{
		Clusters: d.clusters, Open: d.open, Launch: d.launch, Read: d.read, List: d.list, Check: d.check,
		Bundle: d.bundle,
		Verify: d.verify,
	}
}

func (d *backendServices) root() string { return stateRoot(d.env, d.state) }

// clusters are those of the state directory with their runs.
func (d *backendServices) clusters(ctx context.Context) ([]backend.Cluster, error) {
	all, err := operation.Overview(ctx, stateStore(d.env, d.state))
	if err != nil {
		return nil, err
	}
	var out []backend.Cluster
	for _, k := range all {
		c := backend.Cluster{
			Name: k.Name, Status: k.Status, Masters: k.Masters, Workers: k.Workers, Nodes: nodesOf(k.Nodes),
			File: k.File, Tried: k.Tried,
		}
		for _, r := range k.Runs {
			c.Runs = append(c.Runs, runOf(r))
		}
		out = append(out, c)
	}
	return out, nil
}

func runOf(r request.RunInfo) backend.Run {
	out := backend.Run{
		Ref: backend.Ref(r.Ref), Verb: r.Verb, File: r.File, Version: r.Version, Status: r.Status, At: r.At,
		Took: r.Took, Exit: r.Exit, Fault: r.Fault,
	}
	for _, w := range r.Waits {
		out.Waits = append(out.Waits, backend.Wait{Node: w.Node, Step: w.Title, Since: w.Since, Fault: w.Fault})
	}
	return out
}

func nodesOf(nodes []config.Node) []backend.Node {
	var out []backend.Node
	for _, n := range nodes {
		x := backend.Node{Name: n.Name, Addr: n.IP.String(), Arch: n.Arch}
		for _, r := range n.Roles {
			x.Roles = append(x.Roles, string(r))
		}
		out = append(out, x)
	}
	return out
}

// open is the board of a run.
func (d *backendServices) open(ctx context.Context, r backend.Ref, replay float64) (backend.Board, error) {
	return openBoard(ctx, d.env, stateStore(d.env, d.state), r, replay)
}

// ascii says whether only ASCII is to be drawn, and whether it is for the Linux console, whose fonts have no more.
func ascii(env *environment, flag bool) (yes, console bool) {
	switch v := env.Getenv("EGGO_ASCII"); {
	case flag || v != "" && v != "0":
		return true, false
	case v == "0": // serial lines and some programs say linux and can do more
		return false, false
	}
	wide := cmp.Or(env.Getenv("RUNEWIDTH_EASTASIAN"), "0") != "0"
	return wide || env.Getenv("TERM") == "linux", env.Getenv("TERM") == "linux"
}
