package widget

import (
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// The quick measure is right wherever it says anything.
func TestTheQuickMeasureIsRight(t *testing.T) {
	for r := rune(0x20); r < 0x30000; r++ {
		if r >= 0xd800 && r <= 0xdfff {
			continue
		}
		for _, s := range []string{string(r), "a" + string(r) + "b", "\x1b[1;38;2;1;2;3m节" + string(r) + "\x1b[m"} {
			if n, ok := quick(s); ok && n != ansi.StringWidth(s) {
				t.Fatalf("%U in %q: %d cells, want %d", r, s, n, ansi.StringWidth(s))
			}
		}
	}
}

func FuzzWidth(f *testing.F) {
	for _, s := range []string{"", "\x1b[31mred\x1b[m", "\x1b[", "\x1b]0;x\x07", "节e\u0301…─", "\x1b[38;2;1mx",
		"👨‍👩‍👧"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, ok := quick(s); ok && utf8.ValidString(s) && n != ansi.StringWidth(s) {
			t.Errorf("%q: %d cells, want %d", s, n, ansi.StringWidth(s))
		}
		if utf8.ValidString(s) {
			for _, w := range []int{1, 2, 3, 7} {
				if got, want := Cut(s, w, "…"), ansi.Truncate(s, w, "…"); got != want && !(Width(s) <= w && got == s) {
					t.Errorf("%q cut to %d: %q, want %q", s, w, got, want)
				}
			}
		}
	})
}
