package lines

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

type recorded []event.Record

func (l *recorded) Next() (event.Record, error) {
	if len(*l) == 0 {
		return event.Record{}, io.EOF
	}
	r := (*l)[0]
	*l = (*l)[1:]
	return r, nil
}

// A story asks its viewer, who can read the log, put the question off and take it up again; of a viewer who is gone it
// takes a retry, as it was in the run.
func TestTheDemoAsksLineByLine(t *testing.T) {
	t.Parallel()
	const step = "infrastructure.packages/w1"
	fault := event.NewFault(event.ClassFailed, "node.command-failed", nil, "status", "1", "command", "apt-get").On("w1")
	fault.Cause = "No space left on device"
	for typed, says := range map[string]string{"2\n3\nf\n1\n": "later", "\n": "1  retry",
		"": "No input: retrying the step"} {
		var list recorded
		for _, e := range []event.Event{event.RunStarted{Cluster: "demo", Verb: "deploy"},
			event.PlanMade{Hosts: []event.Host{{Name: "w1"}}, Phases: []event.Phase{{ID: "p"}}, Steps: []event.Step{{
				ID: step, Phase: "p", Host: "w1", Title: event.M("step.infrastructure.packages", "node", "w1")}}},
			event.StepStarted{Step: step, Try: 1}, event.StepAsked{Step: step, Try: 1, Fault: *fault},
			event.StepDecided{Step: step, Decision: event.TryAgain}, event.StepStarted{Step: step, Try: 2},
			event.StepEnded{Step: step, Outcome: event.Changed}, event.RunEnded{Outcome: event.Changed}} {
			list = append(list, event.Record{Seq: uint64(len(list) + 1), Time: time.Unix(0, 0), Event: e})
		}
		said := new(bytes.Buffer)
		term := Terminal{In: strings.NewReader(typed), Out: said, Err: said, Printer: i18n.NewPrinter(i18n.English)}
		if err := Play(t.Context(), term, backend.NewStory(&list, 1, time.Now)); err != nil {
			t.Fatal(err)
		}
		for _, w := range []string{"w1: action required", "The disk is full", "the disk has been freed", says,
			"deploy of cluster demo: changed"} {
			if !strings.Contains(said.String(), w) {
				t.Errorf("%q: %q was not said:\n%s", typed, w, said)
			}
		}
	}
}
