package widget

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// Nothing is cut in silence, neither at the right nor at the foot.
func TestWhatIsCutSaysSo(t *testing.T) {
	for name, got := range map[string]string{
		"a line":              Fit("abcdef", 4, ""),
		"a line, own sign":    Fit("abcdef", 4, "~"),
		"a line of Chinese":   Fit("主节点主节点", 7, ""),
		"at the right":        FitRight("abcdef", 4, ""),
		"a piece":             new(Line).Until(4).Add("", "ab").Add("", "cdef").String(),
		"lines":               Block([]string{"one", "two", "three"}, 9, 2, "…")[1],
		"lines, to the edge":  Block([]string{"one", "123456789", "three"}, 9, 2, "…")[1],
		"lines, after a gap":  Block([]string{"one", "", "", "three"}, 9, 2, "…")[1],
		"lines, cut already":  Block([]string{"one", "12345678…", "three"}, 9, 2, "…")[1],
		"lines, without sign": Block([]string{"one", "two", "three"}, 9, 2, "")[1],
	} {
		if trimmed := strings.TrimRight(got, " "); !strings.HasSuffix(trimmed, "…") &&
			!strings.HasSuffix(trimmed, "~") {
			t.Errorf("%s: %q", name, got)
		}
	}
	for name, got := range map[string]string{
		"it fits":        Fit("abcd", 4, ""),
		"lines that fit": strings.Join(Block([]string{"one", "two", "", " "}, 9, 2, "…"), ""),
	} {
		if strings.Contains(got, "…") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A field says on which sides there is more than it shows; the cursor's cell is the text's.
func TestAFieldSaysThatThereIsMore(t *testing.T) {
	f := Field{}
	f.Set("/srv/bundles/eggo-debian-bookworm-amd64.tar.gz")
	if s, x := f.Shown(12); !strings.HasPrefix(s, "…") || strings.HasSuffix(s, "…") || Width(s) > 12 || x > 11 {
		t.Errorf("%q, cursor at %d", s, x)
	}
	f.Key(tea.KeyPressMsg{Code: tea.KeyHome})
	if s, x := f.Shown(12); s != "/srv/bundle…" || x != 0 {
		t.Errorf("%q, cursor at %d", s, x)
	}
	for range 20 {
		f.Key(tea.KeyPressMsg{Code: tea.KeyRight})
	}
	if s, x := f.Shown(12); Width(s) > 12 || x > 11 || !strings.HasPrefix(s, "…") {
		t.Errorf("%q, cursor at %d", s, x)
	}
}
