package widget

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

func press(f interface{ Key(tea.KeyPressMsg) bool }, keys ...string) {
	named := map[string]rune{"left": tea.KeyLeft, "right": tea.KeyRight, "home": tea.KeyHome, "end": tea.KeyEnd,
		"backspace": tea.KeyBackspace, "delete": tea.KeyDelete, "enter": tea.KeyEnter, "up": tea.KeyUp,
		"down": tea.KeyDown}
	for _, k := range keys {
		if c, ok := named[k]; ok {
			f.Key(tea.KeyPressMsg{Code: c})
			continue
		}
		for _, r := range k {
			f.Key(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
}

func TestALineIsTyped(t *testing.T) {
	f := Field{Narrow: true}
	press(&f, "１９２。１６８", "．０.2")
	if f.Value() != "192.168.0.2" {
		t.Errorf("full-width digits stay: %q", f.Value())
	}
	f = Field{Narrow: true}
	if f.Insert("web-1\u00a0１０。0.0.1\u200b\u2003etcd"); f.Value() != "web-1 10.0.0.1 etcd" {
		t.Errorf("blanks of a web page: %q", f.Value())
	}
	f = Field{}
	press(&f, "主节点")
	if _, x := f.Shown(20); x != 6 {
		t.Errorf("the cursor is at cell %d of 主节点", x)
	}
	press(&f, "left", "x", "home", "delete", "end", "backspace")
	if f.Value() != "节x" {
		t.Errorf("%q", f.Value())
	}
	f.Insert("a\x1b[31m\u202eb\nc\r\n")
	if f.Value() != "节xa[31mb c" {
		t.Errorf("%q", f.Value())
	}
	f.Set(strings.Repeat("节点", 30))
	s, x := f.Shown(11)
	if Width(s) > 11 || x > 10 || x < 9 {
		t.Errorf("%q, cursor at %d", s, x)
	}
	f = Field{Secret: true}
	press(&f, "geheim")
	if s, x := f.Shown(10); s != "******" || x != 6 {
		t.Errorf("%q, %d", s, x)
	}
}

func TestLinesAreTyped(t *testing.T) {
	var a Area
	press(&a, "- name: kubelet", "enter", "  args:", "enter", "x", "backspace", "backspace", "backspace", "backspace",
		"up", "home", "!", "down", "down", "end", "?")
	if got := a.Value(); got != "!- name: kubelet\n  args:?" {
		t.Errorf("%q", got)
	}
	a.Set("a\r\nb\tc\n")
	if got := a.Value(); got != "a\nb  c\n" {
		t.Errorf("%q", got)
	}
	lines, x, y := a.Shown(10, 2)
	if len(lines) != 2 || x != 0 || y != 1 {
		t.Errorf("%q %d %d", lines, x, y)
	}
}

// Whatever is typed and pasted, what is drawn fits and the cursor is inside of it.
func FuzzFields(f *testing.F) {
	f.Add("节点\x1b[2J\u202e", 7)
	f.Add("a\u0301e\u200d", 1)
	keys := []string{"left", "right", "home", "end", "backspace", "delete", "enter", "up", "down"}
	f.Fuzz(func(t *testing.T, s string, w int) {
		w = 1 + (w&0xffff)%200
		if len(s) > 200 { // all that came before is inserted again and again: it is long enough
			return
		}
		one, many := Field{Narrow: w%2 == 0, Secret: w%3 == 0}, Area{}
		for i, r := range s {
			if i%5 == 4 {
				one.Insert(s[:i])
				many.Insert(s[:i])
			}
			press(&one, keys[int(r)%len(keys)], string(r))
			press(&many, keys[int(r)%len(keys)], string(r))
			text, x := one.Shown(w)
			if Width(text) > w || x < 0 || x >= w+1 {
				t.Fatalf("%q in %d cells, cursor at %d", text, w, x)
			}
			lines, _, y := many.Shown(w, 3)
			if len(lines) > 3 || y < 0 || y > 2 {
				t.Fatalf("%d lines, cursor in %d", len(lines), y)
			}
			for _, l := range lines {
				if Width(l) > w {
					t.Fatalf("%q in %d cells", l, w)
				}
			}
		}
	})
}

// A screen with a field that something very long was pasted into is drawn as quickly as any other.
func TestALongTextIsShownQuickly(t *testing.T) {
	f := Field{}
	f.Insert(strings.Repeat("节点 ", fieldMost))
	began := time.Now()
	for range 20 {
		if s, x := f.Shown(60); Width(s) > 60 || x >= 60 {
			t.Fatalf("%d cells, the cursor at %d", Width(s), x)
		}
	}
	if took := time.Since(began); took > 2*time.Second { // it took minutes
		t.Errorf("20 drawings took %s", took)
	}
}

func TestWordsAreMovedOverAndDeleted(t *testing.T) {
	alt := func(c rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: c, Mod: tea.ModAlt} }
	ctrl := func(c rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: c, Mod: tea.ModCtrl} }
	const text = "/srv/主节点 a-b.c"
	for _, c := range []struct {
		name string
		keys []tea.KeyPressMsg
		want string // | is the cursor
	}{
		{"back", []tea.KeyPressMsg{alt('b')}, "/srv/主节点 a-b.|c"},
		{"back twice", []tea.KeyPressMsg{alt('b'), ctrl(tea.KeyLeft)}, "/srv/主节点 a-|b.c"},
		{"forward", []tea.KeyPressMsg{ctrl('a'), alt('f')}, "/srv|/主节点 a-b.c"},
		{"forward over what is no word", []tea.KeyPressMsg{ctrl('a'), alt('f'), ctrl(tea.KeyRight)},
			"/srv/主节点| a-b.c"},
		{"delete back", []tea.KeyPressMsg{alt(tea.KeyBackspace)}, "/srv/主节点 a-b.|"},
		{"delete back to a blank", []tea.KeyPressMsg{ctrl('w')}, "/srv/主节点 |"},
		{"delete forward", []tea.KeyPressMsg{ctrl('a'), alt('d'), alt('d')}, "| a-b.c"},
		{"delete to the start", []tea.KeyPressMsg{alt('b'), ctrl('u')}, "|c"},
		{"delete to the end", []tea.KeyPressMsg{ctrl('a'), alt('f'), ctrl('k')}, "/srv|"},
		{"nothing to the left", []tea.KeyPressMsg{ctrl('a'), alt('b'), ctrl('w'), alt(tea.KeyBackspace)}, "|" + text},
		{"nothing to the right", []tea.KeyPressMsg{alt('f'), alt('d')}, text + "|"},
	} {
		f := Field{}
		f.Set(text)
		a := Area{}
		a.Set("x\n" + text)
		for _, k := range c.keys {
			if !f.Key(k) || c.name != "nothing to the left" && !a.Key(k) {
				t.Errorf("%s: %s is no key of a field", c.name, k)
			}
		}
		if before, after := f.Around(); before+"|"+after != c.want {
			t.Errorf("%s: %s|%s, want %s", c.name, before, after, c.want)
		}
		if want := "x\n" + strings.Replace(c.want, "|", "", 1); a.Value() != want {
			t.Errorf("%s, in a block: %q, want %q", c.name, a.Value(), want)
		}
	}
}
