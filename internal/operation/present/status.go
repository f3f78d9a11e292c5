package present

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// statusLine is a status with the run in progress.
type statusLine struct {
	*phases.Status
	Bundles []bundleLine       `json:"bundles,omitempty"` // of the last run that installed from some
	Run     *runLine           `json:"run,omitempty"`
	Upgrade *request.Upgrading `json:"upgrade,omitempty"`
}

type runLine struct {
	Run   string         `json:"run"`
	Verb  string         `json:"verb"`
	Waits []request.Wait `json:"waits_for,omitempty"`
}

// StatusLine is a status as a line of JSON.
func StatusLine(st *operation.StatusResult) any {
	out := statusLine{Status: st.Status}
	for _, b := range st.Bundles {
		out.Bundles = append(out.Bundles, bundleOf(b))
	}
	if st.Now.Status == "running" {
		out.Run = &runLine{st.Now.LastRun, st.Now.Verb, st.Now.Waits}
	}
	out.Upgrade = st.Now.Upgrade
	return out
}

// Status shows how a cluster is, and the run in progress.
func Status(p *i18n.Printer, st *operation.StatusResult) document.Document {
	blank := []document.Cell{{}}
	nodes := document.Section{Lines: blank, Head: columns(p, "node", "address", "roles", "status", "version",
		"components", "certificates")}
	for _, n := range st.Nodes {
		row := cells(n.Node, n.Address, strings.Join(n.Roles, ","), "", n.Kubelet, components(p, n), firstEnd(n))
		row[3] = nodeState(p, n)
		nodes.Rows = append(nodes.Rows, row)
	}
	out := document.Document{nodes}
	if len(st.Etcd) > 0 {
		out = append(out, etcd(p, st.Status))
	}
	if len(st.Workloads) > 0 {
		s := document.Section{Lines: blank, Head: columns(p, "workload", "ready")}
		for _, l := range st.Workloads {
			s.Rows = append(s.Rows, cells(l.Kind+" "+l.Name, fmt.Sprintf("%d/%d", l.Ready, l.Want)))
		}
		out = append(out, s)
	}
	var texts []string
	for _, n := range st.Nodes {
		if n.Fault != nil {
			text, next := p.Fault(n.Fault)
			if texts = append(texts, text); next != "" {
				texts = append(texts, "  → "+next)
			}
		} else if n.Why != "" {
			texts = append(texts, n.Node+": "+n.Why)
		}
		for _, c := range n.Conditions {
			texts = append(texts, p.T("status.condition."+c.Type, "node", n.Node))
		}
		for _, c := range n.Components {
			if c.State != "active" {
				texts = append(texts, p.T("status.component", "node", n.Node, "component", c.Name, "state", c.State))
			}
		}
	}
	if st.Unknown != nil {
		text, next := p.Fault(st.Unknown)
		if texts = append(texts, text); next != "" {
			texts = append(texts, "  → "+next)
		}
	}
	for _, m := range append(st.Bundles, st.Drift...) {
		texts = append(texts, p.Msg(m))
	}
	end := document.Cell{Text: p.T("status.all-well", "cluster", st.Cluster), Emphasis: document.Good}
	if !st.Healthy {
		end = document.Cell{Text: p.T("status.unwell", "cluster", st.Cluster), Emphasis: document.Bad}
		if st.Unknown != nil && st.Unknown.Class == event.ClassAuth {
			end.Text = p.T("status.unknown", "cluster", st.Cluster)
		}
	}
	out = append(out, document.Text(texts...), document.Section{Lines: []document.Cell{end}})
	if st.Now.Upgrade != nil {
		out = append(out, upgrading(p, st.Now))
	}
	switch now := st.Now; {
	case len(now.Waits) > 0:
		out = append(out, waits(p, now))
	case now.Status == "running":
		out = append(out, document.Text(p.T("list.goes-on", "run", now.LastRun, "cluster", now.Name)))
	}
	return out
}

