// Package logview shows a log of any length: a window of bytes around the place that is looked at is held, the rest
// stays in the file. Reading is the caller's, in commands; moving and drawing touch memory only.
package logview

import (
	"bytes"
	"io"
	"strings"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Sizes of what is held, in bytes.
const (
	half    = 256 << 10 // before and after the place that is looked at
	maxLine = 8 << 10   // a longer line is cut where it is shown
)

// Log is one view of a log.
type Log struct {
	Theme  *theme.Theme
	Follow bool // the end stays in sight
	Wrap   bool
	Times  bool
	Needle string // what is searched for: it is seen wherever it stands
	// Heading is the title of a step, which stands above the first of the lines that it printed together; nil: none
	// does.
	Heading func(step string) string

	size int64
	from int64   // offset of held
	held []byte  // of the file, from the start of a line (or of the file) on
	top  int64   // offset of the first line that is drawn; a line's start
	mark int64   // offset of the line that was found, -1 for none
	cur  int64   // offset of the line that the person has chosen, -1 for none
	w, h int     // of the last drawing
	rows []int64 // which line stands in each row of it

	cache map[int64][]string // lines as they were drawn
	drawn look               // with what
}

// look is all that decides how a line is drawn, but for what it says.
type look struct {
	theme       *theme.Theme
	w, h        int
	wrap, times bool
	needle      string
}

// cacheMost is how many lines are kept as they were drawn.
const cacheMost = 1000

// New makes a view that follows the end.
func New(t *theme.Theme) *Log {
	return &Log{Theme: t, Follow: true, mark: -1, cur: -1, cache: map[int64][]string{}}
}

// Chunk is what a command has read.
type Chunk struct {
	Size int64
	From int64
	Data []byte
	Top  int64 // where to look at; -1: the end
	Mark int64 // the line that was found; -1: none
	Err  error
}

// Load gives the command that reads what is needed to look at the offset; -1 is the end.
func Load(src backend.NodeLog, at int64) func() Chunk {
	return func() Chunk { return load(src, at, -1) }
}

func load(src backend.NodeLog, at, mark int64) Chunk {
	size, err := src.Size()
	c := Chunk{Size: size, Top: at, Mark: mark, Err: err}
	if err != nil {
		return c
	}
	centre := at
	if at < 0 {
		centre = size
	}
	c.From = max(0, centre-half)
	buf := make([]byte, min(size, centre+half)-c.From)
	n, err := src.ReadAt(buf, c.From)
	if err != nil && err != io.EOF {
		c.Err = err
		return c
	}
	c.Data = buf[:n]
	if c.From > 0 { // what is held begins with a whole line; a line longer than the window is cut in the middle
		if i := bytes.IndexByte(c.Data, '\n'); i >= 0 && c.From+int64(i)+1 <= centre {
			c.From += int64(i) + 1
			c.Data = c.Data[i+1:]
		}
	}
	return c
}

// Take takes in what was read.
func (l *Log) Take(c Chunk) {
	if c.Err != nil {
		return
	}
	if c.Size < l.size { // another file
		clear(l.cache)
		l.cur = -1
	}
	l.size, l.from, l.held, l.mark = c.Size, c.From, c.Data, -1
	switch {
	case c.Top < 0 || l.Follow:
		l.top = l.back(l.end(), l.h)
	default:
		l.top = l.lineStart(c.Top)
	}
	if c.Mark >= 0 {
		l.mark, l.cur = c.Mark, c.Mark
		l.Follow = false
		l.top = l.back(l.lineStart(c.Mark), l.h/3)
	}
}

func (l *Log) end() int64 { return l.from + int64(len(l.held)) }

// lineStart is the start of the line that holds the offset, as far as it is held.
func (l *Log) lineStart(at int64) int64 {
	i := int(min(max(at-l.from, 0), int64(len(l.held))))
	return l.from + int64(bytes.LastIndexByte(l.held[:i], '\n')+1)
}

// back goes n lines up.
func (l *Log) back(at int64, n int) int64 {
	for ; n > 0 && at > l.from; n-- {
		at = l.lineStart(at - 1)
	}
	return at
}

// forth goes n lines down, never past the start of the last line.
func (l *Log) forth(at int64, n int) int64 {
	for ; n > 0; n-- {
		i := bytes.IndexByte(l.held[at-l.from:], '\n')
		if i < 0 || at+int64(i)+1 >= l.end() {
			return at
		}
		at += int64(i) + 1
	}
	return at
}

// Move goes n lines down, or up when n is negative. It says at which offset more has to be loaded, -1 when nothing has.
func (l *Log) Move(n int) int64 {
	l.mark, l.cur = -1, -1 // a search goes on from what is in sight
	if n < 0 {
		l.Follow = false
		l.top = l.back(l.top, -n)
	} else {
		l.top = min(l.forth(l.top, n), max(l.from, l.back(l.end(), l.h)))
		if l.end() >= l.size && l.forth(l.top, l.h) >= l.lineStart(l.end()-1) {
			l.Follow = true
		}
	}
	edge := int64(half / 4)
	if l.from > 0 && l.top-l.from < edge || l.end() < l.size && l.end()-l.top < edge {
		return l.top
	}
	return -1
}

// Top is the offset of the first line in sight, and Size how long the log was when it was last read.
func (l *Log) Top() int64  { return l.top }
func (l *Log) Size() int64 { return l.size }

// Render draws w×h cells.
func (l *Log) Render(w, h int, empty string) []string {
	l.w, l.h, l.rows = w, h, l.rows[:0]
	if now := (look{l.Theme, w, h, l.Wrap, l.Times, l.Needle}); now != l.drawn || len(l.cache) > cacheMost {
		clear(l.cache)
		l.drawn = now
	}
	if len(l.held) == 0 {
		return widget.Block([]string{"", "  " + l.Theme.Dim.Render(empty)}, w, h, "")
	}
	if l.Follow { // the end is in sight, however many rows its lines take
		l.top = l.end()
		for rows := 0; rows < h && l.top > l.from; {
			l.top = l.lineStart(l.top - 1)
			text, next := l.at(l.top)
			rows += l.tall(l.top, text, next)
		}
	}
	var out []string
	for at := l.top; at < l.end() && (l.Follow || len(out) < h); {
		text, next := l.at(at)
		if head, ok := l.heading(at, w); ok {
			out, l.rows = append(out, head), append(l.rows, at)
		}
		for _, row := range l.look(at, text, next) {
			out, l.rows = append(out, row), append(l.rows, at)
		}
		at = next
	}
	if over := len(out) - h; over > 0 {
		if l.Follow {
			out, l.rows = out[over:], l.rows[over:]
		}
		out, l.rows = out[:h], l.rows[:h]
	}
	return widget.Block(out, w, h, l.Theme.Glyphs.Cut)
}

// heading is what stands above the line at the offset, if another step printed the line before it.
func (l *Log) heading(at int64, w int) (string, bool) {
	if l.Heading == nil {
		return "", false
	}
	step := l.StepOf(at)
	if step == "" || at > l.from && l.StepOf(l.lineStart(at-1)) == step {
		return "", false
	}
	t := l.Theme
	line := new(widget.Line).Add(t.Border, strings.Repeat(t.Glyphs.Rule, 2)).Space(1)
	line.Add(t.Title, widget.Cut(l.Heading(step), max(1, w-8), t.Glyphs.Cut)).Space(1)
	return line.Add(t.Border, strings.Repeat(t.Glyphs.Rule, max(0, w-line.Width()))).String(), true
}

// tall is how many rows a line takes, with the heading above it.
func (l *Log) tall(at int64, text string, next int64) int {
	n := len(l.look(at, text, next))
	if _, ok := l.heading(at, l.w); ok {
		n++
	}
	return n
}

// Printed gives what Find looks for: lines that the step printed.
func Printed(step string) func(line []byte) bool {
	return func(line []byte) bool {
		_, s, _, _ := parse(string(line))
		return s == step
	}
}

// at is the line that begins at the offset, as much of it as is shown, and the offset of the next.
func (l *Log) at(at int64) (string, int64) {
	line, next := l.held[at-l.from:], l.end()
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line, next = line[:i], at+int64(i)+1
	}
	return string(line[:min(len(line), maxLine)]), next
}

