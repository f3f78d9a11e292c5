package state

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// states returns all states.
func states() []State {
	return []State{Init, Creating, Connecting, Updating, Unavailable, Canceling, Running, Unreachable, Destroy}
}

// events returns the events of the design.
func events() []Event {
	return []Event{DoInit, InitSuccess, InitFailed, Create, CreateSuccess, CreateFailed, Update, UpdateSuccess,
		UpdateFailed, InfoFailed, InfoSuccess, Cancel, CancelSuccess, Delete}
}

// All 126 pairs of a state and an event: 19 lead somewhere, by the design; the others are refused and change nothing.
func TestEveryPair(t *testing.T) {
	legal := map[State]map[Event]State{
		Init:        {DoInit: Connecting, Create: Creating},
		Creating:    {CreateSuccess: Running, CreateFailed: Unavailable, Cancel: Canceling},
		Connecting:  {InitSuccess: Running, InitFailed: Unavailable, Cancel: Canceling},
		Updating:    {UpdateSuccess: Running, UpdateFailed: Unavailable, Cancel: Canceling},
		Unavailable: {Update: Updating, Delete: Destroy},
		Canceling:   {CancelSuccess: Unavailable},
		Running:     {Update: Updating, InfoFailed: Unreachable, Delete: Destroy},
		Unreachable: {InfoSuccess: Running, Delete: Destroy},
		Destroy:     {},
	}
	pairs, found := 0, 0
	for _, s := range states() {
		for _, e := range events() {
			pairs++
			want, ok := legal[s][e]
			got, err := Next(s, e)
			switch {
			case ok && (err != nil || got != want):
				t.Errorf("%s in %s: %s (%v), want %s", e, s, got, err, want)
			case !ok && (got != s || event.AsFault(err) == nil || event.AsFault(err).Code != "manager.state" ||
				event.AsFault(err).Class != event.ClassLocked):
				t.Errorf("%s in %s: %s (%v), want a refusal", e, s, got, err)
			case ok:
				found++
			}
		}
	}
	if pairs != 126 || found != 19 {
		t.Errorf("%d pairs, %d of them legal", pairs, found)
	}
}

// The extension has no event of the design, no state but those of the design, and changes nothing of it.
func TestTheExtensionStandsApart(t *testing.T) {
	for _, x := range Extension() {
		if slices.Contains(events(), x.Event) {
			t.Errorf("%s is an event of the design", x.Event)
		}
		for _, s := range append(slices.Clone(x.From), x.To) {
			if !slices.Contains(states(), s) {
				t.Errorf("%s: %s is no state", x.Event, s)
			}
		}
		for _, s := range states() {
			got, err := Full(s, x.Event)
			if want := slices.Contains(x.From, s); (err == nil) != want || want && got != x.To {
				t.Errorf("%s in %s: %s (%v)", x.Event, s, got, err)
			}
			if _, err := Next(s, x.Event); err == nil {
				t.Errorf("the design has %s in %s", x.Event, s)
			}
		}
	}
	for _, s := range states() {
		for _, e := range events() {
			one, err := Next(s, e)
			both, err2 := Full(s, e)
			if one != both || (err == nil) != (err2 == nil) {
				t.Errorf("%s in %s: %s and %s", e, s, one, both)
			}
		}
	}
}

// The decision has a table of the extension. It has every transition of the code in its order, and then the one event
// that leads nowhere.
func TestTheExtensionIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/decisions/0039-a-server-on-the-state-directory.md")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, x := range Extension() {
		var from []string
		for _, s := range x.From {
			from = append(from, string(s))
		}
		want = append(want, string(x.Event)+" | "+strings.Join(from, ", ")+" | "+string(x.To))
	}
	want = append(want, string(DeleteCompleted)+" | "+string(Destroy)+" | none")
	row := regexp.MustCompile("(?m)^\\| `(\\w+)` (\\| [\\w, ]+ \\| \\w+) \\| [^|]+ \\|$")
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		got = append(got, m[1]+" "+m[2])
	}
	if !slices.Equal(got, want) {
		t.Errorf("the decision has\n%s\nand the code\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What belongs to a cluster is refused in every state but two.
func TestReady(t *testing.T) {
	var ready []State
	for _, s := range states() {
		if s.Ready() {
			ready = append(ready, s)
		}
	}
	if !slices.Equal(ready, []State{Running, Unreachable}) {
		t.Error(ready)
	}
}
