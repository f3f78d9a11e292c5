package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/trust"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/staging"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/ui/wizard"
)

// What the wizard looks at while a person types.

// watcher is a sink that hands each event to a function.
type watcher func(event.Event)

// Emit implements event.Sink.
func (w watcher) Emit(r event.Record) error { w(r.Event); return nil }

// probe looks at one machine: the way there, the login, what it is and what is wrong with it by itself.
func (d *draftDesk) probe(ctx context.Context, draft config.Draft, m config.Machine, tell func(wizard.Look)) {
	fail := func(err error) {
		if ctx.Err() == nil {
			tell(wizard.Look{Machine: m, Stage: wizard.Failed, Fault: event.AsFault(err)})
		}
	}
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return
	}
	c, n, err := aloneDraft(draft, m, d.path(draft.Get("cluster-id")))
	if err != nil {
		fail(err)
		return
	}
	dir, err := d.own()
	if err != nil {
		fail(err)
		return
	}
	if known := c.Eggo.KnownHosts; known != "" {
		d.mu.Lock()
		if data, e := os.ReadFile(known); e == nil {
			err = mergeLines(filepath.Join(dir, "known_hosts"), data)
		}
		d.mu.Unlock()
	} else if data, e := os.ReadFile(filepath.Join(d.root, draft.Get("cluster-id"), "known_hosts")); e == nil {
		d.mu.Lock()
		err = mergeLines(filepath.Join(dir, "known_hosts"), data)
		d.mu.Unlock()
	}
	if err != nil {
		fail(err)
		return
	}
	deps := d.deps
	deps.Asker = probeAsker{answering{kept(nil), d.env.Getenv}, d.asksOf(m, tell)}
	found, err := operation.Probe(ctx, operation.ProbeRequest{
		Cluster: c, Node: n, KnownHosts: filepath.Join(dir, "known_hosts"), HostKeys: cmp.Or(c.Eggo.HostKeys, "ask"),
	}, deps, func(s operation.ProbeStage) {
		tell(wizard.Look{Machine: m, Stage: map[operation.ProbeStage]wizard.Stage{
			operation.ProbeConnected: wizard.LogIn, operation.ProbeInspecting: wizard.Looking,
		}[s]})
	})
	if err != nil {
		fail(err)
		return
	}
	tell(seenLook(m, found.Machine, found.Facts, found.Findings))
}

// probeAsker asks about host keys where the machine that is probed is shown.
type probeAsker struct {
	answering
	ask func(context.Context, remote.HostKeyQuestion) (bool, error)
}

// HostKey implements operation.Asker.
func (a probeAsker) HostKey(ctx context.Context, q remote.HostKeyQuestion) (bool, error) {
	return a.ask(ctx, q)
}

