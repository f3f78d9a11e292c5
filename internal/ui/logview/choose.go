package logview

import (
	"bytes"
	"strings"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Choose puts the choice n lines down, or up when negative, and keeps it in sight; without one it begins at the edge
// that it comes from. It says at which offset more has to be loaded, -1 when nothing has.
func (l *Log) Choose(n int) int64 {
	if len(l.held) == 0 {
		return -1
	}
	l.mark = -1
	switch {
	case l.cur < l.from || l.cur >= l.end():
		l.cur = l.top
		if n < 0 && len(l.rows) > 0 {
			l.cur = min(l.rows[len(l.rows)-1], l.lineStart(l.end()-1))
		}
	case n < 0:
		l.cur = l.back(l.cur, -n)
	default:
		l.cur = l.forth(l.cur, n)
	}
	if l.Follow { // what is drawn while it follows begins in the middle of a screen
		l.Follow = false
		if len(l.rows) > 0 {
			l.top = l.rows[0]
		}
	}
	l.top = min(l.top, l.cur)
	for rows := l.height(l.top, l.cur); rows > l.h && l.top < l.cur; {
		text, next := l.at(l.top)
		rows -= l.tall(l.top, text, next)
		l.top = next
	}
	edge := int64(half / 4)
	if l.from > 0 && l.top-l.from < edge || l.end() < l.size && l.end()-l.top < edge {
		return l.top
	}
	return -1
}

// height is how many rows the lines from one offset to the other take, both among them; it counts no farther than two
// screens.
func (l *Log) height(from, to int64) int {
	if to-from > int64(2*l.h*maxLine) || bytes.Count(l.held[from-l.from:to-l.from], []byte("\n")) > 2*l.h {
		l.top = l.back(to, l.h)
		from = l.top
	}
	rows := 0
	for at := from; at <= to && at < l.end(); {
		text, next := l.at(at)
		rows += l.tall(at, text, next)
		at = next
	}
	return rows
}

// Click chooses the line in a row as it was drawn last.
func (l *Log) Click(row int) {
	if row < 0 || row >= len(l.rows) {
		return
	}
	if l.Follow {
		l.Follow, l.top = false, l.rows[0]
	}
	l.cur, l.mark = l.rows[row], -1
}

// Chosen is the offset of the line that is chosen, or found; while nobody has chosen one it is the last in sight. -1:
// there is none.
func (l *Log) Chosen() int64 {
	switch {
	case len(l.held) == 0:
		return -1
	case l.cur >= l.from && l.cur < l.end():
		return l.cur
	case len(l.rows) > 0:
		return l.rows[len(l.rows)-1]
	}
	return -1
}

// Text is what the machine printed in the line at the offset, nothing else: without time, step and padding.
func (l *Log) Text(at int64) string {
	if at < l.from || at >= l.end() {
		return ""
	}
	raw, _ := l.at(at)
	_, _, _, text := parse(raw)
	return event.Clean(text)
}

// StepOf is the step that printed the line at the offset; "" when that is not held or says none.
func (l *Log) StepOf(at int64) string {
	if at < l.from || at >= l.end() {
		return ""
	}
	raw, _ := l.at(at)
	_, step, _, _ := parse(raw)
	return step
}

// stepMost bounds, in bytes, what is copied of a step: terminals take no more.
const stepMost = 64 << 10

// Step gives the command that reads what the step of the line at the offset has printed, all its lines together, the
// newest if there are too many. cut says that some are missing.
func Step(src backend.NodeLog, at int64) func() (text string, cut bool, err error) {
	return func() (string, bool, error) {
		c := load(src, at, -1)
		if c.Err != nil {
			return "", false, c.Err
		}
		l := &Log{from: c.From, held: c.Data, size: c.Size, cur: -1, mark: -1}
		raw, _ := l.at(l.lineStart(at))
		_, step, _, _ := parse(raw)
		var out []string
		total, cut := 0, c.From > 0
		for line := range bytes.SplitSeq(bytes.TrimSuffix(l.held, []byte("\n")), []byte("\n")) {
			_, s, _, text := parse(string(line[:min(len(line), maxLine)]))
			if s == step {
				out = append(out, event.Clean(text))
				total += len(out[len(out)-1]) + 1
			}
		}
		for total > stepMost && len(out) > 1 {
			total -= len(out[0]) + 1
			out, cut = out[1:], true
		}
		return strings.Join(out, "\n"), cut, nil
	}
}
