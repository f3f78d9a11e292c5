package widget

import (
	"testing"

	"charm.land/bubbles/v2/textinput"
)

// Why fields are our own: an input method shows its candidates at the terminal's cursor, and the cursor of
// bubbles/textinput counts characters, not cells (bubbles#906). When this fails, textinput may be worth another look
// (decision 27).
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
