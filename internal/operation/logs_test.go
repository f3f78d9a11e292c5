package operation

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// told gives records, and an error at their end if there is one.
func told(err error, list ...event.Event) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		for _, e := range list {
			if !yield(event.Record{Event: e}, nil) {
				return
			}
		}
		if err != nil {
			yield(event.Record{}, err)
		}
	}
}

// What is wanted of a log, of any source; nothing of it is there twice, and a node that is not in it is a fault before
// anything is shown.
func TestWhatIsWantedOfALog(t *testing.T) {
	plan := event.PlanMade{Hosts: []event.Host{{Name: "a"}, {Name: "b"}},
		Steps: []event.Step{{ID: "one/a", Host: "a"}, {ID: "one/b", Host: "b"}, {ID: "two/b", Host: "b"}}}
	list := []event.Event{
		event.RunStarted{}, event.HostState{Host: "b"}, event.Finding{Host: "a"}, plan,
		event.StepStarted{Step: "one/a"},
		event.StepStarted{Step: "one/b"}, event.StepEnded{Step: "one/a"},
		event.StepEnded{Step: "one/b", Outcome: event.Failed}, event.StepStarted{Step: "two/b"}, event.RunEnded{},
	}
	cut := errors.New("cut")
	for _, c := range []struct {
		LogFilter
		list []event.Event
		err  error
		want string
	}{
		{LogFilter{}, list, cut, "started state found plan +one/a +one/b -one/a -one/b +two/b ended cut"},
		{LogFilter{Node: "b"}, list, cut, "started state plan +one/b -one/b +two/b cut"},
		{LogFilter{Node: "a"}, list, nil, "started found plan +one/a -one/a"},
		{LogFilter{Step: "one"}, list, nil, "started plan +one/a +one/b -one/a -one/b"},
		{LogFilter{Failed: true}, list, nil, "started found plan +one/b -one/b"},
		{LogFilter{Node: "a", Failed: true}, list, nil, "started found plan"},
		{LogFilter{Node: "c"}, list, nil, "logs.no-node a, b"},
		{LogFilter{Node: "c"}, list[:3], nil, "logs.no-node "},
		{LogFilter{Failed: true}, list, cut, "cut"},
	} {
		var got []string
		for rec, err := range Filter(told(c.err, c.list...), c.LogFilter) {
			got = append(got, short(rec.Event, err))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%+v:\n%s, want\n%s", c.LogFilter, s, c.want)
		}
	}
	for range Filter(told(nil, list...), LogFilter{Node: "b"}) {
		break // an iterator must not go on after that
	}
}

func short(e event.Event, err error) string {
	if f := event.AsFault(err); f != nil && f.Code == "logs.no-node" {
		return f.Code + " " + f.Args["nodes"]
	}
	if err != nil {
		return err.Error()
	}
	switch e := e.(type) {
	case event.RunStarted:
		return "started"
	case event.HostState:
		return "state"
	case event.Finding:
		return "found"
	case event.PlanMade:
		return "plan"
	case event.StepStarted:
		return "+" + e.Step
	case event.StepEnded:
		return "-" + e.Step
	case event.RunEnded:
		return "ended"
	}
	return fmt.Sprintf("%T", e)
}
