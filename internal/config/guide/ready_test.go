package guide

import (
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// debian returns a bundle for amd64 machines that run a release of Debian.
func debian(path, codename string) draft.Bundle {
	return draft.Bundle{Path: path, Verified: true, Manifest: &bundle.Manifest{Arch: "amd64", Kubernetes: "v1.34.2",
		OS: bundle.OS{ID: "debian", Codename: codename}}}
}

// probed returns a session with two machines on which Debian 12 was found.
func probed(t *testing.T) *Session {
	t.Helper()
	s := New()
	s.AddMachines(s.ReadMachines("m1 192.0.2.1\nw1 192.0.2.2").Entries)
	list, _ := s.Unprobed(false)
	for _, m := range list {
		s.Probed(draft.Probe{Machine: m, Stage: draft.Seen, OSID: "debian", Codename: "bookworm", Arch: "amd64"})
	}
	return s
}

func TestFoundBundle_ChoosesTheOnlyOneThatFits(t *testing.T) {
	key := config.BundleKey("amd64")
	for name, c := range map[string]struct {
		built []string
		found []draft.Bundle
		want  string
	}{
		"one fits":           {nil, []draft.Bundle{debian("/a", "bookworm"), debian("/b", "trixie")}, "/a"},
		"the first of two":   {nil, []draft.Bundle{debian("/x", "bookworm"), debian("/y", "bookworm")}, "/x"},
		"built just now":     {[]string{"/y"}, []draft.Bundle{debian("/y", "bookworm")}, "/y"},
		"not verified":       {nil, []draft.Bundle{{Path: "/a", Manifest: debian("", "bookworm").Manifest}}, ""},
		"for other machines": {nil, []draft.Bundle{debian("/b", "trixie")}, ""},
		"of another architecture": {nil, []draft.Bundle{{Path: "/c", Verified: true,
			Manifest: &bundle.Manifest{Arch: "arm64"}}}, ""},
	} {
		s := probed(t)
		s.Built = c.built
		for _, x := range c.found {
			s.FoundBundle(x)
		}
		if got := s.Draft.Value(key); got != c.want {
			t.Errorf("%s: %q is chosen, want %q", name, got, c.want)
		}
	}
}

func TestToggleBundle_ASecondOneIsOneMore(t *testing.T) {
	s := probed(t)
	a, b := debian("/a", "trixie"), debian("/b", "bookworm")
	s.FoundBundle(a)
	s.ToggleBundle(a)
	p := i18n.NewPrinter(i18n.English)
	if s.BundleTone("/a") != Bad || len(s.Unserved()) != 2 || s.Standing(BundleStep).Errors == 0 {
		t.Error("a bundle for another system is no error")
	}
	if list := s.Against(p, "", a.Manifest); len(list) == 0 || !strings.Contains(list[0].Text, "m1, w1") {
		t.Errorf("%+v", list)
	}
	s.FoundBundle(b)
	s.ToggleBundle(b)
	if !s.Chosen("/b") || s.Draft.Value(moreBundles) != "/b" || len(s.Unserved()) != 0 || s.BundleTone("/b") != Good {
		t.Errorf("with both: %q, %v", s.Draft.Value(moreBundles), s.Unserved())
	}
	s.ToggleBundle(b)
	s.ToggleBundle(a)
	if s.AnyChosen() {
		t.Error("one is still chosen")
	}
	s.Draft.Set(config.BundleKey("arm64"), "arm.tar.gz")
	s.File = "/srv/rack/deploy.yaml"
	if got := s.BundlePaths(); !slices.Equal(got, []string{"/srv/rack/arm.tar.gz", "/a", "/b"}) {
		t.Errorf("looked for at %v", got)
	}
}

// What can be done follows from the draft and from what preflight found of it as it is now.
func TestActions_FollowFromTheChecks(t *testing.T) {
	ready := func() *Session {
		s := probed(t)
		s.FoundBundle(debian("/a", "bookworm"))
		s.Check()
		return s
	}
	end := func(s *Session, list ...draft.Check) {
		s.StartPreflight()
		for _, c := range append(list, draft.Check{Machine: "m1"}, draft.Check{End: true}) {
			s.Preflight.Take(c)
		}
	}
	found := func(sev event.Severity) draft.Check {
		return draft.Check{Finding: &event.Finding{Severity: sev, Host: "m1",
			Fault: event.Fault{Code: "preflight.arch", Args: map[string]string{"is": "arm64"}}}}
	}
	install, unproven := []Action{Install, Write}, "wizard.run.unproven"
	for name, c := range map[string]struct {
		do    func(s *Session)
		want  []Action
		doubt string
	}{
		"not checked": {func(*Session) {}, install, unproven},
		"passed":      {func(s *Session) { end(s) }, install, ""},
		"warned":      {func(s *Session) { end(s, found(event.Warning)) }, install, "wizard.run.warned"},
		"failed":      {func(s *Session) { end(s, found(event.Error)) }, []Action{ToPreflight, Write}, unproven},
		"changed since": {func(s *Session) {
			end(s, found(event.Error))
			s.Draft.Set("username", "x")
		}, install, unproven},
		"errors": {func(s *Session) {
			s.Draft.Machines = nil
			s.Check()
		}, []Action{ToProblem}, unproven},
		"nothing joins":    {func(s *Session) { s.Join(rack(), "/x") }, nil, unproven},
		"without checking": {func(s *Session) { s.Omit(PreflightStep) }, install, ""},
	} {
		s := ready()
		if s.Problems.HasErrors() {
			t.Fatal(s.Problems)
		}
		if c.do(s); !slices.Equal(s.Actions(), c.want) {
			t.Errorf("%s: %v, want %v", name, s.Actions(), c.want)
		}
		doubt := ""
		for _, m := range s.Doubts() {
			doubt = m.Key
		}
		if doubt != c.doubt {
			t.Errorf("%s: %q is said, want %q", name, doubt, c.doubt)
		}
	}
}

// A fix is applied to all nodes of a cause, as one change; nodes can be removed as long as some are left.
func TestApply_OfAllFindings(t *testing.T) {
	s := probed(t)
	var list []event.Finding
	for _, name := range []string{"m1", "w1"} {
		list = append(list, event.Finding{Host: name, Severity: event.Error,
			Fault: event.Fault{Code: "preflight.arch", Args: map[string]string{"is": "arm64"}}})
	}
	fix := s.FixOf(list)
	p := i18n.NewPrinter(i18n.English)
	if !fix.Changes() || !strings.Contains(fix.Label(p), "2") {
		t.Fatalf("%+v: %s", fix, fix.Label(p))
	}
	s.Apply(fix)
	if s.Draft.Machines[0].Arch+s.Draft.Machines[1].Arch != "arm64arm64" {
		t.Errorf("%+v", s.Draft.Machines)
	}
	if s.Undo(p); s.Draft.Machines[0].Arch+s.Draft.Machines[1].Arch != "" {
		t.Errorf("it is not one change: %+v", s.Draft.Machines)
	}
	if len(s.Removable([]string{"w1"})) != 1 || s.Removable([]string{"m1", "w1"}) != nil {
		t.Error("all can be removed, or not even one")
	}
	refused := event.Finding{Fault: event.Fault{Code: "ssh.auth", Class: event.ClassAuth}}
	if to := s.FixOf([]event.Finding{refused}); to.To != LoginStep {
		t.Errorf("%+v", to)
	}
}

func TestStepState_OfEachStep(t *testing.T) {
	s, p := probed(t), i18n.NewPrinter(i18n.English)
	s.GoTo(s.Index(MachinesStep))
	s.GoTo(s.Index(BundleStep))
	s.Check()
	s.LookingForBundles = true
	for step, want := range map[Step]Tone{ClusterStep: Idle, MachinesStep: Good, BundleStep: Current,
		ReviewStep: Idle} {
		if tone, word, _ := s.StepState(p, s.Index(step)); tone != want || word == "" {
			t.Errorf("%s: %v, %q; want %v", step, tone, word, want)
		}
	}
	s.LookingForBundles = false
	if tone, _, errors := s.StepState(p, s.Index(BundleStep)); tone != Bad || errors == 0 {
		t.Errorf("no bundle: %v, %d errors", tone, errors)
	}
}
