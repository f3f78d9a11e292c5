// Package event holds everything that can happen in a run, as values. The engine emits them, the journal keeps them,
// and every front end (plain, JSON, the run board) is a pure function of their sequence: what is on a screen is in
// events.jsonl.
//
// The set is sealed: a new event is a new type here, registered in codec.go.
package event

import (
	"maps"
	"time"
)

// Event is one thing that happened. The set of types is sealed to this package.
type Event interface{ kind() string }

// Record is an event with its place in the run. Seq starts at 1 and has no gaps; Time is the control host's clock, see
// Bus.
type Record struct {
	Seq   uint64
	Time  time.Time
	Event Event
}

// Sink takes records in order. Emit may block (the journal syncs to disk) and its error stops the run before the next
// step.
type Sink interface {
	Emit(Record) error
}

// Msg is a sentence for the user, named by its key in internal/output/i18n; args are filled into {name} holes there.
// The engine and the phases speak only in Msg, so that the same event log reads in every language.
type Msg struct {
	Key  string            `json:"key"`
	Args map[string]string `json:"args,omitempty"`
	Call *Call             `json:"call,omitempty"` // what {command} stands for; see Calling
}

// M makes a Msg; kv are alternating argument names and values.
func M(key string, kv ...string) Msg {
	m := Msg{Key: key}
	for i := 0; i+1 < len(kv); i += 2 {
		if m.Args == nil {
			m.Args = make(map[string]string, len(kv)/2)
		}
		m.Args[kv[i]] = kv[i+1]
	}
	return m
}

// With is the message with another value of an argument. Arguments belong to the key that they came with: nobody but
// this package puts a Msg together out of the key of one and the arguments of another.
func (m Msg) With(name, value string) Msg {
	args := maps.Clone(m.Args)
	if args == nil {
		args = map[string]string{}
	}
	args[name] = value
	return Msg{Key: m.Key, Args: args, Call: m.Call}
}

// Until is the argument of a message that says how much time is left ("left") by the time at which it is over, as RFC
// 3339: who shows the message later knows how much is left by then.
const Until = "until"

// OutputCut is the key of a Notice that says how much of a command's output, in lines and in bytes, is not in the log.
// The command's last lines follow it, if there is room for them.
const OutputCut = "output.cut"

// Outcome is how a step, a phase or a run ended.
type Outcome string

// The outcomes. A step that found its work already done is OK; one that did it is Changed. Unknown means that the
// connection was lost while the command ran, so nobody knows: it is probed before it is tried again.
const (
	OK          Outcome = "ok"
	Changed     Outcome = "changed"
	Skipped     Outcome = "skipped"
	Failed      Outcome = "failed"
	Ignored     Outcome = "ignored" // failed, and allowed to
	Unknown     Outcome = "unknown"
	Interrupted Outcome = "interrupted"
	Blocked     Outcome = "blocked" // not tried, because a step that it needs, or its host, failed
)

// Done says whether a step with this outcome satisfies the steps that need it.
func (o Outcome) Done() bool { return o == OK || o == Changed || o == Skipped || o == Ignored }

// Decision is what was decided about a step that failed for good.
type Decision string

// The decisions.
const (
	GoOn     Decision = "go-on"
	Abort    Decision = "abort"
	TryAgain Decision = "retry"
	LeaveOut Decision = "skip"
)

// Severity of a preflight finding.
type Severity string

// Errors stop a run before anything is touched; warnings are shown.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

