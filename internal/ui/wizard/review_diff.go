package wizard

import (
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// onDisk is what is there in the language of the screen. It is not read again for every frame.
func (r *review) onDisk(p *i18n.Printer) []byte {
	if r.diskIn != p.Lang() {
		r.disk, r.diskIn = r.p.g.OnDisk(r.disk, p), p.Lang()
	}
	return r.disk
}

// diff is what is other than on the disk.
func (r *review) diff(e *frame.Env, w int) []string {
	t, g := e.Theme, e.Theme.Glyphs
	sentence, good, lines := r.p.g.Diff(e.P, r.onDisk(e.P), r.text(e.P))
	switch {
	case !r.read:
		return []string{t.Dim.Render(e.P.T("wizard.diff.reading"))}
	case r.diskErr != nil:
		text, next := e.P.Fault(r.diskErr)
		return complaint(e, event.Error, event.Clean(text), event.Clean(next), w)
	case good == guide.Good:
		return []string{t.Good.Render(g.OK + " " + sentence)}
	case sentence != "":
		return wrapped(sentence, w)
	}
	var out []string
	for _, d := range lines {
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
