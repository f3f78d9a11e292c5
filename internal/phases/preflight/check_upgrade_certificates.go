package preflight

import (
	"context"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkUpgradeCertificates finds certificates on a node that have ended, or end within a month: in the middle of an
// upgrade that would look like its work. Who continues an upgrade cannot renew them first, and need not: what it starts
// gets certificates that do not end soon.
func checkUpgradeCertificates() Check {
	return Check{
		Name: "upgrade-certificates", Needs: Ours,
		Codes: []string{"upgrade.certificate-ended", "upgrade.certificate-renews", "upgrade.certificate-ends",
			"upgrade.certificates"},
		Ask: func(ctx context.Context, in *Input, n config.Node, _ *facts.Facts) []event.Finding {
			return in.certificates(ctx, n)
		},
	}
}

// certificates are the findings of a node's: those that have ended together, then those that will soon.
func (in *Input) certificates(ctx context.Context, n config.Node) []event.Finding {
	const soon = 30 * 24 * time.Hour
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	list, err := in.Upgrade.Certificates(ctx, n)
	if err != nil {
		return one(event.Warning, n, "upgrade.certificates", "cause", event.Clean(err.Error()))
	}
	var ended, ends []string
	for _, c := range list {
		switch left := c.End.Sub(in.Now()); {
		case left <= 0:
			ended = append(ended, c.At)
		case left < soon:
			ends = append(ends, c.At)
		}
	}
	var out []event.Finding
	if len(ended) > 0 {
		code := "upgrade.certificate-ended"
		if in.Upgrade.Continues {
			code = "upgrade.certificate-renews"
		}
		out = append(out, Finding(in.ill(), n.Name, code, "at", few(ended), "cluster", in.Cluster.Name))
	}
	if len(ends) > 0 {
		out = append(out, Finding(event.Warning, n.Name, "upgrade.certificate-ends", "at", few(ends), "cluster",
			in.Cluster.Name))
	}
	return out
}
