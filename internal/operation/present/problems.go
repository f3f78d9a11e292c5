package present

import (
	"fmt"
	"strconv"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// Problems shows those of a deploy.yaml as compilers do, one a line: file:line:col: severity: key: sentence [code] →
// what to write.
func Problems(p *i18n.Printer, problems config.Problems) document.Document {
	var s document.Section
	for _, x := range problems {
		text, next := p.Fault(x.Fault())
		line := fmt.Sprintf("%s:%d:%d: %s: ", x.File, x.Line, x.Col, p.T("cli."+string(x.Severity)))
		if x.Key != "" {
			line += x.Key + ": "
		}
		line += text + " [" + x.Code + "]"
		if next != "" {
			line += " → " + next
		}
		s.Lines = append(s.Lines, document.Cell{Text: line})
	}
	return document.Document{s}
}

// Validity shows them with a summary.
func Validity(p *i18n.Printer, file string, problems config.Problems) document.Document {
	errors, warnings := problems.Count()
	key := "cli.validate.valid"
	if errors > 0 {
		key = "cli.validate.invalid"
	}
	return append(Problems(p, problems), document.Text(p.T(key, "file", file, "errors", strconv.Itoa(errors),
		"warnings", strconv.Itoa(warnings))))
}

// The lines of --output json, described in docs/deploy-yaml.md. New fields may come, names do not change.
type (
	problemLine struct {
		Type     string `json:"type"` // problem
		File     string `json:"file"`
		Line     int    `json:"line"`
		Column   int    `json:"column"`
		Key      string `json:"key"`
		Code     string `json:"code"`
		Severity string `json:"severity"`
		Message  string `json:"message"`
		Next     string `json:"next"`
	}
	validityLine struct {
		Type     string `json:"type"` // summary
		File     string `json:"file"`
		Valid    bool   `json:"valid"`
		Errors   int    `json:"errors"`
		Warnings int    `json:"warnings"`
	}
)

// ValidityLines writes them with a summary.
func ValidityLines(p *i18n.Printer, out *Lines, file string, problems config.Problems) {
	for _, x := range problems {
		text, next := p.Fault(x.Fault())
		out.Put(problemLine{"problem", x.File, x.Line, x.Col, x.Key, x.Code, string(x.Severity), text, next})
	}
	errors, warnings := problems.Count()
	out.Put(validityLine{"summary", file, errors == 0, errors, warnings})
}
