package frame

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/help"
	"charm.land/bubbles/v2/key"
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
	// Group is the column of the help that the key stands in.
	Group Group
	// Now: what Do gives is a message and nothing else. The program takes it before the next key, so that letters which
	// are typed right after it go where they belong: into the dialog or the page that it opens.
	Now bool
}

// Group of keys.
type Group int

// The groups: what the page does, what every field does that is typed into, what every page does.
const (
	OfPage Group = iota
	OfFields
	OfAll
)

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

// width is the number of cells of a binding in a footer.
func (b Binding) width(e *Env) int { return widget.Width(b.Name(e)) + 1 + widget.Width(e.P.T(b.Word)) }

// FooterWidth returns how many cells the narrowest footer takes: the one with only the keys that are always shown.
func FooterWidth(e *Env, list []Binding) int {
	w := -2
	for _, b := range list {
		if b.Keep && b.Word != "" && !b.Help {
			w += b.width(e) + 3
		}
	}
	return max(1, w)
}

// Footer shows the keys that do something now, as many as fit into w cells, those on the left first, but for those that
// are to be kept. It says where each of them is.
func Footer(e *Env, list []Binding, w int) (string, []Spot) {
	t := e.Theme
	wide := func(b Binding) int { return b.width(e) + 3 }
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

// Help lists all keys of a screen, those that do the same together: a column for each group, more where one does not
// fit into h lines, and fewer where the columns do not fit into w cells. What is more than h lines is to be scrolled.
func Help(e *Env, list []Binding, w, h int) []string {
	groups := grouped(e, list)
	m := help.New()
	m.Styles, m.FullSeparator = e.Theme.Help(), "    "
	draw := func(cols [][]key.Binding) []string {
		for _, c := range cols {
			flushRight(c)
		}
		return strings.Split(m.FullHelpView(cols), "\n")
	}
	for n := len(groups); n > 0; n-- { // the last groups share a column when there is no room for one each
		var cols [][]key.Binding
		for i := range n {
			g := groups[i]
			if i == n-1 {
				g = slices.Concat(groups[i:]...)
			}
			parts := (len(g) + max(1, h) - 1) / max(1, h)
			cols = slices.AppendSeq(cols, slices.Chunk(g, (len(g)+parts-1)/parts))
		}
		if out := draw(cols); widget.Width(out[0]) <= w {
			return out
		}
	}
	return draw([][]key.Binding{slices.Concat(groups...)})
}

// grouped are the keys that are shown, by their groups; those that do the same are one.
func grouped(e *Env, list []Binding) [][]key.Binding {
	all := make([][]key.Binding, OfAll+1)
	at := map[string]int{}
	for _, b := range list {
		g := &all[b.Group]
		switch i, known := at[b.Word]; {
		case b.Word == "":
		case known && i < len(*g) && (*g)[i].Help().Desc == e.P.T(b.Word):
			(*g)[i].SetHelp(strings.TrimSpace((*g)[i].Help().Key+" "+b.Name(e)), e.P.T(b.Word))
		default:
			at[b.Word] = len(*g)
			*g = append(*g, key.NewBinding(key.WithKeys(b.Keys...), key.WithHelp(b.Name(e), e.P.T(b.Word))))
		}
	}
	return slices.DeleteFunc(all, func(g []key.Binding) bool { return len(g) == 0 })
}

// flushRight puts the keys of a column beside what they do.
func flushRight(col []key.Binding) {
	wide := 0
	for _, b := range col {
		wide = max(wide, widget.Width(strings.TrimSpace(b.Help().Key)))
	}
	for i := range col {
		h := col[i].Help()
		col[i].SetHelp(widget.FitRight(strings.TrimSpace(h.Key), wide, "")+" ", h.Desc)
	}
}