// asksOf hands the question about a host key to the screen and waits for the person; others are looked at meanwhile.
func (d *draftDesk) asksOf(m config.Machine, tell func(wizard.Look)) func(context.Context, remote.HostKeyQuestion) (bool, error) {
	return func(ctx context.Context, q remote.HostKeyQuestion) (bool, error) {
		answer := make(chan bool, 1)
		var once sync.Once
		tell(wizard.Look{Machine: m, Stage: wizard.Asking, Key: &wizard.HostKey{Addr: q.Addr, Type: q.Type, Fingerprint: q.Fingerprint, Answer: func(trust bool) {
			once.Do(func() { answer <- trust })
		}}})
		<-d.turn
		defer func() { d.turn <- struct{}{} }()
		select {
		case yes := <-answer:
			if yes {
				tell(wizard.Look{Machine: m, Stage: wizard.LogIn})
			}
			return yes, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

func seenLook(m config.Machine, s phases.Machine, f *phases.Facts, findings []event.Finding) wizard.Look {
	l := wizard.Look{
		Machine: m, Stage: wizard.Seen, Hostname: f.Hostname, OS: s.OS, OSID: strings.ToLower(f.OS["ID"] + " " + f.OS["ID_LIKE"]), Codename: f.OS["VERSION_CODENAME"], Release: f.OS["VERSION_ID"],
		Arch: s.Arch, CPUs: s.CPUs, Memory: s.MemoryBytes, Disk: s.DiskBytes, Skew: time.Duration(s.SkewNS), Cluster: s.Cluster,
	}
	for _, x := range findings {
		if x.Fault.Code == "preflight.arch" && m.Arch == "" { // it was not said, so it is taken as it is
			continue
		}
		l.Findings = append(l.Findings, x)
	}
	return l
}

// aloneDraft is the cluster of one machine, with the login and the settings of a draft that may be wrong elsewhere.
func aloneDraft(draft config.Draft, m config.Machine, file string) (*config.Cluster, config.Node, error) {
	c, _, err := draft.Cluster(file)
	if err != nil {
		return nil, config.Node{}, err
	}
	if c == nil { // what is wrong is told where it is typed; here it is left out
		alone := config.Draft{Values: map[string]string{"package-src.x86src": "x.tar.gz", "package-src.armsrc": "x.tar.gz"}, KeepSecrets: true}
		for _, k := range []string{"cluster-id", "username", "password", "private-key-path", "eggo.sudo-password", "eggo.bastion", "eggo.known-hosts", "eggo.ssh-legacy-algorithms", "eggo.host-keys", "eggo.password-from", "eggo.sudo-password-from", "runtime"} {
			if v := draft.Values[k]; v != "" {
				if _, bad := config.CheckValue(k, v); !bad {
					alone.Values[k] = v
				}
			}
		}
		one := m
		one.Roles = append(slices.Clone(m.Roles), bundle.ControlPlane)
		if _, bad := config.CheckMachine("name", one.Name); bad || one.Name == "" {
			one.Name = "machine"
		}
		alone.Machines = []config.Machine{one}
		var problems config.Problems
		if c, problems, err = alone.Cluster(file); err != nil {
			return nil, config.Node{}, err
		}
		if c == nil {
			for _, p := range problems {
				if p.Severity == event.Error {
					return nil, config.Node{}, p.Fault()
				}
			}
		}
	}
	for _, n := range c.Nodes {
		if n.IP.String() == m.IP {
			n.Roles = slices.Clone(m.Roles)
			return c, n, nil
		}
	}
	return nil, config.Node{}, event.NewFault(event.ClassUsage, "config.ip", nil, "value", m.IP)
}

// bundlePlaces are the directories that are looked into without being told.
func (d *draftDesk) bundlePlaces() []string {
	home := d.env.Getenv("HOME")
	places := []string{".", home, filepath.Join(home, ".eggo"), "/var/lib/eggo", "/opt", "/opt/eggo", "/srv", "/srv/eggo", "/mnt", "/media"}
	for _, glob := range []string{"/mnt/*", "/media/*", "/media/*/*"} {
		more, _ := filepath.Glob(glob) // its only error is a bad pattern
		places = append(places, more...)
	}
	return places
}

// bundles finds bundles where they usually lie and where the paths lead, opens them, and then proves each byte of each. What lies in the
// usual places and is no bundle is nobody's business; a path that was given says what is wrong with it.
func (d *draftDesk) bundles(ctx context.Context, paths []string, tell func(wizard.Bundle)) {
	var list []wizard.Bundle
	seen := map[string]bool{}
	look := func(path string, named bool) {
		if seen[path] || ctx.Err() != nil {
			return
		}
		seen[path] = true
		a, err := bundle.Open(path)
		if err != nil {
			if named {
				tell(wizard.Bundle{Path: path, Fault: event.AsFault(err)})
			}
			return
		}
		b := wizard.Bundle{Path: path, Size: a.Size(), Manifest: a.Manifest()}
		found, err := d.vouch(ctx, path, a.Manifest(), a.Sums())
		if err != nil { // what would be refused is not even read
			b.Fault = event.AsFault(err)
			tell(b)
			return
		}
		b.Signed = found.Msg()
		tell(b)
		list = append(list, b)
	}
	inside := func(dir string, named bool) {
		found := bundle.Beside(filepath.Join(dir, "x"))
		for _, p := range found {
			look(p, named)
		}
		if named && len(found) == 0 {
			tell(wizard.Bundle{Path: dir, Fault: event.NewFault(event.ClassBundle, "bundle.none-here", nil, "file", dir)})
		}
	}
	for _, p := range paths {
		p = d.path(p)
		if i, err := os.Stat(p); err == nil && i.IsDir() {
			inside(p, true)
			continue
		}
		look(p, true)
	}
	for _, dir := range d.bundlePlaces() {
		if dir != "" {
			inside(d.path(dir), false)
		}
	}
	for _, b := range list {
		if ctx.Err() != nil {
			return
		}
		d.prove(ctx, b, len(list) == 1, tell)
	}
}

// prove reads a bundle to its end, once as long as it is the same. The only one that there is will be installed from: it is unpacked on the
// way, as preflight and the run do, so that neither reads it again.
func (d *draftDesk) prove(ctx context.Context, b wizard.Bundle, only bool, tell func(wizard.Bundle)) {
	id := b.Path
	if i, err := os.Stat(b.Path); err == nil {
		id += fmt.Sprintf(" %d %s", i.Size(), i.ModTime())
	}
	d.mu.Lock()
	was, known := d.proven[id]
	d.mu.Unlock()
	if known {
		was.Signed = b.Signed // who is trusted may have changed
		tell(was)
		return
	}
	last := time.Time{}
	err := d.readWhole(ctx, b, only, func(done, _ int64) {
		if now := time.Now(); now.Sub(last) >= 250*time.Millisecond {
			last = now
			b := b
			b.Done = done
			tell(b)
		}
	})
	if ctx.Err() != nil {
		return
	}
	b.Done, b.Proven = b.Size, err == nil
	if err != nil {
		b.Fault = event.AsFault(err)
	}
	d.mu.Lock()
	d.proven[id] = b
	d.mu.Unlock()
	tell(b)
}

// vouch says who signed a bundle, and refuses what this machine would not install. Nobody is asked: that is done when the run begins.
func (d *draftDesk) vouch(ctx context.Context, path string, m *bundle.Manifest, sums []byte) (staging.Checked, error) {
	v, err := staging.NewChecker(d.root, request.Trust{}, nil)
	if err != nil {
		return staging.Checked{}, err
	}
	found, _, err := v.Check(ctx, path, m, sums)
	return found, err
}

// errLater keeps a bundle from being unpacked about whose signer somebody has yet to be asked.
var errLater = errors.New("its signer is not known yet")

// readWhole verifies every byte of a bundle, unless it was when it was unpacked and is the same since. only: it is unpacked, if there is room.
func (d *draftDesk) readWhole(ctx context.Context, b wizard.Bundle, only bool, progress func(done, total int64)) error {
	dir := filepath.Join(d.root, "bundles")
	if bundle.Finished(b.Path, dir) {
		return nil
	}
	if only && b.Manifest.Base == nil {
		staged, err := bundle.Stage(ctx, b.Path, dir, progress, bundle.WithVoucher(func(m *bundle.Manifest, sums []byte) error {
			found, err := d.vouch(ctx, b.Path, m, sums)
			if err == nil && found.State == trust.Stranger {
				err = errLater
			}
			return err
		}))
		if err == nil {
			staged.Release()
		}
		if f := event.AsFault(err); err == nil || !errors.Is(err, errLater) && f.Code != "bundle.no-space" && f.Code != "bundle.write" {
			return err
		}
	}
	_, err := bundle.Verify(ctx, b.Path, progress)
	return err
}

// preflight is the verb's, told as it goes.
func (d *draftDesk) preflight(ctx context.Context, draft config.Draft, file string, tell func(wizard.Check)) {
	end := func(err error) {
		c := wizard.Check{End: true}
		if err != nil {
			c.Fault = event.AsFault(err)
		}
		tell(c)
	}
	q, err := d.request(draft, file)
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
				tell(wizard.Check{Linked: e.Host})
			}
		case event.StepEnded:
			if host := hosts[e.Step]; host != "" {
				tell(wizard.Check{Machine: host})
			}
		case event.Progress:
			tell(wizard.Check{Bundle: e.What, Done: e.Done, Total: e.Total})
		case event.Finding:
			tell(wizard.Check{Finding: &e})
		}
	})
	_, err = operation.Preflight(ctx, q, deps)
	if f := event.AsFault(err); f != nil && f.Code == "preflight.failed" {
		err = nil // the findings say it
	}
	end(err)
}

// plan is the verb's.
func (d *draftDesk) plan(ctx context.Context, draft config.Draft, file string) ([]wizard.Planned, error) {
	q, err := d.request(draft, file)
	if err != nil {
		return nil, err
	}
	would, err := operation.Plan(ctx, request.Deploy{Common: q}, d.deps)
	if err != nil {
		return nil, err
	}
	var out []wizard.Planned
	for _, h := range would.Nodes {
		p := wizard.Planned{Node: h.Node, Address: h.Address, Roles: h.Roles, Upload: h.Upload}
		for _, c := range h.Changes {
			p.Changes = append(p.Changes, wizard.PlannedChange{Desc: c.Desc, Exact: c.Exact})
		}
		out = append(out, p)
	}
	return out, nil
}

// typedSecrets are those of a draft, by the sentences with which a run asks for them.
func typedSecrets(draft config.Draft) map[string]string {
	out := map[string]string{"ask.password": draft.Values["password"], "ask.sudo": draft.Values["eggo.sudo-password"]}
	maps.DeleteFunc(out, func(_, v string) bool { return v == "" })
	return out
}
