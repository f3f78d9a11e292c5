package input

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// OwnerName is the file in the cluster's directory that names the owner of the cluster. It ends with the cluster.
const OwnerName = "owner.json"

// ReadOwner reads the owner in a cluster's directory; the zero Owner if there is none yet. One of a newer format is
// refused with state.newer-format.
func ReadOwner(stateDir string) (node.Owner, error) {
	var text json.RawMessage
	if err := ReadUnderWay(stateDir, OwnerName, &text); err != nil {
		return node.Owner{}, err
	}
	if o := node.ParseOwner(text); o.Newer() {
		return node.Owner{}, event.NewFault(event.ClassUsage, "state.newer-format", nil, "path",
			filepath.Join(stateDir, OwnerName), "format", strconv.Itoa(o.Format), "ours",
			strconv.Itoa(node.OwnerFormat))
	}
	var o node.Owner
	return o, ReadUnderWay(stateDir, OwnerName, &o)
}

// Fence is the number of a run.
type Fence struct {
	// By is the run; "": the run changes nothing, and raises no number.
	By string
	// TakeOver is the highest number of a node that the user has confirmed to take over from; 0: from none.
	TakeOver uint64
	// Place names the meta cluster that has the files; "": they are a state directory. A new owner gets it.
	Place string

	mu     sync.Mutex
	raised node.Owner
}

// Raise raises the number of the cluster above that of its files and of the nodes that it takes over from, once in a
// run. The number is persisted when it returns.
func (f *Fence) Raise(ctx context.Context, e *Env, nodes []node.Owner) (node.Owner, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.raised.ID != "" {
		return f.raised, nil
	}
	o, err := ReadOwner(e.StateDir)
	if err != nil {
		return o, err
	}
	for _, n := range nodes {
		if o.Of(n) != node.Owns && n.Fence >= o.Fence {
			o.Fence = n.Fence
			if o.ID == "" {
				o.ID, o.Kind, o.Place = n.ID, n.Kind, n.Place
			}
		}
	}
	if o.ID == "" {
		o.ID, o.Kind = NewUUID(), node.OwnerDirectory
		if f.Place != "" {
			o.Kind, o.Place = node.OwnerMeta, f.Place
		}
	}
	o.Format, o.Fence, o.Token, o.By, o.At = node.OwnerFormat, o.Fence+1, rand.Text(), f.By, e.Now().UTC()
	if err := WriteUnderWay(e.StateDir, OwnerName, o); err != nil {
		return o, err
	}
	if err := e.Keep(ctx, KeptOwner); err != nil {
		return o, err
	}
	f.raised = o
	return o, nil
}

// Raised returns the line that nodes get; nil before Raise, and for a run that raises none.
func (f *Fence) Raised() []byte {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.raised.ID == "" {
		return nil
	}
	return f.raised.Line()
}

// NewUUID returns a random UUID (version 4).
func NewUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
