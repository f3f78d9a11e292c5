package board

import (
	"fmt"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// refused is a run that preflight ended: a third of the nodes cannot be reached, and one shows another host key.
func refused(n int) *state.State {
	s, seq := state.New(), uint64(0)
	at := func(second int, e event.Event) {
		seq++
		s.Apply(event.Record{Seq: seq, Time: time.Unix(int64(1763690400+second), 0).UTC(), Event: e})
	}
	plan := event.PlanMade{Phases: []event.Phase{{ID: "preflight", Title: event.M("phase.preflight")}},
		Steps: []event.Step{{ID: "preflight.verdict", Phase: "preflight", Title: event.M("step.preflight.verdict")}}}
	var found []event.Finding
	for i := range n {
		name := fmt.Sprintf("node-%d", i+1)
		plan.Hosts = append(plan.Hosts, event.Host{Name: name})
		if i%3 == 0 {
			found = append(found, event.Finding{Host: name, Severity: event.Error, Fault: event.Fault{
				Code: "ssh.unreachable", Node: name, Cause: "no route to host",
				Args: map[string]string{"addr": fmt.Sprintf("192.0.2.%d", i+1)}}})
		}
	}
	found = append(found, event.Finding{Host: "node-2", Severity: event.Error, Fault: event.Fault{
		Code: "ssh.hostkey-changed", Node: "node-2", Args: map[string]string{"addr": "192.0.2.2:22",
			"type": "ssh-ed25519", "fingerprint": "SHA256:0tX9bT3mJg4kqYV4oS3Gz2mWk5bq6kq8QvYk2u7yZ9E",
			"known": "SHA256:Qm4kqYV4oS3Gz2mWk5bq6kq8QvYk2u7yZ9E0tX9bT3m", "line": "/root/.ssh/known_hosts:7"}}})
	at(0, event.RunStarted{Cluster: "rack-7", Verb: "deploy"})
	at(0, plan)
	at(1, event.PhaseStarted{Phase: "preflight"})
	at(1, event.StepStarted{Step: "preflight.verdict", Try: 1})
	for _, f := range found {
		at(2, f)
	}
	fault := event.NewFault(event.ClassPreflight, "preflight.failed", nil, "count", fmt.Sprint(len(found)))
	at(3, event.StepEnded{Step: "preflight.verdict", Outcome: event.Failed, Fault: fault})
	at(3, event.PhaseEnded{Phase: "preflight", Outcome: event.Failed})
	at(3, event.RunEnded{Outcome: event.Failed, Fault: fault,
		Next: []event.Msg{event.M("next.resume", "command", "eggo-tui deploy --id rack-7")}})
	return s
}

// The summary of a run that preflight refused says why, by cause.
func TestSummaryOfARefusal(t *testing.T) {
	for _, n := range []int{3, 30, 100} {
		everyScreen(t, "summary-refused", n, func(p *i18n.Printer, th *theme.Theme, w, h int) []string {
			return widget.Block(Summary{P: p, Theme: th}.Screen(refused(n), w, h), w, h, "")
		})
	}
}
