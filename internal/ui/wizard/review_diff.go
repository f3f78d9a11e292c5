package wizard

import (
	"github.com/eggo-k8s/eggo/internal/draft"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

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
	case string(r.disk) == string(r.text(e.P)):
		return []string{t.Good.Render(g.OK + " " + e.P.T("wizard.diff.same"))}
	}
	var out []string
	for _, d := range draft.Compare(r.disk, r.text(e.P)) {
		text := widget.Cut(event.Clean(d.Text), w-2, g.Cut)
		switch d.Kind {
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
