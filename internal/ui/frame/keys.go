package frame

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Binding is one thing that a key does.
type Binding struct {
	Keys []string // as Bubble Tea names them; the first is the one that is shown
	Show string   // instead of the first key, when several belong together
	Word string   // of i18n; "" is shown nowhere
	Do   func() tea.Cmd
	Help bool // in the help only, not in the footer
	Keep bool // stays in the footer however narrow it is
	// Now: what Do gives is a message and nothing else. The program takes it before the next key, so that letters which
	// are typed right after it go where they belong: into the dialog or the page that it opens.
	Now bool
}

// Name is the key as it is shown.
func (b Binding) Name(e *Env) string {
	if b.Show == "" {
		return b.Keys[0]
	}
	if e.Theme.ASCII { // an arrow's stand-in would be taken for a letter
		return strings.NewReplacer("↑", "Up", "↓", "Down", "←", "Left", "→", "Right").Replace(b.Show)
	}
	return b.Show
}

// Find gives the binding of a key; the first that has it counts.
func Find(list []Binding, key string) (Binding, bool) {
	for _, b := range list {
		if slices.Contains(b.Keys, key) {
			return b, true
		}
	}
	return Binding{}, false
}

// Spot is where a binding stands in a footer.
type Spot struct {
	From, To int // cells, To not among them
	Binding  Binding
}

// Footer shows the keys that do something now, as many as fit into w cells, those on the left first, but for those that
// are to be kept. It says where each of them is.
func Footer(e *Env, list []Binding, w int) (string, []Spot) {
	t := e.Theme
	wide := func(b Binding) int { return widget.Width(b.Name(e)) + 1 + widget.Width(e.P.T(b.Word)) + 3 }
	room := w
	for _, b := range list {
		if b.Keep && b.Word != "" {
			room -= wide(b)
		}
	}
	l := new(widget.Line).Space(1)
	var spots []Spot
	for _, b := range list {
		if b.Help || b.Word == "" {
			continue
		}
		key, word := b.Name(e), e.P.T(b.Word)
		switch {
		case b.Keep:
			room += wide(b)
		case l.Width()+wide(b) > room:
			continue
		}
		if l.Width() > 1 {
			l.Space(3)
		}
		from := l.Width()
		l.Add(t.Key, key).Space(1).Add(t.KeyWord, word)
		spots = append(spots, Spot{from, l.Width(), b})
	}
	return l.String(), spots
}

// HelpLines lists all keys of a screen; those that do the same stand together.
func HelpLines(e *Env, list []Binding) []string {
	type line struct{ keys, word string }
	var lines []line
	wide := 0
	for _, b := range list {
		if b.Word == "" {
			continue
		}
		at := slices.IndexFunc(lines, func(l line) bool { return l.word == b.Word })
		if at < 0 {
			at, lines = len(lines), append(lines, line{word: b.Word})
		}
		lines[at].keys = strings.TrimSpace(lines[at].keys + " " + b.Name(e))
		wide = max(wide, widget.Width(lines[at].keys))
	}
	var out []string
	for _, l := range lines {
		out = append(out, new(widget.Line).Add(e.Theme.Key,
			widget.FitRight(l.keys, wide, "")).Space(2).Add(e.Theme.Text, e.P.T(l.word)).String())
	}
	return out
}

// Columns puts lines that are more than h into as many columns of w cells in all as that takes, as far as there is room
// for them.
func Columns(lines []string, w, h int) []string {
	wide := 0
	for _, l := range lines {
		wide = max(wide, widget.Width(l))
	}
	cols := min((len(lines)+h-1)/max(1, h), (w+4)/(wide+4))
	if cols < 2 {
		return lines
	}
	rows := (len(lines) + cols - 1) / cols
	out := make([]string, rows)
	for i, l := range lines {
		r := i % rows
		if i >= rows {
			out[r] += "    "
		}
		out[r] += widget.Fit(l, wide, "")
	}
	return out
}
