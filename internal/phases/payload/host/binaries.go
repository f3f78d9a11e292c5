package host

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
)

// PlaceBinaries uploads what the node's roles need: what a service executes beside the version that runs, the rest
// straight to its place.
func (r *Host) PlaceBinaries(n config.Node, group string) *engine.Step {
	s := plan.Step(plan.PhaseInfra, "programs-"+group, n.Name, []string{plan.ID(plan.PhaseInfra, "claim", n.Name)})
	s.Lane, s.Limit, s.Timeout = plan.LaneBulk, plan.LimitUploads, 30*time.Minute
	s.Retry = engine.Retry{Tries: 5, Delay: 2 * time.Second, MaxDelay: 30 * time.Second}
	list := func() []payload.Placed {
		return slices.DeleteFunc(r.Members(n, r.BundleOf(n).Manifest()),
			func(p payload.Placed) bool { return plan.GroupOf(n, p.Member) != group })
	}
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		var want, script strings.Builder
		for _, p := range list() {
			at := p.File
			if p.Executed {
				at = p.Binary().File
				fmt.Fprintf(&script, "[ -e %[1]s ] || [ -L %[1]s ] || exit 0\n", shell.Quote(p.File))
			}
			fmt.Fprintf(&want, "%o %s\n", p.Mode, p.SHA256)
			fmt.Fprintf(&script,
				"[ -f %[1]s ] || exit 0\nm=$(stat -c %%a %[1]s); s=$(sha256sum <%[1]s); echo \"$m ${s%%%% *}\"\n",
				shell.Quote(at))
		}
		out, err := nd.Query(ctx, script.String())
		return out == want.String(), err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		b := r.BundleOf(n)
		if err := r.CheckTargets(ctx, nd, list()); err != nil {
			return err
		}
		var others []shell.Upload
		for _, p := range list() {
			up := shell.Upload{Path: p.File, Mode: p.Mode, Size: p.Size, SHA256: p.SHA256, What: p.Name + "/" + p.File,
				Open: func() (io.ReadSeekCloser, error) { return b.Open(p.Path) }}
			if !p.Executed {
				others = append(others, up)
			} else if err := nd.PlaceBinary(ctx, p.Binary(), up); err != nil {
				return err
			}
		}
		return nd.PlaceAll(ctx, others)
	})
	return s
}

// Retire removes the versions of binaries that gave way to others, when the run has changed and checked everything:
// until then the node can go back to what it was.
func (r *Host) Retire(needs []string) []*engine.Step {
	var steps []*engine.Step
	for _, n := range r.Cluster.Nodes {
		s := plan.Step(plan.PhaseCheck, "old-binaries", n.Name, needs)
		s.Retry = engine.Retry{Tries: 2, Delay: 2 * time.Second}
		old := func(ctx context.Context, nd *node.Node) ([]string, error) {
			return nd.Retired(ctx, r.Binaries(n, r.Executed(n)...))
		}
		s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
			files, err := old(ctx, nd)
			return len(files) == 0, err
		})
		s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
			files, err := old(ctx, nd)
			if err != nil {
				return err
			}
			return nd.Retire(ctx, files, r.Binaries(n, r.Executed(n)...))
		})
		steps = append(steps, s)
	}
	return steps
}
