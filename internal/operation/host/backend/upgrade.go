package backend

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Upgrades has the bundles that a cluster can be upgraded with.
type Upgrades struct {
	From    string   // its version
	Arches  []string // of its nodes
	Bundles []Found  // by version: those of newer versions that were found, and those whose paths were given
}

// Found is a bundle that was found, with its fault.
type Found struct {
	Path string
	Bundle
	Fault *event.Fault
	Named bool // its path was given, or that of its directory
}

// Way is the way of an upgrade with some bundles.
type Way struct {
	From string
	Hops []Hop
}

// Hop is a version on the way of an upgrade.
type Hop struct {
	Version string
	Arches  []string // that there is a bundle for
	Back    Back
	Soaks   bool // its control plane emulates the old minor at first
	Etcd    bool // it brings another version of etcd
}

// Back tells how long a hop can be reverted without restoring etcd.
type Back string

// The ways back.
const (
	BackToTheEnd Back = "end"      // of the upgrade: a patch
	BackInSoak   Back = "soak"     // as long as the new version emulates the old minor
	BackNever    Back = "snapshot" // only the snapshot leads back
	BackNone     Back = "none"     // etcd comes to another minor, so that not even the snapshot does
)

// versions are those of hops on the way.
func (w Way) versions(which func(Hop) bool) string {
	var out []string
	for _, h := range w.Hops {
		if which(h) {
			out = append(out, h.Version)
		}
	}
	return strings.Join(out, ", ")
}

// Order describes the way, step by step.
func (w Way) Order(c request.ClusterRuns, q request.Upgrade) []event.Msg {
	out := []event.Msg{event.M("upgrade.order.snapshot"),
		event.M("upgrade.order.upload", "count", strconv.Itoa(len(c.Nodes)))}
	if slices.ContainsFunc(w.Hops, func(h Hop) bool { return h.Etcd }) {
		out = append(out, event.M("upgrade.order.etcd"))
	}
	if c.Masters == 1 {
		out = append(out, event.M("upgrade.order.control-one"))
	} else {
		out = append(out, event.M("upgrade.order.control"))
	}
	if soaks := w.versions(func(h Hop) bool { return h.Soaks }); soaks != "" {
		out = append(out, event.M("upgrade.order.soak", "versions", soaks, "time", short(q.Soak)),
			event.M("upgrade.order.commit"))
	}
	batch := q.Batch
	if batch == "" {
		batch = "1"
	}
	out = append(out, event.M("upgrade.order.nodes", "batch", batch, "time", short(q.Drain)),
		event.M("upgrade.order.addons"))
	if len(w.Hops) > 1 {
		out = append(out, event.M("upgrade.order.again", "last", strconv.Itoa(len(out)), "count",
			strconv.Itoa(len(w.Hops))))
	}
	return out
}

// WayBack describes for each hop how long it can be reverted.
func (w Way) WayBack() []event.Msg {
	var out []event.Msg
	for _, b := range []Back{BackToTheEnd, BackInSoak, BackNever, BackNone} {
		if of := w.versions(func(h Hop) bool { return h.Back == b }); of != "" {
			out = append(out, event.M("upgrade.back."+string(b), "versions", of))
		}
	}
	return out
}

// Lacks names the versions that lack a bundle for one of the architectures.
func (w Way) Lacks(arches []string) []event.Msg {
	var out []event.Msg
	for _, h := range w.Hops {
		for _, a := range arches {
			if !slices.Contains(h.Arches, a) {
				out = append(out, event.M("upgrade.lacks", "version", h.Version, "arch", a))
			}
		}
	}
	return out
}

// Sure returns what the user confirms before the upgrade of a cluster begins.
func (w Way) Sure(c request.ClusterRuns) []event.Msg {
	return append([]event.Msg{event.M("upgrade.do.what", "from", w.From, "to", w.Hops[len(w.Hops)-1].Version, "count",
		strconv.Itoa(len(c.Nodes)))}, w.WayBack()...)
}

// short formats a duration without zero units at its end: 10m.
func short(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	s := d.String()
	if rest, ok := strings.CutSuffix(s, "m0s"); ok {
		s = rest + "m"
	}
	if rest, ok := strings.CutSuffix(s, "h0m"); ok {
		s = rest + "h"
	}
	return s
}

// UpgradeOn continues the upgrade of a cluster that is in progress, with the options of its last run.
func UpgradeOn(c request.ClusterRuns) Start {
	return Start{Request: request.NewUpgrade(request.OfCluster(c.Name)), Again: true}
}

// UpgradeBack reverts it.
func UpgradeBack(c request.ClusterRuns) Start {
	return Start{Request: request.Back{Common: request.OfCluster(c.Name)}}
}

// UpgradeOptions are those of an upgrade as they are typed.
type UpgradeOptions struct {
	Soak, Batch, Drain, Window, Probe string
	Force, Packages                   bool
}

// UsualUpgrade returns the default options.
func UsualUpgrade() UpgradeOptions {
	return UpgradeOptions{Soak: short(request.SoakTime), Batch: "1", Drain: short(request.DrainTimeout)}
}

// Request returns the upgrade of a cluster with bundles, or the error of the options.
func (o UpgradeOptions) Request(cluster string, bundles []string) (request.Upgrade, error) {
	q := request.NewUpgrade(request.OfCluster(cluster), slices.Clone(bundles)...)
	q.Force, q.Batch, q.Probe, q.Window, q.Packages = o.Force, o.Batch, o.Probe, o.Window, o.Packages
	for _, x := range []struct {
		text string
		to   *time.Duration
		zero bool
	}{{o.Soak, &q.Soak, true}, {o.Drain, &q.Drain, false}} {
		d, err := time.ParseDuration(strings.TrimSpace(x.text))
		if x.zero && strings.TrimSpace(x.text) == "" {
			d, err = 0, nil
		}
		if err != nil || d < 0 || d == 0 && !x.zero {
			return q, event.NewFault(event.ClassUsage, "upgrade.duration", nil, "value", x.text)
		}
		*x.to = d
	}
	return q, q.Validate()
}
