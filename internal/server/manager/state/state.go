// Package state is the state machine of a cluster as a server manages it: a table, and nothing else. Seed is the
// machine of the design: 9 states, 14 events, 19 transitions. What this program needs beyond it is in Extension, apart.
// It imports nothing of this module but event.
package state

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// State of a cluster.
type State string

// The states. Init is that of a cluster that nothing was said of yet, Destroy that of one that is removed.
const (
	Init        State = "Init"
	Creating    State = "Creating"
	Connecting  State = "Connecting"
	Updating    State = "Updating"
	Unavailable State = "Unavailable"
	Canceling   State = "Canceling"
	Running     State = "Running"
	Unreachable State = "Unreachable"
	Destroy     State = "Destroy"
)

// Ready says whether what belongs to the cluster, such as its nodes, may be asked for.
func (s State) Ready() bool { return s == Running || s == Unreachable }

// Event is what happens to a cluster.
type Event string

// The events of the design.
const (
	DoInit        Event = "init"
	InitSuccess   Event = "initSuccess"
	InitFailed    Event = "initFailed"
	Create        Event = "create"
	CreateSuccess Event = "createSuccess"
	CreateFailed  Event = "createFailed"
	Update        Event = "update"
	UpdateSuccess Event = "updateSuccess"
	UpdateFailed  Event = "updateFailed"
	InfoFailed    Event = "getInfoFailed"
	InfoSuccess   Event = "getInfoSuccess"
	Cancel        Event = "cancel"
	CancelSuccess Event = "cancelSuccess"
	Delete        Event = "delete"
)

// Transition is where an event leads from some states.
type Transition struct {
	Event Event
	From  []State
	To    State
}

// Seed are the transitions of the design.
func Seed() []Transition {
	return []Transition{
		{DoInit, []State{Init}, Connecting},
		{InitSuccess, []State{Connecting}, Running},
		{InitFailed, []State{Connecting}, Unavailable}, // in the code of the design's authors, not in their picture
		{Create, []State{Init}, Creating},
		{CreateSuccess, []State{Creating}, Running},
		{CreateFailed, []State{Creating}, Unavailable},
		{Update, []State{Running, Unavailable}, Updating},
		{UpdateSuccess, []State{Updating}, Running},
		{UpdateFailed, []State{Updating}, Unavailable},
		{InfoFailed, []State{Running}, Unreachable},
		{InfoSuccess, []State{Unreachable}, Running},
		{Cancel, []State{Creating, Updating, Connecting}, Canceling},
		{CancelSuccess, []State{Canceling}, Unavailable},
		{Delete, []State{Running, Unavailable, Unreachable}, Destroy},
	}
}

// Next is the state after an event by the design. An event that is not possible is refused, and changes nothing.
func Next(s State, e Event) (State, error) { return next(Seed(), s, e) }

func next(table []Transition, s State, e Event) (State, error) {
	for _, t := range table {
		if t.Event == e && slices.Contains(t.From, s) {
			return t.To, nil
		}
	}
	return s, event.NewFault(event.ClassLocked, "manager.state", nil, "state", string(s), "event", string(e))
}
