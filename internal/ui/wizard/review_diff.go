package wizard

import (
	"regexp"
	"strings"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

var secretLine = regexp.MustCompile(`(?m)^(\s*(?:- )?(?:sudo-)?password:[ \t]*)\S.*$`)

// masked has no password in it.
func masked(text []byte) string { return secretLine.ReplaceAllString(string(text), "${1}********") }

// diff is what is other than on the disk.
func (r *review) diff(e *frame.Env, w int) []string {
	t, g := e.Theme, e.Theme.Glyphs
	switch {
	case !r.read:
		return []string{t.Dim.Render(e.P.T("wizard.diff.reading"))}
	case r.diskErr != nil:
		text, next := e.P.Fault(r.diskErr)
		return complaint(e, event.Error, event.Clean(text), event.Clean(next), w)
	case r.disk == nil:
		return wrapped(e.P.T("wizard.diff.new", "file", r.p.target()), w)
	case string(r.disk) == string(r.p.draft.YAML()):
		return []string{t.Good.Render(g.OK + " " + e.P.T("wizard.diff.same"))}
	}
	var out []string
	for _, d := range lineDiff(strings.Split(strings.TrimRight(masked(r.disk), "\n"), "\n"), strings.Split(strings.TrimRight(masked(r.p.draft.YAML()), "\n"), "\n")) {
		text := widget.Cut(event.Clean(d.text), w-2, g.Cut)
		switch d.kind {
		case '+':
			out = append(out, t.Added.Render("+ "+text))
		case '-':
			out = append(out, t.Removed.Render("- "+text))
		default:
			out = append(out, t.Dim.Render("  "+text))
		}
	}
	return out
}

type diffLine struct {
	kind byte // ' ', '+', '-'
	text string
}

const diffMost = 2000 // lines; of longer files all is other

// lineDiff compares by the longest common sequence of lines.
func lineDiff(a, b []string) []diffLine {
	var out []diffLine
	if len(a) > diffMost || len(b) > diffMost {
		for _, l := range a {
			out = append(out, diffLine{'-', l})
		}
		for _, l := range b {
			out = append(out, diffLine{'+', l})
		}
		return out
	}
	long := make([][]int32, len(a)+1)
	for i := range long {
		long[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				long[i][j] = long[i+1][j+1] + 1
			} else {
				long[i][j] = max(long[i+1][j], long[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, diffLine{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && long[i+1][j] >= long[i][j+1]:
			out = append(out, diffLine{'-', a[i]})
			i++
		default:
			out = append(out, diffLine{'+', b[j]})
			j++
		}
	}
	return out
}
