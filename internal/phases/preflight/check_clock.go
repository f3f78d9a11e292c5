package preflight

import (
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

const (
	maxSkew  = 30 * time.Second // beyond it certificates and tokens fail in ways that nobody understands
	warnSkew = 5 * time.Second
)

// checkClock: the clocks of all nodes have to agree with that of this machine.
func checkClock() Check {
	return Check{
		Name: "clock", Codes: []string{"preflight.clock"},
		Node: func(_ *Input, n config.Node, f *facts.Facts) []event.Finding {
			sev, off := event.Warning, f.Skew.Abs()-f.SkewError
			if off <= warnSkew {
				return nil
			}
			if off > maxSkew {
				sev = event.Error
			}
			return one(sev, n, "preflight.clock", "skew", wordSkew(f.Skew), "limit", maxSkew.String())
		},
	}
}

// wordSkew words a difference of clocks with no more precision than one answer over a busy network gives.
func wordSkew(d time.Duration) string {
	if d.Abs() >= 10*time.Minute {
		return d.Round(time.Minute).String()
	}
	return d.Round(time.Second).String()
}
