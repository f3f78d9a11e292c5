package phases

import (
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
)

// judgeRecord is the finding of a record that says more than this program knows: what it does not know it could not
// revert.
func judgeRecord(n config.Node, beyond *event.Fault) []event.Finding {
	if beyond == nil {
		return nil
	}
	return []event.Finding{{Host: n.Name, Severity: event.Error, Fault: *beyond.On(n.Name)}}
}
