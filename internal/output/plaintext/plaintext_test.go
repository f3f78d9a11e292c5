package plaintext

import (
	"testing"
	"unicode"
)

func TestWhatLooksLikeASpaceIsOne(t *testing.T) {
	for in, want := range map[string]string{
		"a\u00a0b\u3000c\u2009d\u202fe\u205ff\u2003g\u1680h": "a b c d e f g h",
		"a\u2800b\u3164c": "a b c",
		"\ufeffa\u200bb\u200e\u200c\u2060\u00adc\u180ed\ufe0f": "abcd",
		"a\u2028b\u2029c\u0085d":                               "a\nb\nc\nd",
		"节点\tweb-1 \r\n":                                       "节点\tweb-1 \r\n",
		"plain":                                                "plain",
	} {
		if got := Blanks(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestAKeyboardWithoutAnInputMethod(t *testing.T) {
	for in, want := range map[string]string{
		"１０．０．０．１，ｗｅｂ：２２；（１）": "10.0.0.1,web:22;(1)",
		"10。0。0。1。":               "10.0.0.1 ",
		"10.0.0.1。 10.0.0.2":      "10.0.0.1  10.0.0.2",
		"10.0.0.1～3":              "10.0.0.1~3",
		"10.0.0.1–3 — 5 web‑1":    "10.0.0.1-3 - 5 web-1",
		"“web 1” ‘a’ 「b」":         `"web 1" 'a' "b"`,
		"\u3000节点一、ノード\u3000":     " 节点一、ノード ",
		" a ":                     " a ",
		"\u200b10.0.0.1\u00a0web": "10.0.0.1 web",
	} {
		if got := Narrow(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

// No character is both, and none of ASCII is either.
func TestEachCharacterIsOneThing(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if Blank(r) && Invisible(r) || r < 0x80 && (Blank(r) || Invisible(r)) {
			t.Errorf("%U: blank %t, invisible %t", r, Blank(r), Invisible(r))
		}
	}
}
