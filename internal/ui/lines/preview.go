package lines

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/installpreview"
)

// preview prints what an installation creates: the groups of nodes, then what is known of the cluster.
func (w *wizard) preview(ctx context.Context) {
	in := installpreview.Input{Draft: w.g.Draft}
	w.g.Check()
	in.Cluster = w.g.Cluster
	joins := w.g.Joins()
	if joins {
		in.Member = func(m config.Machine) bool { return w.g.Member(m) }
	}
	for _, b := range w.g.Bundles {
		if b.Manifest != nil && w.g.Chosen(b.Path) {
			in.Bundles = append(in.Bundles, b.Manifest)
		}
	}
	if w.svc.Past != nil && !joins {
		in.Past = w.svc.Past(ctx)
	}
	s := installpreview.Of(in, w.p)
	for _, g := range s.Groups {
		w.print(g.Line(w.p, joins))
	}
	for _, r := range s.Rows {
		if r.Label != "" {
			r.Text = w.t("sketch.row", "label", r.Label, "text", r.Text)
		}
		w.print(event.Clean(r.Text))
	}
}
