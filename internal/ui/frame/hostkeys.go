package frame

import (
	"strconv"
	"strings"
	"sync/atomic"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// AskKeys is a message: it shows unknown host keys as a table, in which each is trusted or not. No key is trusted that
// was not on the screen.
type AskKeys struct {
	Title event.Msg
	About event.Msg
	Done  string // of i18n: what Enter does
	Leave string // of i18n: what Esc does
	Keys  []ask.HostKey
	// Known compares the keys with a known_hosts file; it is called in a command. nil: that is not offered.
	Known  func(path string, keys []ask.HostKey) ([]ask.KeyCheck, error)
	Do     func(trusted []bool) tea.Cmd // Enter, when some are trusted
	Refuse func() tea.Cmd               // n
	Cancel func() tea.Cmd               // Esc, and Enter when none is trusted
}

// checked is what came of a known_hosts file.
type checked struct {
	checks []ask.KeyCheck
	fault  *event.Fault
}

// keyTable is an AskKeys that is open.
type keyTable struct {
	AskKeys
	at, top int
	trusted []bool
	shown   []bool // was on the screen
	checks  []ask.KeyCheck
	news    *atomic.Pointer[checked] // of the command that reads a file
	fault   *event.Fault
	asks    bool // the path is typed
	path    widget.Field
	room    int // rows in sight, as drawn last
	first   int // line of the box with the first row
	tall    int // lines of a row
}

func newKeyTable(m AskKeys) *keyTable {
	n := len(m.Keys)
	return &keyTable{AskKeys: m, trusted: make([]bool, n), shown: make([]bool, n), checks: make([]ask.KeyCheck, n),
		news: &atomic.Pointer[checked]{}, room: 1, tall: 1}
}

// hear takes what a file said: keys that it has are trusted, for somebody has verified them; those that differ are not.
func (k *keyTable) hear() {
	got := k.news.Swap(nil)
	if got == nil {
		return
	}
	if k.fault = got.fault; got.fault != nil || len(got.checks) != len(k.Keys) {
		return
	}
	k.checks = got.checks
	for i, c := range k.checks {
		k.trusted[i] = c != ask.KeyDiffers && (k.trusted[i] || c == ask.KeyVerified)
	}
}

func (k *keyTable) count(list []bool) (n int) {
	for _, is := range list {
		if is {
			n++
		}
	}
	return n
}

// unseen is the first key that was not on the screen, of those that are trusted if trusted is set; -1 if there is none.
func (k *keyTable) unseen(trusted bool) int {
	for i := range k.Keys {
		if !k.shown[i] && (k.trusted[i] || !trusted) {
			return i
		}
	}
	return -1
}

func (k *keyTable) move(n int) {
	k.at = max(0, min(k.at+n, len(k.Keys)-1))
}

// toggle trusts the chosen key or not, if there is one that may be trusted.
func (k *keyTable) toggle() {
	if k.at < len(k.Keys) && k.shown[k.at] && k.checks[k.at] != ask.KeyDiffers {
		k.trusted[k.at] = !k.trusted[k.at]
	}
}

// Key implements Dialog.
func (k *keyTable) Key(m tea.KeyPressMsg, e *Env) (tea.Cmd, bool) {
	k.hear()
	if k.asks {
		return k.typed(m, e), false
	}
	switch m.String() {
	case "up", "k":
		k.move(-1)
	case "down", "j":
		k.move(1)
	case "pgup":
		k.move(-k.room)
	case "pgdown":
		k.move(k.room)
	case "home", "g":
		k.move(-len(k.Keys))
	case "end", "G":
		k.move(len(k.Keys))
	case "space":
		k.toggle()
		k.move(1)
	case "y":
		return k.all()
	case "o":
		k.asks = k.Known != nil
	case "n":
		return do(k.Refuse), true
	case "enter":
		return k.done()
	case "esc", "l", "ctrl+c":
		return do(k.Cancel), true
	}
	return nil, false
}

// all trusts what was on the screen, and is done when that is all; else it goes to what was not.
func (k *keyTable) all() (tea.Cmd, bool) {
	for i := range k.Keys {
		k.trusted[i] = k.trusted[i] || k.shown[i] && k.checks[i] != ask.KeyDiffers
	}
	if i := k.unseen(false); i >= 0 {
		k.at, k.top = min(len(k.Keys)-1, i+k.room-1), i
		return nil, false
	}
	return k.done()
}

func (k *keyTable) done() (tea.Cmd, bool) {
	if k.count(k.trusted) == 0 {
		return do(k.Cancel), true
	}
	if i := k.unseen(true); i >= 0 { // a file has verified it, and it was not on the screen yet
		k.at, k.top = min(len(k.Keys)-1, i+k.room-1), i
		return nil, false
	}
	return k.Do(k.trusted), true
}

// typed takes a key into the path of a known_hosts file.
func (k *keyTable) typed(m tea.KeyPressMsg, e *Env) tea.Cmd {
	switch m.String() {
	case "tab":
		return CompletePath(e, &k.path, nil, nil)
	case "esc":
		k.asks = false
	case "enter":
		k.asks = false
		path := strings.TrimSpace(k.path.Value())
		if path == "" {
			return nil
		}
		known, keys, news := k.Known, k.Keys, k.news
		return func() tea.Msg {
			list, err := known(path, keys)
			news.Store(&checked{list, event.AsFault(err)})
			return Note{} // draws what was read
		}
	default:
		k.path.Key(m)
	}
	return nil
}

// Bindings implements Dialog.
func (k *keyTable) Bindings() []Binding { return nil }

// Paste implements Dialog.
func (k *keyTable) Paste(text string) bool {
	if k.asks {
		k.path.Insert(text)
	}
	return k.asks
}

// Wheel implements Dialog.
func (k *keyTable) Wheel(n int) { k.move(n) }

// Click implements Dialog: on a row it is chosen, on the chosen one it is trusted or not.
func (k *keyTable) Click(_, y int) (tea.Cmd, bool) {
	i := k.top + (y-k.first)/max(1, k.tall)
	if y < k.first || i >= min(len(k.Keys), k.top+k.room) {
		return nil, false
	}
	if i == k.at {
		k.toggle()
	}
	k.at = i
	return nil, false
}

// Render implements Dialog.
func (k *keyTable) Render(e *Env, w, h int) ([]string, *tea.Cursor) {
	k.hear()
	t, g := e.Theme, e.Theme.Glyphs
	name, addr, kind := k.columns(e)
	one := 6 + name + 2 + addr + 2 + kind + 2 + 50 + 2 + k.checkWidth(e)
	in := min(w-8, max(one, 64))
	k.tall = 1
	if one > in {
		k.tall = 2
	}
	foot := k.foot(e, in)
	head := k.same(e, in)
	if len(head)+len(foot)+2+2*k.tall > h {
		head = nil
	}
	about := strings.Split(widget.Wrap(e.P.Msg(k.About), in), "\n")
	if len(about)+1+len(head)+len(foot)+2+2*k.tall <= h {
		var lines []string
		for _, l := range about {
			lines = append(lines, t.Dim.Render(l))
		}
		head = append(append(lines, ""), head...)
	}
	k.room = max(1, (h-2-len(head)-len(foot))/k.tall)
	k.room = min(k.room, len(k.Keys))
	k.top = max(0, min(max(min(k.top, k.at), k.at-k.room+1), len(k.Keys)-k.room))
	k.first = 1 + len(head)
	out := head
	for i := k.top; i < k.top+k.room; i++ {
		k.shown[i] = h-2-len(head)-len(foot) >= k.tall || k.shown[i]
		out = append(out, k.row(e, i, name, addr, kind, in)...)
	}
	var cursor *tea.Cursor
	out = append(out, k.foot(e, in)...) // as high as before, and with the rows that are in sight now
	if k.asks {
		label := e.P.T("ask.keys.path") + " "
		text, x := k.path.Shown(in - widget.Width(label) - 2)
		out[len(out)-1] = t.Strong.Render(label) + t.Chosen.Render(g.Prompt) + " " + text
		cursor = tea.NewCursor(2+widget.Width(label)+2+x, len(out))
	}
	if len(out) > h-2 {
		out = out[len(out)-max(1, h-2):]
	}
	return Box(e, t.Chosen, e.P.Msg(k.Title), out, in), cursor
}

// same warns of machines that show one and the same key.
func (k *keyTable) same(e *Env, w int) (out []string) {
	n := ask.SameKey(k.Keys)
	if n == 0 {
		return nil
	}
	text := e.Theme.Glyphs.Ignored + " " + e.P.T("ask.keys.same", "count", strconv.Itoa(n))
	for l := range strings.SplitSeq(widget.Wrap(text, w), "\n") {
		out = append(out, e.Theme.Warn.Render(l))
	}
	return append(out, "")
}

func (k *keyTable) columns(e *Env) (name, addr, kind int) {
	for _, x := range k.Keys {
		name, addr, kind = max(name, widget.Width(named(e, x))), max(addr, widget.Width(event.Clean(x.Addr))),
			max(kind, widget.Width(event.Clean(x.Type)))
	}
	return min(name, 24), min(addr, 46), min(kind, 20)
}

func (k *keyTable) checkWidth(e *Env) int {
	wide := 0
	for i, c := range k.checks {
		own := 0
		if c != ask.KeyUnlisted {
			own = 4 + widget.Width(e.P.T("ask.key-check."+string(c)))
		}
		wide = max(wide, own+widget.Width(serves(e, k.Keys[i])))
	}
	return wide
}

// named is whose key it is.
func named(e *Env, k ask.HostKey) string {
	if k.Serves > 0 {
		return e.P.T("ask.keys.bastion")
	}
	return event.Clean(k.Node)
}

// serves says how many machines are reached through a bastion.
func serves(e *Env, k ask.HostKey) string {
	if k.Serves == 0 {
		return ""
	}
	return e.P.T("ask.keys.serves", "count", strconv.Itoa(k.Serves))
}

// row is one key: whether it is trusted, whose it is, its fingerprint and what the file says of it.
func (k *keyTable) row(e *Env, i, name, addr, kind, w int) []string {
	t, g := e.Theme, e.Theme.Glyphs
	x := k.Keys[i]
	pointer, box := " ", "[ ]"
	if i == k.at {
		pointer = g.Pointer
	}
	if k.trusted[i] {
		box = "[" + g.OK + "]"
	}
	l := new(widget.Line).Add(t.Chosen, pointer).Add(t.Accent, box).Space(2).Add(t.Strong,
		widget.Fit(named(e, x), name, g.Cut)).Space(2).
		Add(t.Text, widget.Fit(event.Clean(x.Addr), addr, g.Cut)).Space(2)
	check := func() {
		switch k.checks[i] {
		case ask.KeyVerified:
			l.Add(t.Good, g.OK+" "+e.P.T("ask.key-check.verified")).Space(2)
		case ask.KeyDiffers:
			l.Add(t.Bad, g.Failed+" "+e.P.T("ask.key-check.differs")).Space(2)
		case ask.KeyUnlisted:
		}
		if x.Serves > 0 {
			l.Add(t.Accent, serves(e, x)).Space(2)
		}
	}
	style := t.Accent
	if k.tall == 1 {
		l.Add(t.Dim, widget.Fit(event.Clean(x.Type), kind, g.Cut)).Space(2).Add(style,
			event.Clean(x.Fingerprint)).Space(2)
		check()
	} else { // the fingerprint has a line of its own, which is never cut
		check()
		l.Add(t.Dim, event.Clean(x.Type))
	}
	first := widget.Cut(l.String(), w, g.Cut)
	if i == k.at {
		first = widget.Paint(t.Cursor, first, w, "")
	}
	if k.tall == 1 {
		return []string{first}
	}
	return []string{first, new(widget.Line).Space(max(0, min(6, w-widget.Width(x.Fingerprint)))).Add(style,
		event.Clean(x.Fingerprint)).String()}
}

// foot says how far one is, and which keys there are.
func (k *keyTable) foot(e *Env, w int) []string {
	t := e.Theme
	status := new(widget.Line).Add(t.Strong, e.P.T("ask.keys.trusted", "count", strconv.Itoa(k.count(k.trusted)), "of",
		strconv.Itoa(len(k.Keys))))
	if n := len(k.Keys) - k.count(k.shown); n > 0 {
		status.Space(3).Add(t.Warn, e.P.T("ask.keys.unseen", "count", strconv.Itoa(n)))
	}
	status.To(w-widget.Width(k.place())).Add(t.Dim, k.place())
	out := []string{"", status.String()}
	if k.fault != nil {
		text, _ := e.P.Fault(k.fault)
		out = append(out, t.Bad.Render(widget.Cut(t.Glyphs.Failed+" "+event.Clean(text), w, t.Glyphs.Cut)))
	}
	type hint struct{ key, word string }
	list := []hint{{"Space", "ask.keys.one"}, {"y", "ask.keys.all"}, {"Enter", k.Done}, {"n", "ask.keys.none"},
		{"Esc", k.Leave}}
	if k.Known != nil {
		list = append(list[:2:2], append([]hint{{"o", "ask.keys.file"}}, list[2:]...)...)
	}
	l := new(widget.Line)
	for _, x := range list {
		one := widget.Width(x.key) + 1 + widget.Width(e.P.T(x.word))
		if l.Width() > 0 && l.Width()+3+one > w {
			out = append(out, l.String())
			l = new(widget.Line)
		}
		if l.Width() > 0 {
			l.Space(3)
		}
		l.Add(t.Key, x.key).Space(1).Add(t.KeyWord, e.P.T(x.word))
	}
	return append(out, l.String())
}

// place is which rows are in sight, of how many.
func (k *keyTable) place() string {
	room := min(k.room, len(k.Keys))
	return strconv.Itoa(k.top+1) + "-" + strconv.Itoa(k.top+room) + "/" + strconv.Itoa(len(k.Keys))
}
