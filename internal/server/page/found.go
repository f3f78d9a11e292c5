package page

import (
	"strings"

	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/server"
)

// ending is what the API says about the end of a run: what its log does not know, such as whether there is something to
// continue.
type ending struct {
	known   bool
	code    string // of its fault
	next    string // what to do about that
	resumes bool   // continuing the cluster continues it
}

// run reads a run, as the reader may.
func (p *Page) run(v *visit, b boardOf) (server.Run, error) {
	r, err := p.api.GetRun.Call(v.context(), &server.InRun{InCluster: server.InCluster{Cluster: b.cluster}, Run: b.run})
	if err != nil {
		return server.Run{}, err
	}
	return r.Body, nil
}

// ending asks the API about a run that has ended. While that cannot be asked, nothing is known.
func (p *Page) ending(v *visit, b boardOf) ending {
	r, err := p.run(v, b)
	if err != nil {
		return ending{}
	}
	out := ending{known: true, resumes: r.Continue != ""}
	if r.Fault != nil {
		out.code, out.next = r.Fault.Code, r.Fault.Next
	}
	return out
}

// advice is what to do about a fault of the run.
func (b boardOf) advice(code, next string) string {
	if b.end.known && b.end.code == code {
		if next = b.end.next; !b.end.resumes {
			return next
		}
	}
	return advice(b.p, code, next)
}

// found is what a check found on one node or several.
type found struct {
	Text, Code, Fix string
	Nodes           string // where it is of several
}

// found are findings by their cause.
func (b boardOf) found(reasons []state.Reason) (out []found) {
	for _, c := range report.Found(reasons) {
		f := c.Findings[0].Fault
		x := found{Code: event.Clean(f.Code)}
		x.Text, x.Fix = b.p.Fault(&f)
		if names := c.Hosts(); len(names) > 1 {
			x.Nodes = strings.Join(report.Ranges(names), b.p.T("report.list-comma"))
		}
		out = append(out, x)
	}
	return out
}

// foundOn are those of a node, of a run that has ended or waits for a decision about its checks.
func (b boardOf) foundOn(s *state.State, host string) []found {
	var of []state.Reason
	add := func(list []state.Reason) {
		for _, r := range list {
			if r.Found && r.Host == host {
				of = append(of, r)
			}
		}
	}
	for _, q := range s.Open {
		if q.Fault.Code == state.CheckFailed {
			add(s.FoundBy(q.Step))
		}
	}
	if s.Ended != nil {
		add(s.Reasons())
	}
	return b.found(of)
}
