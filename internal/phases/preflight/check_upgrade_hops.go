package preflight

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkUpgradeHops follows the versions, each of which is a patch or one minor above the one before, and makes of the
// bundles of the later ones the checks that are made of those of the first: what would stop the upgrade half way is
// told before it begins.
func checkUpgradeHops() Check {
	return Check{
		Name: "upgrade-hops", Codes: []string{"upgrade.hop-older", "upgrade.hop-skips", "upgrade.hop",
			"upgrade.hop-bundle"},
		Cluster: func(ctx context.Context, in *Input) []event.Finding {
			out := slices.Concat(in.Upgrade.Failed, hopBetween(in.Upgrade.From, in.Upgrade.To))
			was := in.Upgrade.To
			for _, h := range in.Upgrade.Later {
				out = append(out, hopBetween(was, h.Version)...)
				was = h.Version
				found := in.at(h).bundles(ctx, h)
				bad := 0
				for _, f := range found {
					if f.Severity == event.Error {
						bad++
					}
				}
				if bad > 0 {
					out = append(out, Finding(event.Error, "", "upgrade.hop", "version", h.Version, "count",
						strconv.Itoa(bad)))
				}
				out = append(out, found...)
			}
			return out
		},
	}
}

// hopBetween says what is wrong with the way from a version to the next one.
func hopBetween(from, to string) []event.Finding {
	a, b := bundle.Minor(from), bundle.Minor(to)
	switch {
	case a == 0 || b == 0: // told of the bundle
	case b < a || b == a && patch(to) < patch(from):
		return []event.Finding{Finding(event.Error, "", "upgrade.hop-older", "from", from, "to", to)}
	case b > a+1:
		return []event.Finding{Finding(event.Error, "", "upgrade.hop-skips", "from", from, "to", to, "next",
			fmt.Sprintf("1.%d", a+1))}
	}
	return nil
}

// patch is 4 of v1.35.4.
func patch(version string) int {
	parts, ok := etcdVersion(version)
	if !ok {
		return 0
	}
	return parts[2]
}

// at is the input as a later hop will have it: the same nodes, its bundles.
func (in *Input) at(h Hop) *Input {
	e, c := *in.Env, *in.Cluster
	c.Source = h.Source
	e.Cluster = &c
	then := *in
	then.Payload = &payload.Payload{Nodes: inventory.New(&e, facts.Places{}), Executed: in.Executed}
	for _, n := range c.Nodes {
		then.SetFact(n.Name, in.Fact(n.Name))
	}
	for key, b := range h.Bundles {
		then.SetBundle(key, b)
	}
	return &then
}

// bundles are the findings of the input's bundles, and of nodes that none of them serves or whose binaries they lack.
func (in *Input) bundles(ctx context.Context, h Hop) []event.Finding {
	out := h.Failed
	for _, s := range in.sources() {
		switch {
		case s.Bundle != nil:
			out = append(out, onBundle(in, Bundle(), s)...)
		case len(h.Failed) == 0:
			out = append(out, Finding(event.Error, "", "upgrade.hop-bundle", "version", h.Version, "arch", s.Key))
		}
	}
	out = append(out, in.ofVersion(h.Version)...)
	for _, n := range in.Cluster.Nodes {
		if f := in.Fact(n.Name); f != nil {
			out = append(out, RunOn(ctx, in, []Check{checkSystem(), checkPrograms()}, n, f)...)
		}
	}
	return out
}
