package nodestest

import (
	"strconv"
	"strings"
	"testing"
)

// ExecStart reads the words of the unit's ExecStart as systemd does: lines joined, quotes and escapes taken away, %%
// and, behind the first word, $$ made one. It fails when systemd would fill something in.
func ExecStart(t testing.TB, text string) []string {
	t.Helper()
	var line string
	found := 0
	for l := range strings.SplitSeq(strings.ReplaceAll(text, " \\\n", " "), "\n") {
		if rest, ok := strings.CutPrefix(l, "ExecStart="); ok {
			line = rest
			found++
		}
		if strings.HasPrefix(l, "ExecStartPre=/bin/evil") {
			t.Fatalf("a line of its own: %q", l)
		}
	}
	if found != 1 {
		t.Fatalf("%d lines ExecStart in\n%s", found, text)
	}
	var words []string
	for i := 0; i < len(line); {
		if line[i] == ' ' {
			i++
			continue
		}
		var w strings.Builder
		quoted := false
		for ; i < len(line) && (quoted || line[i] != ' '); i++ {
			switch c := line[i]; {
			case c == '"':
				quoted = !quoted
			case c == '\\' && strings.HasPrefix(line[i:], `\x`):
				n, err := strconv.ParseUint(line[i+2:i+4], 16, 8)
				if err != nil {
					t.Fatal(err)
				}
				w.WriteByte(byte(n))
				i += 3
			case c == '\\':
				i++
				w.WriteByte(line[i])
			case c == '%' || c == '$' && len(words) > 0:
				if i++; i >= len(line) || line[i] != c {
					t.Fatalf("systemd fills in %q", line[i-1:])
				}
				w.WriteByte(c)
			default:
				w.WriteByte(c)
			}
		}
		words = append(words, w.String())
	}
	return words
}
