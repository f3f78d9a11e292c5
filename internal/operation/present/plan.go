package present

import (
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// planSummary closes a list of what would be changed.
type planSummary struct {
	Type    string `json:"type"` // summary
	Verb    string `json:"verb"`
	Cluster string `json:"cluster"`
	Steps   int    `json:"steps"`
	Changes int    `json:"changes"`
	Nodes   int    `json:"nodes"`
}

// planNotice is what is to be known before it begins.
type planNotice struct {
	Type    string    `json:"type"` // notice
	Text    event.Msg `json:"text"`
	Message string    `json:"message"`
}

// PlanLines writes what a verb would change.
func PlanLines(p *i18n.Printer, out *Lines, verb string, would *operation.PlanResult) {
	total := 0
	for _, h := range would.Nodes {
		total += len(h.Changes)
		out.Put(h)
	}
	for _, n := range would.Notices {
		out.Put(planNotice{"notice", n, p.Msg(n)})
	}
	out.Put(planSummary{"summary", verb, would.Cluster, would.Steps, total, len(would.Nodes)})
}

// Plan shows what a verb would change, node by node.
func Plan(p *i18n.Printer, verb string, would *operation.PlanResult) document.Document {
	if len(would.Nodes) == 0 {
		return document.Document{document.Text(p.T("plan.nothing", "verb", verb, "cluster", would.Cluster))}
	}
	var out document.Document
	total := 0
	for _, h := range would.Nodes {
		out = append(out, planned(p, h))
		total += len(h.Changes)
	}
	if len(would.Notices) > 0 {
		var s document.Section
		for _, n := range would.Notices {
			s.Lines = append(s.Lines, document.Cell{Text: p.Msg(n)})
		}
		out = append(out, s)
	}
	return append(out, document.Text(p.T("plan.total", "verb", verb, "count", strconv.Itoa(total), "steps",
		strconv.Itoa(would.Steps), "cluster", would.Cluster)))
}

func planned(p *i18n.Printer, h request.PlannedNode) document.Section {
	name := p.T("report.jump-host")
	if h.Node != "" {
		name = h.Node + "  " + h.Address
	}
	s := document.Section{Title: p.T("plan.node", "node", name, "count", strconv.Itoa(len(h.Changes)))}
	if h.Upload > 0 {
		s.Title += p.T("plan.upload", "size", report.Size(h.Upload))
	}
	for _, c := range h.Changes {
		text := p.Msg(report.Sized(c.Desc))
		if !c.Exact {
			text = p.T("plan.inexact", "step", text)
		}
		s.Lines = append(s.Lines, document.Cell{Text: text})
	}
	return s
}

// Findings shows what preflight found: by cause, with the nodes beneath.
func Findings(p *i18n.Printer, list []event.Finding) document.Document {
	var s document.Section
	add := func(text string) { s.Lines = append(s.Lines, document.Cell{Text: text}) }
	for _, x := range report.Causes(list) {
		f := x.Findings[0].Fault
		text, next := p.Fault(&f)
		names := x.Hosts()
		if len(names) > 1 {
			text = p.T("wizard.cause", "count", strconv.Itoa(len(names)), "text", text)
		}
		add(p.T("cli."+string(x.Severity)) + ": " + text + " [" + f.Code + "]")
		if len(names) > 1 {
			add("  " + strings.Join(report.Ranges(names), ", "))
		}
		if next != "" {
			add("  → " + next)
		}
	}
	return document.Document{s}
}

// findingLine is one of them as a line of JSON.
type findingLine struct {
	Type     string         `json:"type"` // finding
	Node     string         `json:"node"`
	Severity event.Severity `json:"severity"`
	faultWords
}

type faultWords struct {
	Code    string       `json:"code"`
	Message string       `json:"message"`
	Next    string       `json:"next"`
	Fault   *event.Fault `json:"fault"`
}

// FindingLines writes what preflight found.
func FindingLines(p *i18n.Printer, out *Lines, list []event.Finding) {
	for _, f := range list {
		text, next := p.Fault(&f.Fault)
		out.Put(findingLine{"finding", f.Host, f.Severity, faultWords{f.Fault.Code, text, next, &f.Fault}})
	}
}
