package guide

import (
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Step is a step of the wizard, by its ID.
type Step string

// The steps, in order.
const (
	ClusterStep   Step = "cluster"
	LoginStep     Step = "login"
	MachinesStep  Step = "nodes"
	NetworksStep  Step = "networks"
	RuntimeStep   Step = "runtime"
	BundleStep    Step = "bundle"
	ExtraStep     Step = "extra" // all keys of deploy.yaml
	PreflightStep Step = "preflight"
	ReviewStep    Step = "review"
)

// allSteps returns the steps of a new cluster.
func allSteps() []Step {
	return []Step{ClusterStep, LoginStep, MachinesStep, NetworksStep, RuntimeStep, BundleStep, ExtraStep,
		PreflightStep, ReviewStep}
}

// Title returns the name of a step.
func (t Step) Title(p *i18n.Printer) string { return p.T("wizard.step." + string(t)) }

// Heading returns the sentence above a step.
func (t Step) Heading(p *i18n.Printer) string { return p.T("wizard.head." + string(t)) }

// About returns the introduction of a step; grey reports whether defaults are shown in grey, which it may mention.
func (s *Session) About(p *i18n.Printer, t Step, grey bool) string {
	key := "wizard.about." + string(t)
	switch {
	case s.Joins() && t == MachinesStep:
		key = "wizard.add.about"
	case !grey && p.Has(key+".mono"):
		key += ".mono"
	}
	return p.T(key)
}

// Now returns the step that the user is at.
func (s *Session) Now() Step { return s.Steps[s.At] }

// Index returns the place of a step, -1 if the session does not have it.
func (s *Session) Index(t Step) int { return slices.Index(s.Steps, t) }

// GoTo moves to the step of an index and reports whether there is one.
func (s *Session) GoTo(i int) bool {
	if i < 0 || i >= len(s.Steps) {
		return false
	}
	s.At = i
	s.Been[s.Now()] = true
	return true
}

// StepOf returns the step in which a problem is fixed.
func (s *Session) StepOf(x config.Problem) Step {
	if x.Code == "config.bundle-missing" {
		return BundleStep
	}
	// keys of what the step of the machines edits
	for _, list := range []string{"machines", "masters", "nodes", "workers", "etcds", "loadbalance"} {
		if strings.HasPrefix(x.Key, list) {
			return MachinesStep
		}
	}
	for _, y := range config.Settings() {
		if y.Wizard.Step != "" && (Under(x.Key, y.Key) || Under(y.Key, x.Key)) {
			return Step(y.Wizard.Step)
		}
	}
	return ExtraStep
}

// ProblemsOf returns the errors and warnings that are fixed in a step.
func (s *Session) ProblemsOf(t Step) config.Problems {
	var out config.Problems
	for _, x := range s.Problems {
		if x.Code == "config.no-masters" && len(s.Draft.With(bundle.ControlPlane)) > 0 {
			continue // the problem of the control plane itself is reported
		}
		if s.StepOf(x) == t {
			out = append(out, x)
		}
	}
	return out
}

// FirstWrong returns the first step with an error. Machines that join have no step for the keys of the cluster, with
// which they may be in conflict: then it is that of the machines.
func (s *Session) FirstWrong() (Step, bool) {
	for _, t := range s.Steps {
		if s.ProblemsOf(t).HasErrors() {
			return t, true
		}
	}
	if s.Joins() && s.Problems.HasErrors() {
		return MachinesStep, true
	}
	return "", false
}

// Standing is the state of a step: what blocks the installation, what waits for the user, and what is still found out.
type Standing struct {
	Errors, Asks int
	Busy         bool
	Open         bool // the step is not done even if nothing of this holds
}

// Standing returns the state of a step.
func (s *Session) Standing(t Step) Standing {
	errors, _ := s.ProblemsOf(t).Count()
	switch t {
	case MachinesStep:
		return s.machinesStanding()
	case BundleStep:
		return s.bundleStanding(errors)
	case PreflightStep:
		return s.preflightStanding()
	case ReviewStep:
		return Standing{Open: true} // the last step is never behind one
	}
	return Standing{Errors: errors}
}

// machinesStanding counts machines that fail or have errors, in their settings or found on them.
func (s *Session) machinesStanding() Standing {
	if len(s.Draft.Machines) == 0 && s.Now() == MachinesStep {
		return Standing{Open: true} // the list has only just begun
	}
	c := s.Tally()
	own := 0 // errors of no single machine
	for _, x := range s.ProblemsOf(MachinesStep) {
		if x.Severity == event.Error && machineOf(x.Key) < 0 {
			own++
		}
	}
	return Standing{Errors: own + c.Failed + c.Errors, Asks: c.Asking, Busy: c.Probing > 0}
}

// bundleStanding counts a chosen bundle that is damaged, or for other machines, like a missing one.
func (s *Session) bundleStanding(errors int) Standing {
	if s.LookingForBundles && len(s.Bundles) == 0 {
		return Standing{Busy: true} // whether one is missing is not known yet
	}
	at := Standing{Errors: errors}
	for _, x := range s.Bundles {
		switch {
		case !s.Chosen(x.Path):
		case x.Fault != nil:
			at.Errors++
		case !x.Verified:
			at.Busy = true
		}
	}
	if len(s.Unserved()) > 0 {
		at.Errors++
	}
	return at
}

// preflightStanding reports errors that preflight found; those of the draft belong to other steps.
func (s *Session) preflightStanding() Standing {
	f := &s.Preflight
	if s.Problems.HasErrors() || f.Of != s.Fingerprint() {
		return Standing{Open: true}
	}
	errors := f.Count(event.Error)
	if f.Fault != nil {
		errors++
	}
	return Standing{Errors: errors, Busy: f.Busy, Open: !f.Ended}
}

// StepState returns how a step is shown: errors wherever the user was, good only what was checked. errors is their
// number.
func (s *Session) StepState(p *i18n.Printer, i int) (tone Tone, word string, errors int) {
	t := s.Steps[i]
	at, been := s.Standing(t), s.Been[t]
	switch {
	case been && at.Errors > 0:
		return Bad, errorCount(p, at.Errors), at.Errors
	case i == s.At:
		return Current, p.T("wizard.state.now"), 0
	case been && at.Asks > 0:
		return Warn, p.T("wizard.state.look"), 0
	case been && at.Busy:
		return Busy, p.T("wizard.state.busy"), 0
	case been && !at.Open:
		return Good, p.T("wizard.state.done"), 0
	}
	return Idle, p.T("wizard.state.todo"), 0
}
