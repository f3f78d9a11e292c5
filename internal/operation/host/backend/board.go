package backend

import (
	"os/exec"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

// Controller controls the process of a run. Its methods may block and are called in commands. Leaving a board calls
// none of them: the run is another process, and continues.
type Controller interface {
	// Decide decides about a step that failed and waits for a decision (event.StepAsked).
	Decide(step string, d event.Decision) error
	// Stop lets the running steps end and starts no new ones.
	Stop() error
	// Abort ends the run without waiting for its running steps.
	Abort() error
}

// Board has the source of a view of a run, and the functions that the view offers. A nil function is not offered.
type Board struct {
	Feed Feed
	// Replay is Feed when the run is over and plays again; its keys are shown then.
	Replay *Replay
	// Story: the run is played to show the program (see NewStory). A failure can be retried there; the other actions
	// are shown and are not available.
	Story bool
	// Note is the i18n key of the first text of the footer; "": none.
	Note string
	// NodeLog opens the output of a machine; nil: the board shows the last lines only. Close closes it.
	NodeLog func(host string) (NodeLog, error)
	// LogPath returns the path of the output of a machine.
	LogPath func(host string) string
	// Control is nil if the run is over, or cannot be reached.
	Control Controller
	// Usual reads from earlier runs how long steps take. It is called in a command.
	Usual func() state.History
	// Shell returns the command that opens a shell on a machine.
	Shell func(host string) (*exec.Cmd, error)
	// Edit returns the command that opens deploy.yaml in the user's editor, and a function to call when the editor has
	// ended without an error. again reports whether the run ends, to be continued with the changed file.
	Edit func() (*exec.Cmd, func() (again bool, err error), error)
	// Support writes a support bundle and returns its path.
	Support func() (path string, err error)
	// Save writes the output of a machine to a file in the user's directory and returns its path.
	Save func(host string) (path string, err error)
	// Pager returns the command that shows the output of a machine.
	Pager func(host string) (*exec.Cmd, error)
	// Close closes the feed and the logs.
	Close func()
}

// WrongEdit is the error of an edited deploy.yaml with faults: the first fault, its place (Line from 1; 0: not known),
// and the number of other faults.
type WrongEdit struct {
	Line  int
	Key   string
	Fault *event.Fault
	More  int
}

// Error implements error.
func (w *WrongEdit) Error() string { return w.Fault.Error() }

// Unwrap returns the fault.
func (w *WrongEdit) Unwrap() error { return w.Fault }
