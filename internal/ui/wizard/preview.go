package wizard

import (
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

const (
	linkWide  = 3  // cells between two boxes: three fit into 78 with the longest name of a component
	boxLeast  = 15 // cells inside of a box; with less, groups are lines
	boxMost   = 36
	namesMost = 4 // lines of names in a box
)

// previewLines returns the picture of the cluster and what is known of it.
func (r *review) previewLines(e *frame.Env, w int) []string {
	p := r.p
	known := r.planOf == p.g.Fingerprint() && !r.busy && r.fault == nil
	s := p.g.Preview(e.P, r.plan, known, r.past)
	out := append(drawn(e, s, p.g.Joins(), w), "")
	wide := 0
	for _, x := range s.Rows {
		wide = max(wide, widget.Width(x.Label))
	}
	for _, x := range s.Rows {
		for i, l := range wrapped(x.Text, max(1, w-wide-3)) {
			label := ""
			if i == 0 {
				label = x.Label
			}
			line := new(widget.Line).Space(1).Add(e.Theme.Dim, label).To(wide + 3)
			out = append(out, line.Add(e.Theme.Text, l).String())
		}
	}
	return out
}

// drawn is the picture: boxes from left to right as a request goes, etcd of its own below the control planes. Where
// there is no room for boxes, groups are lines.
func drawn(e *frame.Env, s guide.Preview, joins bool, w int) []string {
	t, g := e.Theme, e.Theme.Glyphs
	var across []guide.Group
	var etcd *guide.Group
	for i, x := range s.Groups {
		if x.Role == bundle.Etcd {
			etcd = &s.Groups[i]
			continue
		}
		across = append(across, x)
	}
	if len(across) == 0 {
		return nil
	}
	in := min(boxMost, (w-linkWide*(len(across)-1))/len(across)-4)
	if in < boxLeast {
		return listed(e, s, joins, w)
	}
	var boxes [][]string
	high := 0
	for _, x := range across {
		high = max(high, len(inside(e, x, in)))
	}
	link := 0 // where the line to etcd begins
	for i, x := range across {
		lines := inside(e, x, in)
		for len(lines) < high {
			lines = append(lines, "")
		}
		boxes = append(boxes, frame.Box(e, t.Border, x.Title(e.P, joins), lines, in))
		if x.Role == bundle.ControlPlane {
			link = i * (in + 4 + linkWide)
		}
	}
	arrow := t.Faint.Render(strings.Repeat(g.Horizontal, linkWide-1) + g.Arrow)
	var out []string
	for y := range boxes[0] {
		l := new(widget.Line)
		for i, b := range boxes {
			switch {
			case i > 0 && y == 1:
				l.Raw(arrow)
			case i > 0:
				l.Space(linkWide)
			}
			l.Raw(b[y])
		}
		out = append(out, l.String())
	}
	if etcd == nil {
		return out
	}
	out = append(out, widget.Spaces(link+(in+4)/2)+t.Faint.Render(g.Vertical))
	for _, l := range frame.Box(e, t.Border, etcd.Title(e.P, joins), inside(e, *etcd, in), in) {
		out = append(out, widget.Spaces(link)+l)
	}
	return out
}

// inside are the lines in a group's box: its nodes, many in a row as a range, and what runs on them.
func inside(e *frame.Env, x guide.Group, w int) []string {
	t := e.Theme
	names := wrapped(strings.Join(report.Ranges(x.Names), "  "), w)
	if len(names) > namesMost {
		names = names[:namesMost]
		names[namesMost-1] = widget.Cut(names[namesMost-1], w-1, "") + t.Glyphs.Cut
	}
	var out []string
	for _, l := range names {
		out = append(out, t.Accent.Render(l))
	}
	for _, l := range x.Runs {
		out = append(out, t.Dim.Render(widget.Cut(l, w, t.Glyphs.Cut)))
	}
	return out
}

// listed are the groups as lines.
func listed(e *frame.Env, s guide.Preview, joins bool, w int) []string {
	t := e.Theme
	var out []string
	for _, x := range s.Groups {
		out = append(out, t.Strong.Render(widget.Cut(x.Title(e.P, joins), w, t.Glyphs.Cut)))
		for _, l := range inside(e, x, max(1, w-2)) {
			out = append(out, "  "+l)
		}
	}
	return out
}
