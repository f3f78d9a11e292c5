package cli

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/output/document"
)

func TestLinesFitTheScreen(t *testing.T) {
	const long = "  --file FILE   the file that says what the cluster is, with many words in its sentence"
	under := "\n" + strings.Repeat(" ", 16)
	for name, c := range map[string]struct{ text, want string }{
		"short": {"one two\n", "one two\n"},
		"hangs": {long, "  --file FILE   the file that says what" + under + "the cluster is, with" + under +
			"many words in its" + under + "sentence"},
		"whole": {"see /a/path/that/is/longer/than/the/terminal/is",
			"see\n/a/path/that/is/longer/than/the/terminal/is"},
		"hyphen": {strings.Repeat("x ", 18) + "--state-dir is",
			strings.TrimSpace(strings.Repeat("x ", 18)) + "\n--state-dir is"},
		"wide": {strings.Repeat("集群", 12) + "。完", strings.Repeat("集群", 10) + "\n集群集群。完"},
		"mark": {strings.Repeat("集群", 10) + "。完", strings.Repeat("集群", 9) + "集\n群。完"},
	} {
		if got := (Screen{Width: 40}).Text(c.text); got != c.want {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, c.want)
		}
		if got := (Screen{}).Text(c.text); got != c.text {
			t.Errorf("%s: a pipe got %q", name, got)
		}
	}
}

func TestADocumentHasColoursOnAScreenOnly(t *testing.T) {
	d := document.Document{{Title: "Nodes", Head: []string{"NODE", "STATE"},
		Rows: [][]document.Cell{{{Text: "n1"}, {Text: "not ready", Emphasis: document.Bad}}}}}
	if got := (Screen{}).Document(d); got != d.Text() {
		t.Errorf("%q", got)
	}
	got := Screen{Width: 80, Color: true}.Document(d)
	if ansi.Strip(got) != d.Text() || !strings.Contains(got, red+"not ready"+noColor) ||
		!strings.Contains(got, bold+"Nodes"+noColor) {
		t.Errorf("%q", got)
	}
}

func TestParagraphsAreJoined(t *testing.T) {
	in := "One sentence that\nis cut. 二\n\nAnother:\n  an example\n  of two\n一句话，\n又一句。"
	want := "One sentence that is cut. 二\n\nAnother:\n  an example\n  of two\n一句话，又一句。"
	if got := paragraphs(in); got != want {
		t.Errorf("%q", got)
	}
}