type (
	// RunStarted opens the log. Verb is deploy, cleanup, …; Config is the sha256 of the deploy.yaml that the run
	// follows.
	RunStarted struct {
		Format  int    `json:"format,omitempty"` // LogFormat of who wrote the log; the bus fills it in
		Run     string `json:"run"`
		Cluster string `json:"cluster"`
		Verb    string `json:"verb"`
		Version string `json:"version"`
		Config  string `json:"config"`
		File    string `json:"file,omitempty"` // the deploy.yaml that the run was begun with
		Resumed bool   `json:"resumed,omitempty"`
		// Nodes are those that join, leave or are cleaned up; none: the whole cluster.
		Nodes   []string    `json:"nodes,omitempty"`
		Options *RunOptions `json:"options,omitempty"`
		// Flags are the options as words of a command line; the bus fills them in.
		Flags []string `json:"flags,omitempty"`
	}
	// PlanMade lists all that the run intends, before its first step.
	PlanMade struct {
		Phases []Phase `json:"phases"`
		Hosts  []Host  `json:"hosts"`
		Steps  []Step  `json:"steps"`
		// Barriers are names for many steps: who needs a barrier needs all that it needs.
		Barriers []Barrier `json:"barriers,omitempty"`
	}
	// HostState tells of a connection: connecting, connected, lost, closed.
	HostState struct {
		Host  string `json:"host"`
		State string `json:"state"`
		Fault *Fault `json:"fault,omitempty"`
	}
	// Finding is one result of preflight.
	Finding struct {
		Host     string   `json:"host"`
		Severity Severity `json:"severity"`
		Fault    Fault    `json:"fault"`
	}
	// PhaseStarted and PhaseEnded bracket the first and last step of a phase.
	PhaseStarted struct {
		Phase string `json:"phase"`
	}
	PhaseEnded struct {
		Phase   string  `json:"phase"`
		Outcome Outcome `json:"outcome"`
		Fault   *Fault  `json:"fault,omitempty"` // of a hook
	}
	// StepStarted: try counts from 1.
	StepStarted struct {
		Step string `json:"step"`
		Try  int    `json:"try"`
	}
	// StepRetry: the try failed and another follows after Delay.
	StepRetry struct {
		Step  string        `json:"step"`
		Try   int           `json:"try"`
		Delay time.Duration `json:"delay_ns"`
		Fault Fault         `json:"fault"`
	}
	// StepAsked: the try failed, no other follows by itself, and somebody is asked what is to become of it.
	StepAsked struct {
		Step  string `json:"step"`
		Try   int    `json:"try"`
		Fault Fault  `json:"fault"`
	}
	// StepDecided is the answer.
	StepDecided struct {
		Step     string   `json:"step"`
		Decision Decision `json:"decision"`
	}
	// StepEnded is synced to disk before any step that needs this one starts.
	StepEnded struct {
		Step    string        `json:"step"`
		Outcome Outcome       `json:"outcome"`
		Took    time.Duration `json:"took_ns"`
		Why     *Msg          `json:"why,omitempty"` // for skipped and blocked
		Fault   *Fault        `json:"fault,omitempty"`
	}
	// StepUndone: what the step changed in this run was taken back (outcome changed), or could not be (failed).
	StepUndone struct {
		Step    string        `json:"step"`
		Outcome Outcome       `json:"outcome"`
		Took    time.Duration `json:"took_ns"`
		Fault   *Fault        `json:"fault,omitempty"`
	}
	// Change is one change of a node, announced before it is made. The list of these is the dry run, the log and the
	// audit.
	Change struct {
		Host string `json:"host"`
		Step string `json:"step"`
		Desc Msg    `json:"desc"`
	}
	// Notice tells the user something that is neither a step nor a fault, such as a limit of the machine that was met.
	Notice struct {
		Host string `json:"host,omitempty"`
		Step string `json:"step,omitempty"`
		Text Msg    `json:"text"`
	}
	// Output is one cleaned line that a node printed. Stream is stdout or stderr.
	Output struct {
		Host   string `json:"host"`
		Step   string `json:"step"`
		Stream string `json:"stream"`
		Line   string `json:"line"`
	}
	// Waiting: a command of the step runs, and it has printed nothing for a while. It is told again while that lasts.
	Waiting struct {
		Host    string        `json:"host"`
		Step    string        `json:"step"`
		Process string        `json:"process,omitempty"` // the innermost that the command waits for
		PID     int           `json:"pid,omitempty"`
		State   string        `json:"state,omitempty"` // as in ps: R, S, D, T, Z
		Lock    string        `json:"lock,omitempty"`  // who holds a lock that the process waits for
		LockPID int           `json:"lock_pid,omitempty"`
		For     time.Duration `json:"for_ns"` // that the command runs
	}
	// Progress of a transfer; Done and Total in bytes, Total 0 when unknown. Not synced, and thinned to a few a second.
	Progress struct {
		Host  string `json:"host"`
		Step  string `json:"step"`
		What  string `json:"what"`
		Done  int64  `json:"done"`
		Total int64  `json:"total"`
	}
	// RunEnded closes the log. Exit is the exit code of the program.
	RunEnded struct {
		Outcome Outcome `json:"outcome"`
		Exit    int     `json:"exit"`
		Changed int     `json:"changed"`
		Fault   *Fault  `json:"fault,omitempty"`
		Next    []Msg   `json:"next,omitempty"`
		// Reverted says that a run that failed took back what it had done: there is nothing to resume.
		Reverted bool `json:"reverted,omitempty"`
	}
)

// Phase, Host and Step describe the plan to front ends.
type (
	Phase struct {
		ID    string `json:"id"`
		Title Msg    `json:"title"`
	}
	Host struct {
		Name  string   `json:"name"`
		Addr  string   `json:"addr"`
		Roles []string `json:"roles"`
	}
	Step struct {
		ID    string   `json:"id"`
		Phase string   `json:"phase"`
		Host  string   `json:"host"` // "" is the jump host itself
		Lane  string   `json:"lane,omitempty"`
		Title Msg      `json:"title"`
		Needs []string `json:"needs,omitempty"` // steps and barriers
		// Polls reports whether the step waits for something that happens by itself: its tries are no attempts.
		Polls bool `json:"polls,omitempty"`
	}
	// Barrier of a plan: a name for all the steps and barriers that it needs.
	Barrier struct {
		ID    string   `json:"id"`
		Needs []string `json:"needs"`
	}
)

func (RunStarted) kind() string   { return "run_started" }
func (PlanMade) kind() string     { return "plan_made" }
func (HostState) kind() string    { return "host_state" }
func (Finding) kind() string      { return "finding" }
func (PhaseStarted) kind() string { return "phase_started" }
func (PhaseEnded) kind() string   { return "phase_ended" }
func (StepStarted) kind() string  { return "step_started" }
func (StepRetry) kind() string    { return "step_retry" }
func (StepAsked) kind() string    { return "step_asked" }
func (StepDecided) kind() string  { return "step_decided" }
func (StepEnded) kind() string    { return "step_ended" }
func (StepUndone) kind() string   { return "step_undone" }
func (Change) kind() string       { return "change" }
func (Notice) kind() string       { return "notice" }
func (Output) kind() string       { return "output" }
func (Waiting) kind() string      { return "waiting" }
func (Progress) kind() string     { return "progress" }
func (RunEnded) kind() string     { return "run_ended" }
