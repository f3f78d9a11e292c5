package guide

import (
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Action is something that can be done at the last step.
type Action string

// The actions.
const (
	ToPreflight Action = "wizard.key.to-preflight" // preflight found errors
	ToProblem   Action = "wizard.key.to-problem"   // the draft has errors
	Install     Action = "wizard.key.install"
	Join        Action = "wizard.key.join"
	Write       Action = "wizard.key.write" // deploy.yaml alone
)

// Actions returns what can be done with the draft as it is now, the next step first.
func (s *Session) Actions() []Action {
	_, errors, _ := s.Checks()
	var out []Action
	switch {
	case errors > 0:
		out = append(out, ToPreflight)
	case s.Problems.HasErrors():
		return []Action{ToProblem}
	case !s.Joins():
		out = append(out, Install)
	case len(s.Fresh()) > 0:
		out = append(out, Join)
	}
	if !s.Joins() {
		out = append(out, Write)
	}
	return out
}

// Checks returns the result of preflight for the draft as it is now.
func (s *Session) Checks() (passed bool, errors, warnings int) {
	if s.Index(PreflightStep) < 0 {
		return true, 0, 0
	}
	return s.Passed(), s.Standing(PreflightStep).Errors, s.Preflight.Count(event.Warning)
}

// Doubts returns what has to be said before an installation begins.
func (s *Session) Doubts() []event.Msg {
	switch passed, _, warnings := s.Checks(); {
	case !passed:
		return []event.Msg{event.M("wizard.run.unproven")}
	case warnings > 0:
		return []event.Msg{event.M("wizard.run.warned", "count", itoa(warnings))}
	}
	return nil
}

// Confirm returns the question before the installation, or before machines join, and what it does.
func (s *Session) Confirm() (title, about event.Msg) {
	cluster := s.Draft.Get("cluster-id")
	if s.Joins() {
		return event.M("wizard.join.title", "count", itoa(len(s.Fresh())), "cluster", cluster),
			event.M("wizard.join.about")
	}
	return event.M("wizard.run.title", "cluster", cluster),
		event.M("wizard.run.about", "count", itoa(len(s.Draft.Machines)), "file", s.Target())
}

// SinglePoint warns about a new cluster whose endpoint is one of several control planes, also before preflight does.
func (s *Session) SinglePoint(p *i18n.Printer) (Remark, bool) {
	if s.Cluster == nil || s.Joins() {
		return Remark{}, false
	}
	n, ok := s.Cluster.SinglePoint()
	if !ok {
		return Remark{}, false
	}
	text, next := p.Fault(event.NewFault(event.ClassUsage, "config.endpoint-single", nil,
		s.Cluster.SinglePointArgs(n)...))
	return Remark{event.Warning, text, next}, true
}

// Text returns deploy.yaml as it will be.
func (s *Session) Text(p *i18n.Printer) []byte { return draft.Text(s.Draft, s.Joins(), p) }

// OnDisk returns the file that is there as Text would write it; nil stays nil.
func (s *Session) OnDisk(data []byte, p *i18n.Printer) []byte {
	return draft.NormalizeForDiff(data, s.Target(), s.Joins(), p)
}

// Diff returns the lines of the file on disk and of the new one, or a sentence if there are none to compare.
func (s *Session) Diff(p *i18n.Printer, disk, text []byte) (sentence string, tone Tone, lines []draft.Line) {
	switch {
	case disk == nil:
		return p.T("wizard.diff.new", "file", s.Target()), Neutral, nil
	case string(disk) == string(text):
		return p.T("wizard.diff.same"), Good, nil
	}
	return "", Neutral, draft.Compare(disk, text)
}

// PlanRow describes what would be done on one node.
type PlanRow struct {
	Name, Address, Count, Upload string
	Changes                      []string
}

// PlanRows returns a plan in words.
func PlanRows(p *i18n.Printer, list []draft.Planned) []PlanRow {
	var out []PlanRow
	for _, n := range list {
		row := PlanRow{Name: event.Clean(n.Node), Address: n.Address,
			Count: p.T("wizard.plan.count", "count", itoa(len(n.Changes)))}
		if row.Name == "" {
			row.Name = p.T("report.jump-host")
		}
		if n.Upload > 0 {
			row.Upload = p.T("wizard.plan.upload", "size", report.Size(n.Upload))
		}
		for _, c := range n.Changes {
			text := p.Msg(report.Sized(c.Desc))
			if !c.Exact {
				text = p.T("plan.inexact", "step", text)
			}
			row.Changes = append(row.Changes, event.Clean(text))
		}
		out = append(out, row)
	}
	return out
}
