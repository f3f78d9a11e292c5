package present

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle/sign"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Clusters lists the clusters of a control host, and what their runs wait for.
func Clusters(p *i18n.Printer, clusters []request.ClusterInfo) document.Document {
	s := document.Section{Head: columns(p, "name", "masters", "workers", "status", "last-run", "version", "file")}
	for _, c := range clusters {
		s.Rows = append(s.Rows, cells(event.Clean(c.Name), strconv.Itoa(c.Masters), strconv.Itoa(c.Workers),
			p.T("list."+State(c)), cmp.Or(c.LastRun, "-"), cmp.Or(event.Clean(c.Kubernetes), "-"), cmp.Or(c.File, "-")))
	}
	out := document.Document{s}
	for _, c := range clusters {
		if c.Fault != nil {
			text, next := p.Fault(c.Fault)
			out = append(out, document.Text("", c.Name+": "+text, "  "+next))
		}
		if c.Moved != "" {
			out = append(out, document.Text("", p.T("list.moved-to", "cluster", event.Clean(c.Name), "place", c.Moved)))
		}
		if len(c.Waits) > 0 {
			out = append(out, document.Text(""), waits(p, c))
		}
		if c.Upgrade != nil {
			out = append(out, document.Text(""), upgrading(p, c))
		}
	}
	return out
}

// State is the end of the key that says a cluster's status (list.waiting).
func State(c request.ClusterInfo) string {
	if len(c.Waits) > 0 {
		return "waiting"
	}
	return c.Status
}

// Runs lists the runs of clusters that are kept, newest last.
func Runs(p *i18n.Printer, clusters []request.ClusterRuns) document.Document {
	s := document.Section{Head: columns(p, "cluster", "run", "when", "took", "result")}
	for _, c := range clusters {
		for _, r := range slices.Backward(c.Runs) {
			outcome := p.T("list.interrupted")
			if r.Run == c.LastRun {
				outcome = p.T("list." + State(c.ClusterInfo))
			}
			if r.Outcome != "" {
				outcome = p.T("report.outcome." + string(r.Outcome))
			}
			at, took := "-", "-"
			if !r.At.IsZero() {
				at, took = r.At.UTC().Format(time.RFC3339), r.Took.Round(time.Second).String()
			}
			s.Rows = append(s.Rows, cells(event.Clean(c.Name), r.Run, at, took, outcome))
		}
	}
	return document.Document{s}
}

// loggedLine is a run that is kept.
type loggedLine struct {
	Type    string        `json:"type"` // run
	Cluster string        `json:"cluster"`
	Run     string        `json:"run"`
	Verb    string        `json:"verb,omitempty"`
	Status  string        `json:"status"`
	At      time.Time     `json:"at,omitzero"`
	Took    time.Duration `json:"took_ns,omitempty"`
	Outcome event.Outcome `json:"outcome,omitempty"`
	Exit    int           `json:"exit"`
}

// RunLines writes the runs of clusters that are kept, newest last.
func RunLines(out *Lines, clusters []request.ClusterRuns) {
	for _, c := range clusters {
		for _, r := range slices.Backward(c.Runs) {
			out.Put(loggedLine{"run", c.Name, r.Run, r.Verb, r.Said(), r.At, r.Took, r.Outcome, r.Exit})
		}
	}
}

// Certificates lists certificates.
func Certificates(p *i18n.Printer, rows []operation.CertificateRow) document.Document {
	s := document.Section{Head: strings.Split(p.T("certs.header"), "\t")}
	var why []string
	for _, r := range rows {
		end, days := "–", "–"
		if r.Days != nil {
			end, days = r.NotAfter.Format(time.DateOnly), strconv.Itoa(*r.Days)
		}
		row := cells(cmp.Or(r.Node, "–"), cmp.Or(r.Name, "–"), end, days, p.T("certs.state."+r.State), r.At)
		if r.State != "ok" {
			row[4].Emphasis = document.Bad
		}
		s.Rows = append(s.Rows, row)
		if r.Fault != nil {
			text, next := p.Fault(r.Fault)
			if why = append(why, text); next != "" {
				why = append(why, "  → "+next)
			}
		}
	}
	return append(document.Document{s}, document.Text(why...))
}

// Severity is how bad the worst of the certificates is: failed when one has expired or is not what it should be,
// partial when one ends soon, "" when all are as they should be.
func Severity(rows []operation.CertificateRow) event.Class {
	worst := event.Class("")
	for _, r := range rows {
		switch r.State {
		case "ok":
		case "soon":
			worst = cmp.Or(worst, event.ClassPartial)
		default:
			return event.ClassFailed
		}
	}
	return worst
}

// signerLine is a signer that a control host knows.
type signerLine struct {
	Type        string `json:"type"` // signer
	Identity    string `json:"identity"`
	KeyType     string `json:"key_type"`
	Fingerprint string `json:"fingerprint"`
	Namespaces  string `json:"namespaces,omitempty"`
	After       string `json:"valid_after,omitempty"`
	Before      string `json:"valid_before,omitempty"`
}

// SignerLines writes the signers that a control host knows.
func SignerLines(out *Lines, list []sign.Listed) {
	rfc := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Format(time.RFC3339)
	}
	for _, l := range list {
		out.Put(signerLine{"signer", l.Principals, l.KeyType, l.Fingerprint, l.Namespaces, rfc(l.After),
			rfc(l.Before)})
	}
}

// Signers lists them.
func Signers(p *i18n.Printer, list []sign.Listed) document.Document {
	s := document.Section{Head: columns(p, "signer", "key-type", "fingerprint", "until")}
	for _, l := range list {
		until := "-"
		if !l.Before.IsZero() {
			until = l.Before.Format(time.DateTime)
		}
		s.Rows = append(s.Rows, cells(l.Principals, l.KeyType, l.Fingerprint, until))
	}
	return document.Document{s}
}
