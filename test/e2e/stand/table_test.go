package stand

import (
	"strings"
	"testing"
)

// The table replaces that of before, and nothing else of the page.
func TestThePageHasOneTable(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- table of test/x -->\n", "<!-- end of the table -->\n"
	page := "# A\n\n" + begin + "old\n" + end + "\nrest\n"
	got, err := InPage(page, "test/x", "new\n")
	if want := "# A\n\n" + begin + "\nnew\n\n" + end + "\nrest\n"; err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
	if again, err := InPage(got, "test/x", "new\n"); err != nil || again != got {
		t.Errorf("%v\n%s", err, again)
	}
	for _, other := range []string{"# A\n", page[:len(page)-len(end)-6]} {
		if _, err := InPage(other, "test/x", "new"); err == nil {
			t.Errorf("a page without a place for the table is taken: %q", other)
		}
	}
}

func TestATextStaysInItsCell(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"a|b\n c\x1b[2J": `a\|b c [2J`, "": "",
		strings.Repeat("字", 300): strings.Repeat("字", 240) + "…"} {
		if got := Cell(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
