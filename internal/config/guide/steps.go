package guide

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
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

// AllSteps returns the steps of a new cluster.
func AllSteps() []Step {
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
	return Step(draft.StepOf(x.Key))
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

// FirstWrong returns the first step with an error.
func (s *Session) FirstWrong() (Step, bool) {
	for _, t := range s.Steps {
		if s.ProblemsOf(t).HasErrors() {
			return t, true
		}
	}
	return "", false
}
