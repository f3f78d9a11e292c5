package backend

import (
	"os/exec"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

// Controller speaks to the process that does a run. Its methods take their time and are called in commands. To
// detach needs none of them: the run is another process, and goes on when the board is left.
type Controller interface {
	// Decide says what becomes of a step that failed and was asked about (event.StepAsked).
	Decide(step string, d event.Decision) error
	// Stop lets the running steps end and starts no new ones.
	Stop() error
	// Abort breaks off.
	Abort() error
}

// Board is what the view of a run stands on. What is nil is not offered.
type Board struct {
	Feed Feed
	// Replay is Feed when the run is over and plays again; its keys are shown then.
	Replay *Replay
	// Story: the run is played to show the program (see NewStory). A failure can be retried there; what else could be
	// done about one on a cluster is shown, and is not available.
	Story bool
	// Note is a key of i18n for what the footer says at first; "": nothing.
	Note string
	// NodeLog opens what a machine has printed; nil: the board keeps to the last lines. The caller closes what it
	// opened in Close.
	NodeLog func(host string) (NodeLog, error)
	// LogPath is where that is kept, for a person to find it.
	LogPath func(host string) string
	// Control is nil when the run is over, or cannot be reached.
	Control Controller
	// Usual learns from earlier runs how long steps take. It is called in a command.
	Usual func() state.History
	// Shell is the command that opens a shell on a machine.
	Shell func(host string) (*exec.Cmd, error)
	// Edit opens deploy.yaml in the person's editor; what it gives besides is done when the editor has ended well,
	// and says whether the run ends to be gone on with by what was written.
	Edit func() (*exec.Cmd, func() (again bool, err error), error)
	// Support writes a support bundle and says where.
	Support func() (path string, err error)
	// Save writes what a machine has printed to a file that a person can take along, and says where.
	Save func(host string) (path string, err error)
	// Pager shows what a machine has printed.
	Pager func(host string) (*exec.Cmd, error)
	// Close gives back what the feed and the logs hold.
	Close func()
}

// WrongEdit is what is wrong with a deploy.yaml that was edited: the first of its faults, where it stands (Line from 1,
// 0 where nobody knows), and how many more there are.
type WrongEdit struct {
	Line  int
	Key   string
	Fault *event.Fault
	More  int
}

// Error implements error.
func (w *WrongEdit) Error() string { return w.Fault.Error() }

// Unwrap gives the fault.
func (w *WrongEdit) Unwrap() error { return w.Fault }
