package event

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

func TestClean(t *testing.T) {
	for name, c := range map[string][2]string{
		"plain":             {"all is well", "all is well"},
		"Chinese":           {"正在解压 containerd …", "正在解压 containerd …"},
		"colours":           {"\x1b[31mred\x1b[0m", "[31mred[0m"},
		"title":             {"\x1b]0;owned\x07x", "]0;ownedx"},
		"C1":                {"a\u009b2Jb\u0085", "a2Jb"},
		"returns":           {"10 %\r20 %\r\n", "10 %20 %"},
		"tab and newline":   {"a\tb\nc", "a b / c"},
		"separators":        {"a\u2028b\u2029c", "a b c"},
		"invalid":           {"a\xff\xc3b", "a\uFFFDb"},
		"overrides":         {"\u202egnp.exe\u2066x\u200f\u061c", "gnp.exex"},
		"zero width":        {"a\u200bb\u200dc\ufeffd\u00ade\u2060f", "abcdef"},
		"tower of marks":    {"e" + strings.Repeat("\u0301", 500) + "x", "e\u0301\u0301x"},
		"marks of nothing":  {"\u0301\u0301x", "x"},
		"variation":         {"\u2764\ufe0f", "\u2764"},
		"family":            {"\U0001F468\u200d\U0001F469\u200d\U0001F467", "\U0001F468\U0001F469\U0001F467"},
		"skin":              {"\U0001F44D\U0001F3FD", "\U0001F44D"},
		"flag":              {"\U0001F1E9\U0001F1EA", "DE"},
		"letters of Hebrew": {"a שלום b", `a \u05e9\u05dc\u05d5\u05dd b`},
		"Arabic with marks": {"مَ1", `\u0645\u064e1`},
		"Adlam":             {"\U0001E900", `\U0001e900`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Clean(c[0]); got != c[1] {
				t.Errorf("%q becomes %q, want %q", c[0], got, c[1])
			}
			if a, b := ansi.StringWidth(Clean(c[0])), ansi.StringWidthWc(Clean(c[0])); a != b {
				t.Errorf("%q takes %d cells or %d", c[0], a, b)
			}
		})
	}
}

// Whatever a node prints, what is left of it steers no terminal, and cleaning it again changes nothing.
func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "\x1b[2J", "\u202e\u0301", "\xff\n\r\n", "\u200d\U0001F3FD",
		"e\u0301\u0301\u0301\n\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if !utf8.ValidString(got) {
			t.Errorf("%q is not valid", got)
		}
		for _, r := range got {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == 0x2028 || r == 0x2029 || rightToLeft(r) {
				t.Errorf("%U is left of %q", r, s)
			}
		}
		if again := Clean(got); again != got {
			t.Errorf("%q, cleaned again: %q", got, again)
		}
	})
}
