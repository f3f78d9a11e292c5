package server

import (
	"os"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/scratch"
)

// Prefixes of the directories that hold what a request sends as long as it takes to answer it: a cluster that is
// checked, with its keys, and the key of a backup.
const (
	checkPrefix = "eggo-check-"
	keyPrefix   = "eggo-key-"
)

// scratchDir makes a directory for one request.
func scratchDir(prefix string) (dir string, remove func(), err error) {
	dir, end, err := scratch.Dir(os.TempDir(), prefix, time.Now())
	if err != nil {
		return "", nil, event.NewFault(event.ClassFailed, "state.write", err)
	}
	return dir, func() { _ = end() }, nil // what stays is removed by the next one
}

// sweepScratch removes what servers have left that were killed while they answered.
func sweepScratch() {
	for _, prefix := range []string{checkPrefix, keyPrefix} {
		scratch.Sweep(os.TempDir(), prefix, time.Now())
	}
}
