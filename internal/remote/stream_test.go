package remote

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// split feeds p in pieces of n bytes and returns what was heard, marks in angle brackets.
func split(p []byte, n int) string {
	var b strings.Builder
	d := newDemux("WORD", func(t []byte) { b.Write(t) },
		func(m mark) { fmt.Fprintf(&b, "<%s %d %d>", m.what, m.id, m.status) })
	for len(p) > 0 {
		k := min(n, len(p))
		d.feed(p[:k])
		p = p[k:]
	}
	return b.String()
}

func TestDemux(t *testing.T) {
	for in, want := range map[string]string{
		"WORD b 1 0\nhi\nWORD x 1 3\n":     "<b 1 0>hi\n<x 1 3>",
		"WORD b 1 0\nhiWORD x 1 3\nnoise":  "<b 1 0>hi<x 1 3>noise",
		"WWORWORD x 1 0\n":                 "WWOR<x 1 0>",
		"WORD what is it\nWORD x 2 0\n":    "WORD what is it\n<x 2 0>",
		"WORD x 1 1 1\nWORD x 1\nWORD x y": "WORD x 1 1 1\nWORD x 1\n",
	} {
		for n := 1; n < len(in)+1; n++ {
			if got := split([]byte(in), n); got != want {
				t.Errorf("%q in pieces of %d: %q, want %q", in, n, got, want)
			}
		}
	}
}

func FuzzDemux(f *testing.F) {
	f.Add([]byte("WORD b 1 0\nhi\nWORD x 1 3\n"), 3)
	f.Add([]byte("WORD "+strings.Repeat("1", 100)), 7)
	f.Fuzz(func(t *testing.T, in []byte, n int) {
		if n < 1 {
			n = 1
		}
		in = append(in, '\n', '\n')
		whole := append(bytes.Clone(in), bytes.Repeat([]byte("."), 2*maxMark)...)
		if a, b := split(whole, len(whole)), split(whole, n); a != b {
			t.Errorf("whole %q, in pieces of %d %q", a, n, b)
		}
	})
}

func TestLines(t *testing.T) {
	long := strings.Repeat("é", lineCap) // twice as many bytes, and the cap in the middle of none
	for in, want := range map[string][]string{
		"a\nb\n":                {"a", "b"},
		"a\n\nb":                {"a", "", "b"},
		"10%\r20%\r\n":          {"20%"},
		"x" + long:              {"x" + long[:lineCap-2], long[:lineCap], long[:2]},
		"\xff\xfe" + "\n" + "c": {"\xff\xfe", "c"},
	} {
		for _, n := range []int{1, 7, 4096, len(in)} {
			var got []string
			l := &lines{emit: func(s string) { got = append(got, s) }}
			for p := []byte(in); len(p) > 0; {
				k := min(n, len(p))
				l.write(p[:k])
				p = p[k:]
			}
			l.close()
			if strings.Join(got, "|") != strings.Join(want, "|") {
				t.Errorf("%.20q in pieces of %d: %d lines", in, n, len(got))
			}
		}
	}
}

// A line without an end costs no more for a byte when it is longer.
func TestLongLineIsLinear(t *testing.T) {
	took := func(n int) time.Duration {
		l := &lines{emit: func(string) {}}
		p := bytes.Repeat([]byte("x"), 1000)
		start := time.Now()
		for range n / len(p) {
			l.write(p)
		}
		return time.Since(start)
	}
	took(1 << 20)
	// A quadratic reader needs half a minute for the first of these (400 KB) and an hour for the last.
	for _, n := range []int{400_000, 40_000_000} {
		if d := took(n); d > 5*time.Second {
			t.Errorf("%d bytes took %v", n, d)
		}
	}
}
