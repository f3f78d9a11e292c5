package cluster

import (
	"slices"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operator/gather"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/operator/render"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// bundles returns all bundles of the Infrastructure.
func (w *world) bundles() []v1.BundleSource {
	if w.infra == nil {
		return nil
	}
	return gather.Bundles(w.infra, "")
}

// installed returns the version that the machines have: that of the bundles in the state of the cluster. "" if none is
// installed, or it is not known.
func (w *world) installed() string {
	if w.has.config == nil {
		return ""
	}
	for _, own := range w.has.config.Bundles() {
		for _, b := range w.bundles() {
			if b.Version != "" && pod.BundlePath(b) == own.Path {
				return b.Version
			}
		}
	}
	return w.cluster.Status.Version
}

// target returns the version that is wanted; "" if the bundles do not say which they have.
func (w *world) target() (string, *event.Fault) {
	if v := w.cluster.Spec.Version; v != "" {
		return v, nil
	}
	if v := w.installed(); v != "" {
		return v, nil
	}
	var versions []string
	for _, b := range w.bundles() {
		if b.Version != "" && !slices.Contains(versions, b.Version) {
			versions = append(versions, b.Version)
		}
	}
	if len(versions) > 1 {
		slices.Sort(versions)
		return "", event.NewFault(event.ClassUsage, "operator.no-version", nil, "cluster", w.cluster.Name,
			"infrastructure", w.infra.Name, "versions", strings.Join(versions, ", "))
	}
	return strings.Join(versions, ""), nil
}

// bundled refuses a version without a bundle for an architecture of the machines.
func (w *world) bundled(version string) *event.Fault {
	if w.infra == nil { // gather reports that
		return nil
	}
	of := gather.Bundles(w.infra, version)
	for _, m := range w.bound {
		arch := render.Arch(m.Spec.Arch)
		if arch == "" && m.Status.Facts != nil {
			arch = m.Status.Facts.Arch
		}
		if !slices.ContainsFunc(of, func(b v1.BundleSource) bool { return b.Arch == arch }) && arch != "" {
			return event.NewFault(event.ClassUsage, "operator.no-bundle", nil, "infrastructure", w.infra.Name,
				"version", version, "arch", arch)
		}
	}
	return nil
}

// way returns the versions of an upgrade: the newest of each minor between, and the target. Without an upgrade it is
// the target alone.
func (w *world) way(from, to string) ([]string, *event.Fault) {
	a, err := semver.NewVersion(from)
	b, err2 := semver.NewVersion(to)
	if err != nil || err2 != nil || b.LessThan(a) {
		return []string{to}, nil
	}
	var way []string
	for minor := a.Minor() + 1; minor < b.Minor(); minor++ {
		var newest *semver.Version
		for _, s := range w.bundles() {
			if v, err := semver.NewVersion(s.Version); err == nil && v.Major() == b.Major() && v.Minor() == minor &&
				(newest == nil || newest.LessThan(v)) {
				newest = v
			}
		}
		if newest == nil {
			return nil, event.NewFault(event.ClassUsage, "operator.version-gap", nil, "cluster", w.cluster.Name,
				"is", from, "version", to, "missing", "v1."+strconv.FormatUint(minor, 10))
		}
		way = append(way, newest.Original())
	}
	return append(way, to), nil
}

// paths returns the files of the bundles of versions in the pod of a run.
func (w *world) paths(versions []string) (out []string) {
	if w.infra == nil {
		return nil
	}
	for _, v := range versions {
		for _, b := range gather.Bundles(w.infra, v) {
			if p := pod.BundlePath(b); !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}
