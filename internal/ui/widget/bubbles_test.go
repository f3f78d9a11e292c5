package widget

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"charm.land/bubbles/v2/filepicker"
	"charm.land/bubbles/v2/paginator"
	"charm.land/bubbles/v2/textarea"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// These tests and the benchmark are the reasons of decision 27. When one of them fails, the component has changed and
// may be worth another look.

// An input method shows its candidates at the terminal's cursor, and the cursor of bubbles/textinput counts characters,
// not cells (bubbles#906).
func TestTheCursorOfBubblesIsWrongInChinese(t *testing.T) {
	in := textinput.New()
	in.Prompt = ""
	in.SetVirtualCursor(false)
	in.SetWidth(40)
	in.Focus()
	in.SetValue("主节点")
	if got := in.Cursor(); got == nil || got.X == 6 {
		t.Errorf("the cursor of bubbles/textinput is right now: %+v", got)
	}
	var f Field
	f.Set("主节点")
	if _, x := f.Shown(40); x != 6 {
		t.Errorf("the cursor of a field is at %d, want 6", x)
	}
}

// textArea is a field of several lines as the wizard would have it.
func textArea(text string) textarea.Model {
	in := textarea.New()
	in.Prompt = ""
	in.ShowLineNumbers = false
	in.MaxHeight = 0
	in.SetVirtualCursor(false)
	in.SetWidth(80)
	in.SetHeight(20)
	in.Focus()
	in.SetValue(text)
	return in
}

// The cursor of bubbles/textarea is right. What it leaves in the text is not: characters that turn the direction of
// writing, so that a line looks as if it said something else.
func TestTheTextAreaOfBubblesInChinese(t *testing.T) {
	in := textArea("10.0.0.1 主节点\n主节点机房")
	in, _ = in.Update(tea.KeyPressMsg{Code: tea.KeyLeft})
	if got := in.Cursor(); got == nil || got.X != 8 || got.Y != 1 {
		t.Errorf("the cursor of bubbles/textarea is at %+v", got)
	}
	var a Area
	a.Insert("10.0.0.1 主节点\n主节点机房")
	a.Key(tea.KeyPressMsg{Code: tea.KeyLeft})
	if _, x, y := a.Shown(80, 20); x != 8 || y != 1 {
		t.Errorf("the cursor of an area is at %d, %d", x, y)
	}

	const turned = "key\u202epme.exe"
	in = textArea("")
	in, _ = in.Update(tea.PasteMsg{Content: turned})
	if in.Value() != turned {
		t.Errorf("bubbles/textarea cleans what is pasted now: %q", in.Value())
	}
	a.Set("")
	if a.Insert(turned); strings.Contains(a.Value(), "\u202e") {
		t.Errorf("an area keeps %q", a.Value())
	}
}

// Machines that were pasted: a key, and the screen that follows it. bubbles/textarea wraps and styles all lines for
// each; a frame has 2.5 ms.
func BenchmarkTypingInAnArea(b *testing.B) {
	for _, n := range []int{3, 60, 1000} {
		var lines []string
		for i := range n {
			lines = append(lines, fmt.Sprintf("10.0.%d.%d name=主节点%d role=worker", i/250, i%250, i))
		}
		text := strings.Join(lines, "\n")
		key, back := tea.KeyPressMsg{Code: 'x', Text: "x"}, tea.KeyPressMsg{Code: tea.KeyBackspace}
		b.Run(fmt.Sprint("own/", n), func(b *testing.B) {
			var a Area
			a.Set(text)
			for b.Loop() {
				a.Key(key)
				a.Shown(80, 20)
				a.Key(back)
			}
		})
		b.Run(fmt.Sprint("bubbles/", n), func(b *testing.B) {
			in := textArea(text)
			for b.Loop() {
				in, _ = in.Update(key)
				_ = in.View()
				in, _ = in.Update(back)
			}
		})
	}
}

// bubbles/filepicker has no place for a path that is typed or pasted, and so nothing to complete: letters are its keys.
// Its View looks at the files, which a screen does in commands only, and draws their names as they are, with what they
// do to a terminal.
func TestTheFilePickerOfBubblesTakesNoPath(t *testing.T) {
	dir := t.TempDir()
	const hostile = "z\x1b[2Jbundle.tar.gz"
	for _, name := range []string{"离线包.tar.gz", "bundle-arm64.tar.gz", hostile} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := filepicker.New()
	in.CurrentDirectory = dir
	in.SetHeight(10)
	in, _ = in.Update(in.Init()())
	before := in.HighlightedPath()
	for _, r := range "离线" {
		in, _ = in.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	in, _ = in.Update(tea.KeyPressMsg{Code: tea.KeyTab})
	in, _ = in.Update(tea.PasteMsg{Content: filepath.Join(dir, "离线包.tar.gz")})
	if got := in.HighlightedPath(); got != before {
		t.Errorf("bubbles/filepicker goes by what is typed now: from %s to %s", before, got)
	}
	if !strings.Contains(in.View(), hostile) {
		t.Errorf("bubbles/filepicker cleans names now: %q", in.View())
	}
	if err := os.Remove(filepath.Join(dir, "bundle-arm64.tar.gz")); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(in.View(), "bundle-arm64.tar.gz") {
		t.Errorf("the View of bubbles/filepicker does without files now: %q", in.View())
	}
}

// Where a list is longer than the screen, the rows around the chosen one say where one is. With pages a step over their
// end replaces them all; a list that scrolls keeps all but one. And a page for each screen of a long list does not fit
// in a line of dots.
func TestThePagesOfBubblesKeepNoRow(t *testing.T) {
	const rows, all = 20, 1000
	pages := paginator.New(paginator.WithPerPage(rows))
	pages.SetTotalPages(all)
	first, end := pages.GetSliceBounds(all)
	pages.NextPage() // the chosen row was the last of its page
	if from, _ := pages.GetSliceBounds(all); from < end {
		t.Errorf("rows %d to %d of bubbles/paginator stay", from, end)
	}
	if stay := end - (first + 1); stay != rows-1 {
		t.Errorf("%d rows of a list that scrolls stay", stay)
	}
	pages.Type = paginator.Dots
	if w := Width(pages.View()); w != all/rows {
		t.Errorf("bubbles/paginator shows %d pages in %d cells", all/rows, w)
	}
}
