package widget

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLines(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		w    int
		want []string
	}{
		"words":     {"the quick brown fox", 10, []string{"the quick", "brown fox"}},
		"what fits": {"  as it is ", 11, []string{"  as it is "}},
		"Chinese is filled": {"如果 agent 中有密钥，这里什么都不用填。", 16,
			[]string{"如果 agent 中有", "密钥，这里什么都", "不用填。"}},
		"no mark begins": {"一二三四，五六", 8, []string{"一二三", "四，五六"}},
		"none ends":      {"一二三（四五）", 8, []string{"一二三", "（四五）"}},
		"options stay whole": {"with --no-install-recommends here", 22,
			[]string{"with", "--no-install-recommend", "s here"}},
		"a path is broken":     {"see /var/lib/eggo-node/repo", 12, []string{"see", "/var/lib/egg", "o-node/repo"}},
		"lines stay":           {"a\nb c", 3, []string{"a", "b c"}},
		"indented":             {"    four five six", 10, []string{"    four", "five six"}},
		"units of two scripts": {"共 3 台node机器", 8, []string{"共 3 台", "node机器"}},
	} {
		if got := Lines(c.text, c.w); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestNoLineBeginsWithAClosingMark(t *testing.T) {
	for _, s := range []string{"输入或粘贴地址。第一台机器作为控制平面，其余作为工作节点；您继续操作时会同时查看每台机器。", "一二三，四。五六七八九十，一二三四", "a，b", "。"} {
		for w := 2; w < 40; w++ {
			for i, l := range Lines(s, w) {
				if Width(l) > w || i > 0 && w >= 8 && (strings.HasPrefix(l, "，") || strings.HasPrefix(l, "。")) {
					t.Errorf("%d cells, line %d: %q", w, i, l)
				}
			}
		}
	}
}

// Whatever the text, every line fits and nothing but blanks is lost.
func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "a b", "如果 agent", "   ", "节e\u0301…─ x", "a\n\n节点节点"} {
		f.Add(s, 7)
	}
	f.Fuzz(func(t *testing.T, s string, w int) {
		w = 2 + (w%60+60)%60
		if !utf8.ValidString(s) || strings.ContainsAny(s, "\x1b\t\r\v\f\u0085\u00a0\u2028") {
			return
		}
		got := Lines(s, w)
		for _, l := range got {
			if Width(l) > w {
				t.Errorf("%d cells of %d: %q", Width(l), w, l)
			}
		}
		all := func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, " ", ""), "\n", "") }
		if all(strings.Join(got, "")) != all(s) {
			t.Errorf("%q became %q", s, got)
		}
	})
}
