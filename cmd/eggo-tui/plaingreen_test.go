package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/draft"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/i18n"
)

// plainDraft is a wizard, line by line, that has a draft without errors.
func plainDraft(m *plainDesk) *plainWizard {
	w := newPlainWizard(m, newDraftDesk(m.env(), m.state).services())
	w.steps = []plainStep{{"preflight", w.check}, {"review", w.review}}
	w.draft.Values["package-src.x86src"] = "/srv/x.tar.gz"
	w.draft.Machines = []config.Machine{{Name: "n1", IP: "192.0.2.1", Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd, bundle.Worker}}}
	return w
}

// After a preflight that failed, an install is none of the choices; with warnings it is, and they are told before the question.
func TestPlainInstallAfterPreflight(t *testing.T) {
	t.Parallel()
	m, said := dialogue(t, i18n.English, "1")
	w := plainDraft(m)
	w.checked = verdict{of: w.drafted(), errors: 2}
	var to toStep
	if err := w.review(context.Background()); !errors.As(err, &to) || to != "preflight" {
		t.Errorf("the first choice leads to %v", err)
	}
	says(t, said.String(), "Preflight found 2 errors", "fix the errors")
	if strings.Contains(said.String(), "write and install") {
		t.Errorf("an install is offered:\n%s", said)
	}
	m, said = dialogue(t, i18n.English, "1", "", "7")
	w = plainDraft(m)
	w.checked = verdict{of: w.drafted(), warnings: 1}
	if err := w.review(context.Background()); !errors.Is(err, errLeft) {
		t.Error(err)
	}
	says(t, said.String(), "write and install", "Preflight found 1 warning", "Install k8s-cluster now?")
}

// A machine with errors is not said to be ready, neither as it is looked at nor in the list.
func TestPlainMachinesWithErrorsAreNotReady(t *testing.T) {
	t.Parallel()
	m, said := dialogue(t, i18n.English)
	w := plainDraft(m)
	x := w.draft.Machines[0]
	w.looked[lookID(x)] = draft.Probe{Machine: x, Stage: draft.Reaching}
	w.hearOf(draft.Probe{Machine: x, Stage: draft.Seen, OS: "Debian", Findings: []event.Finding{{Host: x.Name, Severity: event.Error, Fault: *event.NewFault(event.ClassPreflight, "preflight.other-cluster", nil, "cluster", "old")}}})
	w.listMachines()
	says(t, said.String(), "n1 has 1 error: Debian", "control plane, etcd, worker  1 error")
	if strings.Contains(said.String(), "is ready") {
		t.Errorf("it is ready:\n%s", said)
	}
}

// Line by line too: what a line says that is no machine is told part by part, and each change is kept before the next question.
func TestPlainLinesAreNotDropped(t *testing.T) {
	t.Parallel()
	m, said := dialogue(t, i18n.English, "10.0.0.1 wroker", "web 10.0.0.1:22", "10.0.0.1:2222", "web 10.0.0.1", "10.0.0.1 etcd")
	w := plainDraft(m)
	w.draft.Machines, w.steps = nil, []plainStep{{"nodes", w.machines}}
	if err := w.machines(context.Background()); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	says(t, said.String(), "did you mean worker?", "type name=wroker", "already in the list, nothing changed: 10.0.0.1")
	if n := len(w.draft.Machines); n != 2 || w.draft.Machines[1].Port != "2222" {
		t.Errorf("%+v", w.draft.Machines)
	}
	if s, ok := w.svc.Load(); !ok || len(s.Draft.Machines) != 2 {
		t.Errorf("kept is %+v", s)
	}
}
