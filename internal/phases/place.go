package phases

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// The groups of programs are sent one after the other, so that etcd starts while the kubelet is on its way.
const (
	groupEtcd    = "etcd"
	groupControl = "control-plane"
	groupNode    = "node"
)

// groups of a node, in the order of sending.
func groups(n config.Node) []string {
	var out []string
	if n.Has(bundle.Etcd) {
		out = append(out, groupEtcd)
	}
	if n.Has(bundle.ControlPlane) {
		out = append(out, groupControl)
	}
	return append(out, groupNode)
}

// groupOf says who on the node waits for a program: the roles that need it, by the manifest.
func groupOf(n config.Node, m bundle.Member) string {
	switch {
	case slices.Contains(m.Roles, bundle.Worker):
		return groupNode
	case n.Has(bundle.Etcd) && slices.Contains(m.Roles, bundle.Etcd):
		return groupEtcd
	case n.Has(bundle.ControlPlane) && slices.Contains(m.Roles, bundle.ControlPlane):
		return groupControl
	}
	return groupNode
}

// programs is the step that a service's start needs.
func programs(n config.Node, group string) string { return id(phaseInfra, "programs-"+group, n.Name) }

// placePrograms uploads what the node's roles need: what a service executes beside the version that runs, the rest
// straight to its place.
func (r *run) placePrograms(n config.Node, group string) *engine.Step {
	s := step(phaseInfra, "programs-"+group, n.Name, []string{id(phaseInfra, "claim", n.Name)})
	s.Lane, s.Limit, s.Timeout = laneBulk, LimitUploads, 30*time.Minute
	s.Retry = engine.Retry{Tries: 5, Delay: 2 * time.Second, MaxDelay: 30 * time.Second}
	list := func() []placed {
		return slices.DeleteFunc(r.Members(n, r.BundleOf(n).Manifest()), func(p placed) bool { return groupOf(n, p.Member) != group })
	}
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		var want, script strings.Builder
		for _, p := range list() {
			at := p.File
			if p.executed {
				at = p.binary().File
				fmt.Fprintf(&script, "[ -e %[1]s ] || [ -L %[1]s ] || exit 0\n", node.Quote(p.File))
			}
			fmt.Fprintf(&want, "%o %s\n", p.Mode, p.SHA256)
			fmt.Fprintf(&script, "[ -f %[1]s ] || exit 0\nm=$(stat -c %%a %[1]s); s=$(sha256sum <%[1]s); echo \"$m ${s%%%% *}\"\n", node.Quote(at))
		}
		out, err := nd.Query(ctx, script.String())
		return out == want.String(), err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		b := r.BundleOf(n)
		if err := r.CheckTargets(ctx, nd, list()); err != nil {
			return err
		}
		for _, p := range list() {
			open := func() (io.ReadSeekCloser, error) { return b.Open(p.Path) }
			up := node.Upload{Path: p.File, Mode: p.Mode, Size: p.Size, SHA256: p.SHA256, Open: open, What: p.Name + "/" + p.File}
			var err error
			if p.executed {
				err = nd.PlaceBinary(ctx, p.binary(), up)
			} else {
				_, err = nd.Place(ctx, up)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return s
}

// retire removes the versions of binaries that gave way to others, when the run has changed and checked everything:
// until then the node can go back to what it was.
func (r *run) retire(needs []string) []*engine.Step {
	var steps []*engine.Step
	for _, n := range r.Cluster.Nodes {
		s := step(phaseCheck, "old-binaries", n.Name, needs)
		s.Retry = engine.Retry{Tries: 2, Delay: 2 * time.Second}
		old := func(ctx context.Context, nd *node.Node) ([]string, error) {
			return nd.Retired(ctx, r.Binaries(n, r.executed(n)...))
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
			return nd.Retire(ctx, files, r.Binaries(n, r.executed(n)...))
		})
		steps = append(steps, s)
	}
	return steps
}