// look gives the rows of a line, drawn before if it can be: what is wrapped is wrapped once.
func (l *Log) look(at int64, text string, next int64) []string {
	if at == l.mark || at == l.cur || next == l.end() { // the last may still grow
		return l.line(text, at == l.mark || at == l.cur)
	}
	rows, ok := l.cache[at]
	if !ok {
		rows = l.line(text, false)
		l.cache[at] = rows
	}
	return rows
}

// parse takes a record of a node's log, "time step stream| text", apart; what is none is all text.
func parse(raw string) (at, step, stream, text string) {
	if stamp, rest, ok := strings.Cut(raw, " "); ok && len(stamp) == stampLen {
		if head, body, ok := strings.Cut(rest, "| "); ok {
			step, stream, _ = strings.Cut(head, " ")
			return stamp, step, stream, body
		}
	}
	return "", "", "", raw
}

// stampLen is the length of the time of a record, in bytes.
const stampLen = 24

// line draws one record in as many rows as it takes, and no more than the screen has.
func (l *Log) line(raw string, found bool) []string {
	t := l.Theme
	at, _, stream, text := parse(raw)
	style := t.Text
	switch {
	case found:
		style = t.Cursor
	case Trouble(raw):
		style = t.Bad
	case stream == "stderr":
		style = t.Warn
	}
	lead := ""
	if l.Times && at != "" && plain(at) {
		lead = at[11:23] + " "
	}
	room := max(1, l.w-len(lead)-1)
	text = event.Clean(text)
	parts := []string{widget.Cut(text, room, t.Glyphs.Cut)}
	if l.Wrap {
		parts = strings.Split(widget.Wrap(widget.Cut(text, room*l.h, t.Glyphs.Cut), room), "\n")
	}
	mark := " "
	if found {
		mark = t.Chosen.Render(t.Glyphs.Pointer)
	}
	var out []string
	for i, p := range parts {
		if i > 0 {
			lead = widget.Spaces(len(lead))
		}
		if found {
			p = widget.Fit(p, room, "")
		}
		out = append(out, mark+t.Faint.Render(lead)+l.needled(style, p))
	}
	return out
}

