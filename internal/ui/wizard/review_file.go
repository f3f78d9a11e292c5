package wizard

import (
	"regexp"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// text is the file as it will be. It is written again when the draft or the language is another.
func (r *review) text(p *i18n.Printer) []byte {
	if r.file == nil || r.fileIn != p.Lang() || !r.fileOf.Equal(r.p.g.Draft) {
		r.fileOf, r.fileIn, r.file = r.p.g.Draft.Clone(), p.Lang(), r.p.g.Text(p)
		r.shown = strings.Split(strings.TrimRight(draft.Masked(r.file), "\n"), "\n")
	}
	return r.file
}

var yamlKey = regexp.MustCompile(`\A(\s*(?:- )?)([^\s:#][^:]*)(:)(.*)\z`)

// comment is what follows a # that stands outside of quotes.
var comment = regexp.MustCompile(`\A((?:"(?:[^"\\]|\\.)*"|[^"#])*)(#.*)\z`)

// yamlLine colours the key of a line, and its comment.
func yamlLine(e *frame.Env, l string) string {
	if m := comment.FindStringSubmatch(l); m != nil && (m[1] == "" || strings.HasSuffix(m[1], " ")) {
		if strings.TrimSpace(m[1]) == "" {
			return m[1] + e.Theme.Dim.Render(m[2])
		}
		return yamlLine(e, m[1]) + e.Theme.Dim.Render(m[2])
	}
	m := yamlKey.FindStringSubmatch(l)
	if m == nil {
		return e.Theme.Text.Render(l)
	}
	return m[1] + e.Theme.Busy.Render(m[2]) + e.Theme.Dim.Render(m[3]) + e.Theme.Text.Render(m[4])
}
