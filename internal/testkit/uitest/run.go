package uitest

import (
	"fmt"
	"io"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Start is when the runs of tests begin.
var Start = time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)

// Records of a run with n machines, each of which prints a line a second for a minute.
func Records(n int) []event.Record {
	var out []event.Record
	add := func(sec float64, e event.Event) {
		out = append(out, event.Record{Seq: uint64(len(out) + 1),
			Time: Start.Add(time.Duration(sec * float64(time.Second))), Event: e})
	}
	plan := event.PlanMade{Phases: []event.Phase{{ID: "infrastructure", Title: event.M("phase.infrastructure")}}}
	for i := range n {
		h := fmt.Sprintf("n%d", i)
		plan.Hosts = append(plan.Hosts, event.Host{Name: h, Roles: []string{"worker"}})
		plan.Steps = append(plan.Steps, event.Step{ID: "infrastructure.claim/" + h, Phase: "infrastructure", Host: h,
			Title: event.M("step.infrastructure.claim", "node", h)})
	}
	add(0, event.RunStarted{Cluster: "c", Verb: "deploy"})
	add(0, plan)
	for _, s := range plan.Steps {
		add(0, event.StepStarted{Step: s.ID, Try: 1})
	}
	for sec := range 60 {
		for _, h := range plan.Hosts {
			add(float64(sec), event.Output{Host: h.Name, Step: "infrastructure.claim/" + h.Name, Stream: "stdout",
				Line: fmt.Sprint("second ", sec)})
		}
	}
	for _, s := range plan.Steps {
		add(61, event.StepEnded{Step: s.ID, Outcome: event.Changed, Took: time.Minute})
	}
	add(62, event.RunEnded{Outcome: event.Changed})
	return out
}

// Log is a log in memory.
type Log []event.Record

// Next implements backend.Records.
func (l *Log) Next() (event.Record, error) {
	if len(*l) == 0 {
		return event.Record{}, io.EOF
	}
	r := (*l)[0]
	*l = (*l)[1:]
	return r, nil
}
