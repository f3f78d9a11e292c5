package frame

import (
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// entry is the one line that is typed in a dialog.
type entry struct {
	text   []rune
	at     int // where the next character goes
	secret bool
}

const entryMost = 4096 // characters

func (f *entry) insert(s string) {
	var clean []rune
	for _, r := range s {
		if unicode.IsPrint(r) && len(f.text)+len(clean) < entryMost {
			clean = append(clean, r)
		}
	}
	f.text = append(f.text[:f.at:f.at], append(clean, f.text[f.at:]...)...)
	f.at += len(clean)
}

// key takes a key; false: it is none of a line's.
func (f *entry) key(m tea.KeyPressMsg) bool {
	switch m.String() {
	case "left":
		f.at = max(0, f.at-1)
	case "right":
		f.at = min(len(f.text), f.at+1)
	case "home", "ctrl+a":
		f.at = 0
	case "end", "ctrl+e":
		f.at = len(f.text)
	case "backspace":
		if f.at > 0 {
			f.text = append(f.text[:f.at-1], f.text[f.at:]...)
			f.at--
		}
	case "delete":
		if f.at < len(f.text) {
			f.text = append(f.text[:f.at], f.text[f.at+1:]...)
		}
	case "ctrl+u":
		f.text, f.at = f.text[f.at:], 0
	default:
		if m.Text == "" {
			return false
		}
		f.insert(m.Text)
	}
	return true
}

// shown is the text as it is drawn in w cells, and the cell of the cursor: what is left of the cursor stays in sight.
func (f *entry) shown(w int) (string, int) {
	text := string(f.text)
	before := string(f.text[:f.at])
	if f.secret {
		text, before = strings.Repeat("*", len(f.text)), strings.Repeat("*", f.at)
	}
	x := widget.Width(before)
	if x < w {
		return widget.Cut(text, w, ""), x
	}
	cut := widget.Tail([]rune(before), w)
	rest := strings.TrimPrefix(text, before)
	return widget.Cut(cut+rest, w, ""), widget.Width(cut)
}
