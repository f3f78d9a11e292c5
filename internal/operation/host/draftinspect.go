package host

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/staging"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Inspections of the wizard while a user types.

// watcher is a sink that hands each event to a function.
type watcher func(event.Event)

// Emit implements event.Sink.
func (w watcher) Emit(r event.Record) error { w(r.Event); return nil }

// Probe inspects one machine: the way there, the login, its facts, and the problems of the machine by itself.
func (d *Draft) Probe(ctx context.Context, of config.Draft, m config.Machine, tell func(draft.Probe)) {
	fail := func(err error) {
		if ctx.Err() == nil {
			tell(draft.Probe{Machine: m, Stage: draft.Failed, Fault: event.AsFault(err)})
		}
	}
	turn := &place{of: d.turn}
	if !turn.take(ctx) {
		return
	}
	defer turn.leave()
	c, n, err := of.Alone(m, d.Path(of.Get("cluster-id")))
	if err != nil {
		fail(err)
		return
	}
	deps := d.deps
	deps.Asker = probeAsker{deps.Asker, d.asksOf(m, tell, turn)}
	found, err := operation.Probe(ctx, operation.ProbeRequest{
		Cluster: c, Node: n, KnownHosts: d.kept.KnownHosts(), HostKeys: cmp.Or(c.Eggo.HostKeys, "ask"),
		AlsoKnown: cmp.Or(c.Eggo.KnownHosts, filepath.Join(d.h.Root, of.Get("cluster-id"), "known_hosts")),
		Serves:    behind(c, n.Name, of.Machines),
	}, deps, func(s operation.ProbeStage) {
		tell(draft.Probe{Machine: m, Stage: map[operation.ProbeStage]draft.Stage{
			operation.ProbeConnected: draft.LogIn, operation.ProbeInspecting: draft.Inspecting,
		}[s]})
	})
	if err != nil {
		fail(err)
		return
	}
	tell(seenLook(m, found.Machine, found.Facts, found.Findings))
}

// behind counts the machines of a draft that are reached through the same bastions as one of them.
func behind(c *config.Cluster, name string, list []config.Machine) (count int) {
	if c.LoginOf(name).OwnBastions {
		return 1
	}
	for _, m := range list {
		if !c.LoginOf(m.Name).OwnBastions {
			count++
		}
	}
	return count
}

// probeAsker asks about host keys where the machine that is probed is shown.
type probeAsker struct {
	ask.Asker
	trusts func(context.Context, ask.HostKey) (bool, error)
}

// Ask implements ask.Asker.
func (a probeAsker) Ask(ctx context.Context, q ask.Question) (ask.Answer, error) {
	keys, is := q.(ask.HostKeys)
	if !is {
		return a.Asker.Ask(ctx, q)
	}
	var out ask.Answer
	for _, k := range keys.Keys {
		yes, err := a.trusts(ctx, k)
		if err != nil {
			return ask.Answer{}, err
		}
		out.Trusted = append(out.Trusted, yes)
	}
	return out, nil
}

// place is that of one machine among those that are probed at once.
type place struct {
	of   chan struct{}
	held bool
}

// take waits for it, and reports false when ctx ends before.
func (p *place) take(ctx context.Context) bool {
	select {
	case p.of <- struct{}{}:
		p.held = true
	case <-ctx.Done():
	}
	return p.held
}

func (p *place) leave() {
	if p.held {
		<-p.of
	}
	p.held = false
}

