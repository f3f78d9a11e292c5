package node

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// RecordFormat is the format of the record that this program writes, in the record's first line, and the highest that
// it reads. A record that does not say is of format 1.
const RecordFormat = 1

// kinds of records that this program can read, and for cleanup revert or pass over.
func kinds() []string {
	return []string{"block", "dir", "emptied", "file", "former", "group", "hostname", "imported", "mode", "module",
		"package", "port", "residue", "rpm", "sysctl", "table", "tree", "unit", "user", "via", "zonefile"}
}

// formatKind is of the line with the format.
const formatKind = "format"

// UnsupportedRecord returns the fault of a record that a newer program wrote, or nil. format is "" if the record has
// none; names are the kinds of entries in it.
func UnsupportedRecord(format string, names []string) *event.Fault {
	if n, err := strconv.Atoi(format); format != "" && (err != nil || n > RecordFormat) {
		return event.NewFault(event.ClassPreflight, "node.record-format", nil, "format", event.Clean(format), "ours",
			strconv.Itoa(RecordFormat))
	}
	var unknown []string
	for _, k := range names {
		if k != formatKind && !slices.Contains(kinds(), k) && !slices.Contains(unknown, event.Clean(k)) {
			unknown = append(unknown, event.Clean(k))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return event.NewFault(event.ClassPreflight, "node.record-unknown", nil, "kinds", strings.Join(unknown, ", "))
}

// Dir is where everything of ours lives on a node, 0700.
const Dir = "/var/lib/eggo-node"

// lib is the shell prelude of every change. Records are lines "kind<TAB>key<TAB>was"; the first line for a kind and key
// stands, so that a repeated step does not record its own work as the state before.
//
//go:embed lib.sh
var lib string