func etcd(p *i18n.Printer, st *phases.Status) document.Section {
	s := document.Section{Lines: []document.Cell{{}}, Head: columns(p, "ETCD", "status", "version", "size", "")}
	for _, e := range st.Etcd {
		state, more := document.Cell{Text: p.T("status.well"), Emphasis: document.Good}, strings.Join(e.Alarms, ", ")
		if !e.Healthy {
			state = document.Cell{Text: p.T("status.ill"), Emphasis: document.Bad}
			more = strings.TrimSpace(more + " " + e.Error)
		}
		unasked := func(n phases.NodeStatus) bool { return n.Node == e.Node && n.LoginFailed() }
		if slices.ContainsFunc(st.Nodes, unasked) {
			state, more = document.Cell{Text: p.T("status.not-checked")}, ""
		}
		if e.Leader {
			state.Text = p.List([]string{state.Text, p.T("status.leader")})
		}
		if e.Learner {
			state.Text = p.List([]string{state.Text, p.T("status.learner")})
		}
		row := cells(e.Node, "", e.Version, report.Size(e.DBBytes), more)
		row[1] = state
		s.Rows = append(s.Rows, row)
	}
	return s
}

func nodeState(p *i18n.Printer, n phases.NodeStatus) document.Cell {
	switch {
	case !n.Reached:
		return document.Cell{Text: p.T(unreached(n.Fault)), Emphasis: document.Bad}
	case n.Registered && n.Ready && len(n.Conditions) > 0:
		words := []string{"Ready"}
		for _, c := range n.Conditions {
			words = append(words, c.Type)
		}
		return document.Cell{Text: strings.Join(words, ","), Emphasis: document.Bad}
	case n.Registered && n.Ready:
		return document.Cell{Text: "Ready", Emphasis: document.Good}
	case n.Registered:
		return document.Cell{Text: "NotReady", Emphasis: document.Bad}
	}
	return document.Cell{Text: "-"}
}

// components names those that do not run as they should, else how many do.
func components(p *i18n.Printer, n phases.NodeStatus) string {
	var bad []string
	for _, c := range n.Components {
		if c.State != "active" {
			bad = append(bad, c.Name+": "+c.State)
		}
	}
	if len(bad) > 0 {
		return strings.Join(bad, ", ")
	}
	if len(n.Components) == 0 {
		return "-"
	}
	return p.T("status.run", "count", fmt.Sprint(len(n.Components)))
}

// firstEnd is the day on which the first of a node's certificates ends.
func firstEnd(n phases.NodeStatus) string {
	var first time.Time
	for _, c := range n.Certificates {
		if first.IsZero() || c.Ends.Before(first) {
			first = c.Ends
		}
	}
	if first.IsZero() {
		return "-"
	}
	return first.Format(time.DateOnly)
}

// upgrading says how far the upgrade of a cluster is, and what continues it and what takes it back.
func upgrading(p *i18n.Printer, c request.ClusterInfo) document.Section {
	u := c.Upgrade
	s := document.Text(p.T("list.upgrade", "cluster", c.Name, "from", u.From, "to", u.To))
	add := func(line string) { s.Lines = append(s.Lines, document.Cell{Text: "  " + line}) }
	if u.Target != u.To {
		add(p.T("list.upgrade.target", "version", u.Target))
	}
	switch {
	case u.OneWay:
		add(p.T("list.upgrade.one-way", "from", u.From))
	case u.Committed:
		add(p.T("list.upgrade.committed", "from", u.From))
	case !u.Soak.IsZero():
		add(p.T("list.upgrade.soak", "since", u.Soak.Local().Format("2006-01-02 15:04:05")))
	}
	if c.Status == request.Running { // neither can begin before the run has ended
		return s
	}
	add(p.Msg(event.Calling("list.upgrade.continue", event.Call{Verb: "upgrade", Cluster: c.Name})))
	if !u.Committed {
		add(p.Msg(event.Calling("list.upgrade.back", event.Call{Verb: "upgrade --back", Cluster: c.Name})))
	}
	return s
}

// waits says what a cluster's run waits for, and how it is decided.
func waits(p *i18n.Printer, c request.ClusterInfo) document.Section {
	s := document.Text(p.T("list.waits", "cluster", c.Name, "run", c.LastRun))
	for _, w := range c.Waits {
		text, _ := p.Fault(w.Fault)
		s.Lines = append(s.Lines, document.Cell{Text: "  " + p.T("list.wait", "node", jumpHost(p, w.Node), "step",
			p.Msg(w.Title), "since", w.Since.Local().Format("2006-01-02 15:04:05"), "fault", text)})
	}
	decide := p.Msg(event.Calling("list.decide", event.Call{Verb: "attach", Cluster: c.Name}))
	s.Lines = append(s.Lines, document.Cell{Text: "  " + decide})
	return s
}
