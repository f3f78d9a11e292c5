package preflight

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkOwner compares the owner of the cluster's files with that on a node: an older copy of the files, or another
// owner, may not change it. Where the CAs are not ours, that alone is reported. Files that have lost the CAs are no
// obstacle to a cleanup.
func checkOwner(mayBeLost bool) Check {
	return Check{
		Name: "owner", Needs: Ours,
		Codes: []string{"preflight.other-owner", "preflight.stale-owner", "preflight.newer-owner",
			"preflight.not-handed-over", "state.read", "state.newer-format"},
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			if authorityFindings(in, n, f, mayBeLost) != nil {
				return nil
			}
			mine, err := input.ReadOwner(in.StateDir)
			if err != nil {
				return as(n.Name, event.AsFault(err))
			}
			is, code := mine.Of(f.Owner), "preflight.stale-owner"
			switch is {
			case node.Newer: // no number of it is known
				return one(event.Error, n, "preflight.newer-owner", "format", strconv.Itoa(f.Owner.Format), "ours",
					strconv.Itoa(node.OwnerFormat))
			case node.Other:
				code = "preflight.other-owner"
			case node.Before:
				if in.handedOver(mine) {
					return nil
				}
				code = "preflight.not-handed-over"
			}
			if is == node.Owns || in.Fence != nil && f.Owner.Fence <= in.Fence.TakeOver {
				return nil
			}
			if _, err := os.Lstat(filepath.Join(in.StateDir, "pki", "ca.crt")); err != nil && mayBeLost {
				return nil
			}
			return one(event.Error, n, code, "cluster", in.Cluster.Name, "dir", in.StateDir, "by", f.Owner.By,
				"at", f.Owner.At.UTC().Format(time.RFC3339), "fence", strconv.FormatUint(f.Owner.Fence, 10),
				"have", strconv.FormatUint(mine.Fence, 10), "owner", ownerName(f.Owner), "own", ownerName(mine),
				event.TakeOver, strconv.FormatUint(in.highestFence(), 10))
		},
	}
}

// handedOver reports whether a node of the cluster has the owner of the files.
func (in *Input) handedOver(mine node.Owner) bool {
	return slices.ContainsFunc(in.Owners(), func(o node.Owner) bool { return o.ID == mine.ID })
}

// ownerName returns an owner as messages show it.
func ownerName(o node.Owner) string {
	if o.Place == "" {
		return o.ID
	}
	return o.Place + ", " + o.ID
}

// highestFence is the highest number on the nodes of the cluster.
func (in *Input) highestFence() uint64 {
	highest := uint64(0)
	for _, o := range in.Owners() {
		highest = max(highest, o.Fence)
	}
	return highest
}
