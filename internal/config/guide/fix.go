package guide

import (
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Fix is an answer of the wizard to findings: change the draft, or go to the step where they are fixed.
type Fix struct {
	Word  string // the key of its label; "" if there is nothing
	To    Step
	apply bool
	of    []event.Finding
}

// Changes reports whether the fix changes the draft.
func (f Fix) Changes() bool { return f.apply }

// FixOf returns what can be done about findings of one cause.
func (s *Session) FixOf(list []event.Finding) Fix {
	word, change, to := s.fix(list[0])
	return Fix{word, to, change != nil, list}
}

// Apply changes the draft for all findings of a fix, as one change.
func (s *Session) Apply(f Fix) {
	s.Change(func() {
		for _, x := range f.of {
			if _, change, _ := s.fix(x); change != nil {
				change()
			}
		}
	})
}

// Label returns what a fix does, with the number of nodes that it does it to.
func (f Fix) Label(p *i18n.Printer) string {
	if n := len(report.Cause{Findings: f.of}.Hosts()); f.apply && n > 1 {
		return p.T("wizard.cause.fix", "do", p.T(f.Word), "count", itoa(n))
	}
	return p.T(f.Word)
}

// fix returns what can be done about a finding of preflight: the key of its label, and either a change of the draft or
// the step where it is fixed by hand. Without a label, there is nothing.
func (s *Session) fix(x event.Finding) (word string, change func(), to Step) {
	d, at := &s.Draft, -1
	for i, m := range d.Machines {
		if m.Name == x.Host && x.Host != "" {
			at = i
		}
	}
	code, args := x.Fault.Code, x.Fault.Args
	switch {
	case code == "preflight.arch" && at >= 0:
		return "wizard.fix.arch", func() { d.Machines[at].Arch = args["is"] }, ""
	case code == "bundle.no-addon":
		return "wizard.fix.addon", func() {
			list := slices.DeleteFunc(strings.Split(d.Value("addons"), ","), func(s string) bool {
				return strings.TrimSpace(s) == args["addon"]
			})
			d.Set("addons", strings.TrimSpace(strings.Join(list, ",")))
		}, ""
	case strings.HasPrefix(code, "bundle.") || code == "preflight.os" || code == "preflight.no-bundle":
		return "wizard.fix.bundle", nil, BundleStep
	case x.Fault.Class == event.ClassAuth || strings.HasPrefix(code, "ssh."):
		return "wizard.fix.login", nil, LoginStep
	case code == "preflight.endpoint-single":
		return s.balance()
	case code == "preflight.endpoint-unknown" || code == "preflight.no-route":
		return "wizard.fix.networks", nil, NetworksStep
	case at >= 0:
		return "wizard.fix.nodes", nil, MachinesStep
	}
	return "", nil, ""
}

// balance gives the load balancer to the first machine that only runs workloads. Without one, or in a cluster that runs
// already, a user adds it in the list of machines.
func (s *Session) balance() (word string, change func(), to Step) {
	for i, m := range s.Draft.Machines {
		if !s.Joins() && slices.Equal(m.Roles, []bundle.Role{bundle.Worker}) {
			return "wizard.fix.balancer", func() {
				s.Draft.Machines[i].Roles = append(slices.Clone(m.Roles), bundle.LoadBalancer)
				s.Draft.Set("apiserver-endpoint", "")
			}, ""
		}
	}
	return "wizard.fix.nodes", nil, MachinesStep
}
