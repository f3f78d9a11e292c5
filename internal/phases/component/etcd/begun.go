package etcd

import (
	"context"
	"fmt"
	"strings"

	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
)

// Begun is the restore under way, as the control host keeps it until it is verified: the same command continues where
// it was interrupted, and the same file restored again later is another restore.
type Begun struct{ SHA256, Token string }

// ReadBegun reads what is under way of the cluster with this directory; without a token nothing is.
func ReadBegun(stateDir string) (Begun, error) {
	var b Begun
	err := input.ReadUnderWay(stateDir, input.RestoreName, &b)
	return b, err
}

func (b Begun) write(stateDir string) error {
	return input.WriteUnderWay(stateDir, input.RestoreName, b)
}

func forgetBegun(stateDir string) error { return input.ForgetUnderWay(stateDir, input.RestoreName) }

// Places are the directories of a restore on a node, beside that of the member's data, and the snapshot that was sent.
type Places struct{ Data, Fresh, Old, Snapshot string }

// Places are those of the restore where members have their data in this directory.
func (b Begun) Places(data string) Places {
	return Places{Data: data, Fresh: data + ".restore-" + b.Token, Old: data + ".before-" + b.Token,
		Snapshot: node.Dir + "/restore-" + b.Token + ".db"}
}

// Made says whether the member's new data are beside the old, or in their place.
func (p Places) Made(ctx context.Context, nd *node.Node) (bool, error) {
	return holds(ctx, nd, "[ -d %s ] || [ -d %s ]", p.Fresh, p.Old)
}

// Touched says whether the member's old data have been put aside.
func (p Places) Touched(ctx context.Context, nd *node.Node) (bool, error) {
	return holds(ctx, nd, "[ -d %s ]", p.Old)
}

// Exchanged says whether the member already has its new data.
func (p Places) Exchanged(ctx context.Context, nd *node.Node) (bool, error) {
	return holds(ctx, nd, "[ -d %s ] && [ ! -d %s ]", p.Old, p.Fresh)
}

// holds says whether a condition about paths holds on a node.
func holds(ctx context.Context, nd *node.Node, condition string, paths ...string) (bool, error) {
	var words []any
	for _, p := range paths {
		words = append(words, shell.Quote(p))
	}
	out, err := nd.Query(ctx, "if "+fmt.Sprintf(condition, words...)+"; then echo yes; fi")
	return strings.TrimSpace(out) == "yes", err
}
