package operation

import (
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/runstate"
)

// Run is a run that has its directory.
type Run struct {
	request.Ref
	Dir string
}

// Result is how a run ended.
type Result struct {
	Outcome event.Outcome
	Fault   *event.Fault
	Changed int  // steps
	Logged  bool // the log has the end
	// Active are the steps that a run without an end was at, and How is what is known of the end of its process.
	Active []*runstate.Step
	How    string
}
