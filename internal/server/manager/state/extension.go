package state

// The events that the design does not have.
const (
	// LoadUnavailable: the server starts, and the record says that the cluster is unavailable.
	LoadUnavailable Event = "loadUnavailable"
	// FoundCreate, FoundUpdate, FoundDelete and FoundCancel: a run works on the cluster that this server did not begin.
	// It outlived the server that began it, or somebody began it on the command line.
	FoundCreate Event = "foundCreate"
	FoundUpdate Event = "foundUpdate"
	FoundDelete Event = "foundDelete"
	FoundCancel Event = "foundCancel"
	// ContinueCreate: a creation that failed or was canceled is continued. An update is continued by Update.
	ContinueCreate Event = "continueCreate"
	// Repair: etcd of a cluster whose API server does not answer is restored.
	Repair Event = "repair"
	// CancelDelete: the removal from the machines is canceled.
	CancelDelete Event = "cancelDelete"
	// DeleteFailed: the removal from the machines failed.
	DeleteFailed Event = "deleteFailed"
	// CancelTooLate: the run had ended well when it was to be canceled. The cluster is as it was wanted.
	CancelTooLate Event = "cancelTooLate"
	// DeleteCompleted: the cluster is removed from the machines. It leads nowhere: the record is deleted with it.
	DeleteCompleted Event = "deleteCompleted"
	// DeleteConnecting is Delete of a cluster whose API server has not answered yet, and may never do so.
	DeleteConnecting Event = "deleteConnecting"
	// Unchanged: an operation on a cluster that was ready ended before it changed anything.
	Unchanged Event = "unchanged"
	// Reconnect: the API server is asked again. Nothing failed that could be continued, or nothing was changed.
	Reconnect Event = "reconnect"
)

// Extension are the transitions beyond the design. It has no event of the design, so that none of those means more than
// the design says.
//
// A cluster whose removal is complete has no state: its record is deleted.
func Extension() []Transition {
	return []Transition{
		{LoadUnavailable, []State{Init}, Unavailable},
		{FoundCreate, []State{Init, Connecting, Unavailable}, Creating},
		{FoundUpdate, []State{Init, Connecting, Running, Unavailable, Unreachable}, Updating},
		{FoundDelete, []State{Init, Connecting, Running, Unavailable, Unreachable}, Destroy},
		{FoundCancel, []State{Init}, Canceling},
		{ContinueCreate, []State{Unavailable}, Creating},
		{Repair, []State{Unreachable, Connecting}, Updating},
		{CancelDelete, []State{Destroy}, Canceling},
		{DeleteFailed, []State{Destroy}, Unavailable},
		{CancelTooLate, []State{Canceling}, Running},
		{DeleteConnecting, []State{Connecting}, Destroy},
		{Unchanged, []State{Updating, Destroy}, Running},
		{Reconnect, []State{Unavailable, Creating, Updating, Destroy}, Connecting},
	}
}

// Full is Next with the extension.
func Full(s State, e Event) (State, error) {
	return next(append(Seed(), Extension()...), s, e)
}
