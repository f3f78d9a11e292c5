package host

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// What the front ends show of upgrades before one begins.

// Upgrades finds bundles of newer versions for the nodes of a cluster, and those whose paths were given.
func (h *Host) Upgrades(ctx context.Context, cluster string, paths []string) (backend.Upgrades, error) {
	out, own, _, err := h.upgradesOf(cluster)
	if err != nil {
		return out, err
	}
	seen := map[string]bool{}
	add := func(path string, named, file bool) (added bool) {
		if seen[path] || ctx.Err() != nil {
			return seen[path]
		}
		seen[path] = true
		got, err := h.Bundle(ctx, path)
		fits := err == nil && compare(got.Kubernetes, out.From) > 0 && slices.Contains(out.Arches, got.Arch)
		if fits || file {
			x := backend.Found{Path: path, Bundle: got, Fault: event.AsFault(err), Named: named}
			out.Bundles = append(out.Bundles, x)
		}
		return fits || file
	}
	inside := func(dir string, named bool) (some bool) {
		for _, p := range bundle.Beside(filepath.Join(dir, "x")) {
			some = add(p, named, false) || some
		}
		return some
	}
	for _, p := range paths {
		p = h.Path(p)
		if i, err := os.Stat(p); err != nil || !i.IsDir() {
			add(p, true, true)
		} else if !inside(p, true) {
			none := event.NewFault(event.ClassBundle, "bundle.none-here", nil, "file", p)
			out.Bundles = append(out.Bundles, backend.Found{Path: p, Fault: none, Named: true})
		}
	}
	for _, dir := range append(own, h.bundlePlaces()...) {
		inside(dir, false)
	}
	inOrder(out.Bundles)
	return out, ctx.Err()
}

// upgradesOf returns what is known of a cluster without a search, with the directories of its bundles and the version
// of its etcd.
func (h *Host) upgradesOf(cluster string) (out backend.Upgrades, dirs []string, etcd string, err error) {
	saved := filepath.Join(h.Root, cluster, store.ConfigName)
	c, err := savedCluster(saved)
	if err != nil {
		return out, nil, "", err
	}
	for _, n := range c.Nodes {
		if !slices.Contains(out.Arches, n.Arch) {
			out.Arches = append(out.Arches, n.Arch)
		}
	}
	slices.Sort(out.Arches)
	for _, b := range c.Bundles() {
		got, err := h.Bundle(context.Background(), b.Path)
		if err != nil {
			return out, nil, "", event.NewFault(event.ClassBundle, "upgrade.own-bundle", err, "file", b.Path, "cluster",
				cluster, "own", saved)
		}
		if v := got.Kubernetes; out.From == "" || compare(v, out.From) > 0 {
			out.From, etcd = v, etcdOf(got)
		}
		dirs = append(dirs, filepath.Dir(b.Path))
	}
	return out, dirs, etcd, nil
}

// etcdOf returns the version of etcd in a bundle, without its v.
func etcdOf(b backend.Bundle) string {
	for _, g := range b.Groups {
		for _, m := range g.Members {
			if g.Kind == string(bundle.Binary) && m.Name == "etcd" {
				return strings.TrimPrefix(m.Version, "v")
			}
		}
	}
	return ""
}

// minorOf returns the minor of a version: 3.6 of 3.6.5.
func minorOf(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// inOrder sorts bundles as an upgrade takes them.
func inOrder(list []backend.Found) {
	slices.SortFunc(list, func(a, b backend.Found) int {
		return cmp.Or(compare(a.Kubernetes, b.Kubernetes), cmp.Compare(a.Arch, b.Arch), cmp.Compare(a.Path, b.Path))
	})
}

// Way returns the versions that an upgrade with bundles goes over.
func (h *Host) Way(ctx context.Context, cluster string, bundles []string) (backend.Way, error) {
	of, _, etcd, err := h.upgradesOf(cluster)
	w, last := backend.Way{From: of.From}, of.From
	for _, p := range bundles {
		if err == nil {
			var b backend.Bundle
			b, err = h.Bundle(ctx, p)
			of.Bundles = append(of.Bundles, backend.Found{Path: p, Bundle: b})
		}
	}
	if err != nil {
		return w, err
	}
	inOrder(of.Bundles)
	for _, b := range of.Bundles {
		if n := len(w.Hops); n == 0 || w.Hops[n-1].Version != b.Kubernetes {
			hop := backend.Hop{Version: b.Kubernetes, Back: wayBack(last, b.Kubernetes)}
			hop.Soaks = hop.Back == backend.BackInSoak
			was := etcd
			etcd = etcdOf(b.Bundle)
			if hop.Etcd = etcd != was; minorOf(etcd) != minorOf(was) { // its data cannot go back
				hop.Back = backend.BackNone
			}
			w.Hops, last = append(w.Hops, hop), b.Kubernetes
		}
		hop := &w.Hops[len(w.Hops)-1]
		if !slices.Contains(hop.Arches, b.Arch) {
			hop.Arches = append(hop.Arches, b.Arch)
		}
	}
	_, err = operation.Route(ctx, request.NewUpgrade(request.OfCluster(cluster), bundles...), h.Deps())
	if f := event.AsFault(err); f != nil && f.Code == "upgrade.arch" { // they are being chosen one by one
		return w, nil
	}
	return w, err
}

// emulates returns the oldest minor that a control plane of the next one can emulate.
const emulates = 34

func wayBack(from, to string) backend.Back {
	switch was := bundle.Minor(from); {
	case was == bundle.Minor(to):
		return backend.BackToTheEnd
	case was >= emulates:
		return backend.BackInSoak
	}
	return backend.BackNever
}

// compare orders versions; what is no version comes first.
func compare(a, b string) int {
	x, errX := semver.NewVersion(a)
	y, errY := semver.NewVersion(b)
	if errX != nil || errY != nil {
		return strings.Compare(a, b)
	}
	return x.Compare(y)
}

// bundlePlaces returns the directories that are searched for bundles by default.
func (h *Host) bundlePlaces() []string {
	home := h.home()
	places := []string{
		".", "out", home, filepath.Join(home, ".eggo"), "/var/lib/eggo", "/opt", "/opt/eggo", "/srv", "/srv/eggo",
		"/mnt", "/media",
	}
	for _, glob := range []string{"/mnt/*", "/media/*", "/media/*/*"} {
		more, _ := filepath.Glob(glob) // its only error is a bad pattern
		places = append(places, more...)
	}
	for i, dir := range places {
		places[i] = h.Path(dir)
	}
	return places
}
