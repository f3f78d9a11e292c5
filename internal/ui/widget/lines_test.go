package widget

import (
	"strings"
	"testing"
)

func TestNoLineBeginsWithAClosingMark(t *testing.T) {
	for _, s := range []string{"输入或粘贴地址。第一台机器作为控制面，其余作为工作节点；您继续操作时会同时查看每台机器。", "一二三，四。五六七八九十，一二三四", "a，b", "。"} {
		for w := 2; w < 40; w++ {
			for i, l := range Lines(s, w) {
				if Width(l) > w || i > 0 && w >= 8 && (strings.HasPrefix(l, "，") || strings.HasPrefix(l, "。")) {
					t.Errorf("%d cells, line %d: %q", w, i, l)
				}
			}
		}
	}
}
