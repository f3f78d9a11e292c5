package guide

import (
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Preflight holds what preflight of a draft has found so far.
type Preflight struct {
	Of       string // fingerprint of the session
	Busy     bool
	Ended    bool
	Machines []string    // that were checked
	Linked   []string    // that were logged in to
	Reading  draft.Check // the bundle that is read
	Fault    *event.Fault
	Findings []event.Finding
	Causes   []report.Cause // the findings by what is wrong
}

// StartPreflight begins again, unless the draft has errors. It reports whether it does.
func (s *Session) StartPreflight() bool {
	s.Preflight = Preflight{Of: s.Fingerprint()}
	_, problems := s.Draft.Check("deploy.yaml")
	s.Preflight.Busy = !problems.HasErrors()
	return s.Preflight.Busy
}

// Take takes news.
func (f *Preflight) Take(n draft.Check) {
	switch {
	case n.Finding != nil:
		f.Findings = append(f.Findings, *n.Finding)
		f.Causes = report.Causes(f.Findings)
	case n.Machine != "" && !slices.Contains(f.Machines, n.Machine):
		f.Machines = append(f.Machines, n.Machine)
	case n.Linked != "" && !slices.Contains(f.Linked, n.Linked):
		f.Linked = append(f.Linked, n.Linked)
	case n.Bundle != "":
		f.Reading = n
	}
	if n.Fault != nil {
		f.Fault = n.Fault
	}
	if n.End {
		f.Busy, f.Ended, f.Reading = false, true, draft.Check{}
	}
}

// Count returns how many findings have a severity.
func (f *Preflight) Count(sev event.Severity) int {
	n := 0
	for _, x := range f.Findings {
		if x.Severity == sev {
			n++
		}
	}
	return n
}

// Passed reports whether preflight of the draft as it is now found no error.
func (s *Session) Passed() bool {
	f := &s.Preflight
	return f.Ended && f.Fault == nil && f.Of == s.Fingerprint() && f.Count(event.Error) == 0
}

// Progress returns how many machines were checked and logged in to.
func (f *Preflight) Progress() (done, linked int) {
	return len(f.Machines), max(len(f.Linked), len(f.Machines))
}

// CauseWords returns the text of a finding and what to do about it; what helps with SSH is done in the wizard.
func CauseWords(p *i18n.Printer, place string, f *event.Fault) (text, next string) {
	if strings.HasPrefix(f.Code, "ssh.") {
		return Words(p, place, f)
	}
	text, next = p.Fault(f)
	return event.Clean(text), event.Clean(next)
}

// Removable returns those of the nodes of findings that can be removed from the draft: not all, and no members of a
// running cluster.
func (s *Session) Removable(hosts []string) []string {
	list := slices.DeleteFunc(slices.Clone(hosts), func(name string) bool {
		i := s.FindMachine(name)
		return i >= 0 && s.Member(s.Draft.Machines[i])
	})
	if len(list) >= len(s.Fresh()) {
		return nil
	}
	return list
}
