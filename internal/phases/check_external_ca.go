package phases

import (
	"path/filepath"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/pki"
)

// judgeExternal looks at the user's authorities before anything is touched: whether they can be used, and whether the
// cluster has others.
func (r *run) judgeExternal() []event.Finding {
	if r.Cluster.ExternalCA == "" {
		return nil
	}
	own, err := pki.ReadExternal(r.Cluster.ExternalCA, r.Now())
	if err == nil {
		if file := own.Differs(filepath.Join(r.StateDir, "pki")); file != "" {
			err = event.NewFault(event.ClassPreflight, "pki.external-differs", nil, "file", file)
		}
	}
	if err == nil {
		return nil
	}
	return []event.Finding{{Severity: event.Error, Fault: *event.AsFault(err)}}
}
