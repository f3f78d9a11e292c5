package ui

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/i18n"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// binding is one thing that a key does. The list of a screen's bindings is what handles its keys, what its footer shows and what its help
// lists.
type binding struct {
	keys []string // as Bubble Tea names them; the first is the one that is shown
	show string   // instead of the first key, when several belong together
	word string   // of i18n
	do   func(*App) cmd
	help bool // in the help only, not in the footer
}

// footer shows the keys that do something now, as many as fit; those on the right go first.
func footer(t *theme.Theme, p *i18n.Printer, list []binding, w int) string {
	l := new(widget.Line).Space(1)
	for _, b := range list {
		if b.help || b.word == "" {
			continue
		}
		key := b.show
		if key == "" {
			key = b.keys[0]
		}
		word := p.T(b.word)
		if l.Width()+widget.Width(key)+1+widget.Width(word)+3 > w {
			break
		}
		if l.Width() > 1 {
			l.Space(3)
		}
		l.Add(t.Key, key).Space(1).Add(t.KeyWord, word)
	}
	return l.String()
}

func find(list []binding, key string) (binding, bool) {
	for _, b := range list {
		if slices.Contains(b.keys, key) {
			return b, true
		}
	}
	return binding{}, false
}

// helpLines lists all keys of a screen.
func helpLines(t *theme.Theme, p *i18n.Printer, list []binding) []string {
	var out []string
	wide := 0
	name := func(b binding) string {
		if b.show != "" {
			return b.show
		}
		return b.keys[0]
	}
	for _, b := range list {
		wide = max(wide, widget.Width(name(b)))
	}
	for _, b := range list {
		if b.word == "" {
			continue
		}
		out = append(out, new(widget.Line).Add(t.Key, widget.FitRight(name(b), wide, "")).Space(2).Add(t.Text, p.T(b.word)).String())
	}
	return out
}
