package board

import (
	"fmt"
	"strings"

	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// fits says whether a machine is one of those that the filter names: words, all of which must fit. role:etcd and
// state:failed are of its roles and its state, in the language of the screen or by their English names; any other word
// is part of its name, address, roles, state or step. A "!" before a word turns it round.
func (b *Board) fits(v view) bool {
	for _, word := range strings.Fields(strings.ToLower(b.Filter)) {
		want := true
		if rest, ok := strings.CutPrefix(word, "!"); ok {
			word, want = rest, false
		}
		if word != "" && b.holds(v, word) != want {
			return false
		}
	}
	return true
}

func (b *Board) holds(v view, word string) bool {
	state := []string{v.state, v.word, v.short}
	var roles []string
	for _, r := range v.host.Roles {
		roles = append(roles, r, b.P.T("ui.role."+r))
	}
	if role, ok := strings.CutPrefix(word, "role:"); ok {
		return anyHas(role, roles...)
	}
	if st, ok := strings.CutPrefix(word, "state:"); ok {
		return anyHas(st, state...)
	}
	return anyHas(word, append(append(roles, state...), b.name(v.host), v.host.Addr, b.doing(v))...)
}

func anyHas(part string, list ...string) bool {
	for _, s := range list {
		if strings.Contains(strings.ToLower(s), part) {
			return true
		}
	}
	return false
}

// filterLine says what is filtered, and how many of all machines are left.
func (b *Board) filterLine(shown, all, w int) string {
	t := b.Theme
	right := b.P.T("ui.filter.shown", "shown", fmt.Sprint(shown), "total", fmt.Sprint(all)) + " "
	l := new(widget.Line).Space(1).Add(t.Key, "/").Space(1)
	l.Add(t.Strong, widget.Cut(b.Filter, max(0, w-l.Width()-widget.Width(right)-1), t.Glyphs.Cut))
	return l.To(w-widget.Width(right)).Add(t.Dim, right).String()
}
