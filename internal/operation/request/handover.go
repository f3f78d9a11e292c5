package request

import "github.com/eggo-k8s/eggo/internal/run/event"

// Handover hands a cluster over to a cluster that manages others, or fetches it back. It begins no run.
type Handover struct {
	Cluster string
	Back    bool
	// File is the deploy.yaml that a cluster has on this host when it is back, absolute; "": the one that it had.
	File     string
	HostKeys string // as in Common
	TakeOver uint64 // likewise
}

// Validate refuses what no cluster can make right.
func (h Handover) Validate() error {
	if h.File != "" && !h.Back {
		return event.NewFault(event.ClassUsage, "handover.file", nil)
	}
	return nil
}
