package node

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// The kinds of owners.
const (
	OwnerDirectory = "directory" // a state directory
	OwnerMeta      = "meta"      // Secrets of a cluster that manages others
)

// Owner names who may change a cluster, and the last run that did. It is kept with the cluster's files and on every
// node: of two copies of the files, only the one that has the newest number may change nodes.
type Owner struct {
	Format int    `json:"format"`
	ID     string `json:"id"`   // a UUID; the same in all copies of the files
	Kind   string `json:"kind"` // OwnerDirectory or OwnerMeta
	// Place is where the files are, as messages show it; "" for a directory.
	Place string `json:"place,omitempty"`
	Fence uint64 `json:"fence"`
	// Token differs in each run: two copies can raise the number to the same.
	Token string    `json:"token"`
	By    string    `json:"by"` // the run that raised the number
	At    time.Time `json:"at"`
	// From is the owner that has handed the cluster over to this one.
	From Former `json:"from,omitzero"`
}

// Former is an owner as of its last run. The zero Former is none.
type Former struct {
	ID    string `json:"id"`
	Fence uint64 `json:"fence"`
	Token string `json:"token"`
}

// Former returns the owner as the one that hands the cluster over.
func (o Owner) Former() Former { return Former{o.ID, o.Fence, o.Token} }

// was reports whether a node has this owner, and no run of it that came later.
func (f Former) was(onNode Owner) bool {
	return f.ID != "" && f.ID == onNode.ID &&
		(onNode.Fence < f.Fence || onNode.Fence == f.Fence && onNode.Token == f.Token)
}

// Line returns the owner as a node has it, without the end of the line.
func (o Owner) Line() []byte {
	line, err := json.Marshal(o)
	if err != nil { // it has no field that cannot be written
		return nil
	}
	return line
}

// OwnerFormat is the version of the format that this program writes.
const OwnerFormat = 1

// fenceMost bounds what a node may say: a number that cannot be raised would end all runs.
const fenceMost = 1 << 53

// ParseOwner reads what a node has; the zero Owner if that is none, or damaged: the next run writes it again. Of one of
// a newer format only Format is set.
func ParseOwner(line []byte) (o Owner) {
	if f := formatOf(line); f > OwnerFormat {
		return Owner{Format: f}
	}
	if json.Unmarshal(line, &o) != nil || o.ID == "" || o.Fence == 0 || o.Fence > fenceMost {
		return Owner{}
	}
	o.ID, o.Kind, o.By, o.Place = event.Clean(o.ID), event.Clean(o.Kind), event.Clean(o.By), event.Clean(o.Place)
	return o
}

// Newer reports whether the owner is of a format that this program does not read.
func (o Owner) Newer() bool { return o.Format > OwnerFormat }

// formatOf reads the format, which is the first key of every format, also of a line that is cut off; 0: there is none.
func formatOf(line []byte) int {
	d := json.NewDecoder(bytes.NewReader(line))
	for _, want := range []json.Token{json.Delim('{'), "format"} {
		if t, err := d.Token(); err != nil || t != want {
			return 0
		}
	}
	var format int
	if d.Decode(&format) != nil {
		return 0
	}
	return format
}

// Ownership is the relation of the owner of a cluster's files to a node.
type Ownership int

// The values of Ownership.
const (
	Owns   Ownership = iota // the node may be changed
	Other                   // the node has another owner
	Stale                   // the node has a newer run, of another copy of the files
	Newer                   // the node has an owner of a newer format
	Before                  // the node has the owner that hands the cluster over to that of the files
)

// Of returns what the owner of the files is to a node with this owner. A node with a lower number was away during the
// last runs, one without an owner is of an older version: both may be changed. One that is Before may be changed if
// another node of the cluster has the owner of the files: the hand-over of a cluster counts from its first node on.
func (o Owner) Of(onNode Owner) Ownership {
	switch {
	case onNode.Newer():
		return Newer
	case onNode.ID == "":
		return Owns
	case o.From.was(onNode):
		return Before
	case o.ID != "" && o.ID != onNode.ID:
		return Other
	case onNode.Fence > o.Fence, onNode.Fence == o.Fence && onNode.Token != o.Token:
		return Stale
	}
	return Owns
}

// OwnerScript is the part of a script that writes the owner of the node's cluster, in place at once or not at all.
func OwnerScript(line []byte) string {
	if len(line) == 0 {
		return ""
	}
	return "(umask 077; printf '%s\\n' " + shell.Quote(string(line)) + " >$D/owner.new)\n" +
		"sync $D/owner.new 2>/dev/null || sync\nmv -f $D/owner.new $D/owner\n"
}

// Own writes the owner of the node's cluster, with the number of this run. Like the lock, it is no change of the
// machine that a user would want to see announced.
func (n *Node) Own(ctx context.Context, line []byte) error {
	if n.dry || len(line) == 0 {
		return nil
	}
	_, err := n.must(ctx, shell.Command{Script: lib + OwnerScript(line), Quiet: true})
	return err
}