// needled draws a piece of a line with what is searched for in it.
func (l *Log) needled(style widget.Ink, text string) string {
	want, low := strings.ToLower(l.Needle), strings.ToLower(text)
	if want == "" || len(low) != len(text) || !strings.Contains(low, want) {
		return style.Render(text)
	}
	var b strings.Builder
	for {
		i := strings.Index(low, want)
		if i < 0 {
			break
		}
		b.WriteString(style.Render(text[:i]))
		b.WriteString(l.Theme.Found.Render(text[i : i+len(want)]))
		text, low = text[i+len(want):], low[i+len(want):]
	}
	b.WriteString(style.Render(text))
	return b.String()
}

// plain says whether a time is one: what stands there goes to the screen as it is.
func plain(at string) bool {
	for _, c := range []byte(at) {
		if c < 0x20 || c >= 0x7f {
			return false
		}
	}
	return true
}

// Trouble says whether a line of a log speaks of something that went wrong.
func Trouble(line string) bool {
	low := strings.ToLower(line)
	for _, w := range []string{"error", "fail", "fatal", "panic", "denied", "no space left", "refused", "cannot "} {
		if strings.Contains(low, w) {
			return true
		}
	}
	return false
}

// searchStep is how much is read at a time.
const searchStep = 1 << 20

// Find gives the command that looks for the next line after (or before, when back) the offset that satisfies want, and
// loads what is around it. Its Chunk has Mark -1 and no data when there is none.
func Find(src backend.NodeLog, after int64, back bool, want func(line []byte) bool) func() Chunk {
	return func() Chunk {
		size, err := src.Size()
		if err != nil {
			return Chunk{Err: err, Mark: -1}
		}
		at := int64(-1)
		if back {
			at, err = findBack(src, min(after, size), want)
		} else {
			at, err = findForth(src, after, size, want)
		}
		if err != nil || at < 0 {
			return Chunk{Err: err, Mark: -1, Size: size, Top: -1}
		}
		return load(src, at, at)
	}
}

func findForth(src io.ReaderAt, after, size int64, want func([]byte) bool) (int64, error) {
	skip := after > 0 || after < 0 // the line at the offset itself is where one stands
	if after < 0 {
		after, skip = 0, false
	}
	var rest []byte
	base := after // offset of rest
	buf := make([]byte, searchStep)
	for at := after; at < size; {
		n, err := src.ReadAt(buf, at)
		if n == 0 && err != nil {
			if err == io.EOF {
				break
			}
			return -1, err
		}
		at += int64(n)
		rest = append(rest, buf[:n]...)
		for {
			i := bytes.IndexByte(rest, '\n')
			if i < 0 {
				break
			}
			if !skip && want(rest[:i]) {
				return base, nil
			}
			skip = false
			base += int64(i) + 1
			rest = rest[i+1:]
		}
		if len(rest) > searchStep { // a line without an end
			base += int64(len(rest))
			rest = nil
		}
	}
	if len(rest) > 0 && !skip && want(rest) {
		return base, nil
	}
	return -1, nil
}

func findBack(src io.ReaderAt, before int64, want func([]byte) bool) (int64, error) {
	var tail []byte // the beginning of a line whose start is farther up
	for end := before; end > 0; {
		from := max(0, end-searchStep)
		buf := make([]byte, end-from, end-from+int64(len(tail)))
		if _, err := src.ReadAt(buf, from); err != nil && err != io.EOF {
			return -1, err
		}
		buf = append(buf, tail...)
		for {
			i := bytes.LastIndexByte(bytes.TrimSuffix(buf, []byte("\n")), '\n')
			if i < 0 {
				break
			}
			if want(bytes.TrimSuffix(buf[i+1:], []byte("\n"))) {
				return from + int64(i) + 1, nil
			}
			buf = buf[:i+1]
		}
		tail, end = buf, from
		if len(tail) > 2*searchStep {
			tail = nil
		}
	}
	if len(tail) > 0 && want(bytes.TrimSuffix(tail, []byte("\n"))) {
		return 0, nil
	}
	return -1, nil
}

// Found is where a search goes on from: the line that was found last, or the first in sight.
func (l *Log) Found() int64 {
	if l.mark >= 0 {
		return l.mark
	}
	if l.Follow || l.top == 0 {
		return -1
	}
	return l.top
}
