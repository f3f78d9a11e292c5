package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/i18n"
)

func archs(n int) []event.Finding {
	var out []event.Finding
	for i := range n {
		host := fmt.Sprintf("node-%d", i+1)
		out = append(out, event.Finding{Host: host, Severity: event.Error,
			Fault: *event.NewFault(event.ClassPreflight, "preflight.arch", nil, "is", "arm64", "says",
				"amd64").On(host)})
	}
	return out
}

// The verbs tell what is wrong on sixty nodes once, with the nodes beneath.
func TestFindingsAreToldByCause(t *testing.T) {
	t.Parallel()
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		said := new(bytes.Buffer)
		(&environment{P: i18n.NewPrinter(lang), Stderr: said}).printFindings(archs(60))
		if n := strings.Count(said.String(), "preflight.arch"); n != 1 {
			t.Errorf("it is told %d times:\n%s", n, said)
		}
		says(t, said.String(), "60", "node-[1-60]")
	}
}

// The counter moves with each node that is logged in to and with each that is checked, and is gone at the end.
func TestNodesAreCounted(t *testing.T) {
	t.Parallel()
	said := new(bytes.Buffer)
	c := &counting{to: forgetful{}, env: &environment{P: i18n.NewPrinter(i18n.English), Stderr: said},
		linked: map[string]bool{}, ended: map[string]bool{}}
	emit := func(e event.Event) {
		if err := c.Emit(event.Record{Event: e}); err != nil {
			t.Fatal(err)
		}
	}
	var hosts []event.Host
	var steps []event.Step
	for i := range 60 {
		name := fmt.Sprintf("n%d", i)
		hosts = append(hosts, event.Host{Name: name})
		steps = append(steps, event.Step{ID: fmt.Sprint("check ", i), Phase: "preflight", Host: name})
	}
	emit(event.PlanMade{Hosts: hosts, Steps: append(steps, event.Step{ID: "verdict", Phase: "preflight"})})
	for _, h := range hosts {
		emit(event.HostState{Host: h.Name, State: "connected"})
	}
	emit(event.StepEnded{Step: "verdict"}) // of no node
	for _, s := range steps {
		emit(event.StepEnded{Step: s.ID})
	}
	for i := range 60 {
		says(t, said.String(), fmt.Sprintf("0 of 60 machines checked, %d connected", i+1),
			fmt.Sprintf("%d of 60 machines checked, 60 connected", i+1))
	}
	if !strings.HasSuffix(said.String(), "\r\x1b[K") {
		t.Errorf("the counter stays: %q", said.String()[said.Len()-80:])
	}
}
