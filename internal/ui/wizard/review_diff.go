package wizard

import (
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// onDisk is what is there in the language of the screen. It is not read again for every frame.
func (r *review) onDisk(p *i18n.Printer) []byte {
	if r.diskIn != p.Lang() {
		r.disk, r.diskIn = draft.NormalizeForDiff(r.disk, r.p.g.Target(), r.p.g.Joins(), p), p.Lang()
	}
	return r.disk
}

// diff is what is other than on the disk.
func (r *review) diff(e *frame.Env, w int) []string {
	t, g := e.Theme, e.Theme.Glyphs
	disk, text := r.onDisk(e.P), r.text(e.P)
	switch {
	case !r.read:
		return []string{t.Dim.Render(e.P.T("wizard.diff.reading"))}
	case r.diskErr != nil:
		text, next := e.P.Fault(r.diskErr)
		return complaint(e, event.Error, event.Clean(text), event.Clean(next), w)
	case disk == nil:
		return wrapped(e.P.T("wizard.diff.new", "file", r.p.g.Target()), w)
	case string(disk) == string(text):
		return []string{t.Good.Render(g.OK + " " + e.P.T("wizard.diff.same"))}
	}
	var out []string
	for _, d := range draft.Compare(disk, text) {
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