// asksOf hands the question about a host key to the screen and waits for the answer; others are probed meanwhile. The
// key of a bastion that was accepted for one machine is not asked about again for the next. All that are behind it
// wait for the answer, and may have all places: the probe continues without one.
func (d *Draft) asksOf(m config.Machine, tell func(draft.Probe), turn *place) func(context.Context,
	ask.HostKey) (bool, error) {
	return func(ctx context.Context, q ask.HostKey) (bool, error) {
		id := q.Addr + " " + q.Fingerprint
		d.mu.Lock()
		known := d.trusted[id]
		d.mu.Unlock()
		if known {
			return true, nil
		}
		answer := make(chan bool, 1)
		var once sync.Once
		tell(draft.Probe{Machine: m, Stage: draft.Asking, Key: &draft.KeyQuestion{
			Node: q.Node, Addr: q.Addr, Type: q.Type, Fingerprint: q.Fingerprint, Serves: q.Serves,
			Answer: func(trust bool) { once.Do(func() { answer <- trust }) },
		}})
		turn.leave()
		if q.Serves == 0 {
			defer turn.take(ctx)
		}
		select {
		case yes := <-answer:
			if yes {
				d.mu.Lock()
				d.trusted[id] = true
				d.mu.Unlock()
				tell(draft.Probe{Machine: m, Stage: draft.LogIn})
			}
			return yes, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

func seenLook(m config.Machine, s phases.Machine, f *phases.Facts, findings []event.Finding) draft.Probe {
	l := draft.Probe{
		Machine: m, Stage: draft.Seen, Hostname: f.Hostname, OS: s.OS,
		OSID: strings.ToLower(f.OS["ID"] + " " + f.OS["ID_LIKE"]), Codename: f.OS["VERSION_CODENAME"],
		Release: f.OS["VERSION_ID"],
		Arch:    s.Arch, CPUs: s.CPUs, Memory: s.MemoryBytes, Disk: s.DiskBytes, Skew: time.Duration(s.SkewNS),
		Cluster: s.Cluster,
	}
	for _, x := range findings {
		if x.Fault.Code == "preflight.arch" && m.Arch == "" { // it was not said, so it is taken as it is
			continue
		}
		l.Findings = append(l.Findings, x)
	}
	return l
}

// Bundles finds bundles where they usually are and where the paths lead, and verifies them.
func (d *Draft) Bundles(ctx context.Context, paths []string, tell func(draft.Bundle)) {
	d.search.Find(ctx, d.paths(paths), d.h.bundlePlaces(), func(f staging.Found) {
		tell(draft.Bundle{
			Path: f.Path, Size: f.Size, Manifest: f.Manifest, Signed: f.Signed, Fault: f.Fault, Done: f.Done,
			Verified: f.Verified,
		})
	})
}

// Preflight runs preflight, and calls tell for each check.
func (d *Draft) Preflight(ctx context.Context, of config.Draft, file string, tell func(draft.Check)) {
	end := func(err error) {
		c := draft.Check{End: true}
		if err != nil {
			c.Fault = event.AsFault(err)
		}
		tell(c)
	}
	q, err := d.request(of, file)
	if err != nil {
		end(err)
		return
	}
	deps, hosts := d.deps, map[string]string{}
	deps.Sink = watcher(func(e event.Event) {
		switch e := e.(type) {
		case event.PlanMade:
			for _, s := range e.Steps {
				hosts[s.ID] = s.Host
			}
		case event.HostState:
			if e.State == "connected" {
				tell(draft.Check{Linked: e.Host})
			}
		case event.StepEnded:
			if host := hosts[e.Step]; host != "" {
				tell(draft.Check{Machine: host})
			}
		case event.Progress:
			tell(draft.Check{Bundle: e.What, Done: e.Done, Total: e.Total})
		case event.Finding:
			tell(draft.Check{Finding: &e})
		}
	})
	_, err = operation.Preflight(ctx, q, deps)
	if f := event.AsFault(err); f != nil && f.Code == "preflight.failed" {
		err = nil // the findings say it
	}
	end(err)
}

// Plan is the verb's.
func (d *Draft) Plan(ctx context.Context, of config.Draft, file string) ([]draft.Planned, error) {
	q, err := d.request(of, file)
	if err != nil {
		return nil, err
	}
	would, err := operation.Plan(ctx, request.Deploy{Common: q}, d.deps)
	if err != nil {
		return nil, err
	}
	var out []draft.Planned
	for _, h := range would.Nodes {
		p := draft.Planned{Node: h.Node, Address: h.Address, Roles: h.Roles, Upload: h.Upload}
		for _, c := range h.Changes {
			p.Changes = append(p.Changes, draft.PlannedChange{Desc: c.Desc, Exact: c.Exact})
		}
		out = append(out, p)
	}
	return out, nil
}

// Past are earlier installs of all clusters.
func (d *Draft) Past(ctx context.Context) []draft.Past {
	var out []draft.Past
	for _, x := range operation.Installs(ctx, d.h.store()) {
		out = append(out, draft.Past(x))
	}
	return out
}
