package remote

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// mark is one line of the agent: what (b began, x ended, y not begun, ready, missing), of which script, with which
// status.
type mark struct {
	what   string
	id     int
	status int
}

// maxMark bounds a mark's line after the random word.
const maxMark = 128

// demux splits one stream of the session into what scripts wrote and the agent's marks. Its work is linear in what it
// reads: of a piece, only as much is kept for the next as could be the beginning of a mark.
type demux struct {
	word []byte
	buf  []byte
	text func([]byte)
	mark func(mark)
}

func newDemux(word string, text func([]byte), m func(mark)) *demux {
	return &demux{word: []byte(word + " "), text: text, mark: m}
}

func (d *demux) feed(p []byte) {
	if len(d.buf) > 0 {
		d.buf = append(d.buf, p...)
		p = d.buf
	}
	for {
		i := bytes.Index(p, d.word)
		if i < 0 {
			keep := overlap(p, d.word)
			d.emit(p[:len(p)-keep])
			d.hold(p[len(p)-keep:])
			return
		}
		d.emit(p[:i])
		p = p[i:]
		end := bytes.IndexByte(p, '\n')
		if end >= len(d.word)+maxMark { // in pieces it would not have been waited for
			end = -1
		}
		if end < 0 && len(p) < len(d.word)+maxMark {
			d.hold(p)
			return
		}
		m, ok := parseMark(p, len(d.word), end)
		if !ok { // not the agent's: the word has leaked, or somebody guessed; it is text like any other
			d.emit(p[:len(d.word)])
			p = p[len(d.word):]
			continue
		}
		d.mark(m)
		p = p[end+1:]
	}
}

func (d *demux) emit(p []byte) {
	if len(p) > 0 {
		d.text(p)
	}
}

// hold keeps the rest for the next piece. p may alias buf.
func (d *demux) hold(p []byte) { d.buf = append(d.buf[:0], p...) }

func parseMark(p []byte, from, end int) (mark, bool) {
	if end < 0 {
		return mark{}, false
	}
	f := strings.Split(string(p[from:end]), " ")
	if len(f) != 3 {
		return mark{}, false
	}
	id, err1 := strconv.Atoi(f[1])
	st, err2 := strconv.Atoi(f[2])
	return mark{f[0], id, st}, err1 == nil && err2 == nil
}

// overlap is the length of the longest end of p that is a beginning of word.
func overlap(p, word []byte) int {
	for n := min(len(p), len(word)-1); n > 0; n-- {
		if bytes.Equal(p[len(p)-n:], word[:n]) {
			return n
		}
	}
	return 0
}

// lines cuts a stream into lines for events. A line longer than lineCap comes in pieces; of a line that was drawn over
// and over with carriage returns, the last drawing counts.
type lines struct {
	buf  []byte
	emit func(string)
}

// lineCap in bytes.
const lineCap = 64 << 10

func (l *lines) write(p []byte) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i >= 0 && len(l.buf)+i <= lineCap {
			l.buf = append(l.buf, p[:i]...)
			l.flush()
			p = p[i+1:]
			continue
		}
		n := min(lineCap-len(l.buf), len(p))
		l.buf = append(l.buf, p[:n]...)
		p = p[n:]
		if len(l.buf) >= lineCap {
			l.cut()
		}
	}
}

// cut flushes a full buffer but for a character that has not come whole.
func (l *lines) cut() {
	end := len(l.buf)
	for i := end - 1; i >= end-3; i-- {
		if utf8.RuneStart(l.buf[i]) {
			if !utf8.FullRune(l.buf[i:]) {
				end = i
			}
			break
		}
	}
	rest := append([]byte(nil), l.buf[end:]...)
	l.buf = l.buf[:end]
	l.flush()
	l.buf = append(l.buf, rest...)
}

func (l *lines) flush() {
	s := bytes.TrimRight(l.buf, "\r")
	if i := bytes.LastIndexByte(s, '\r'); i >= 0 {
		s = s[i+1:]
	}
	l.emit(string(s))
	l.buf = l.buf[:0]
}

func (l *lines) close() {
	if len(l.buf) > 0 {
		l.flush()
	}
}

// tail keeps the last n bytes.
type tail struct {
	n   int
	buf []byte
}

func (t *tail) write(p []byte) {
	if len(p) >= t.n {
		t.buf = append(t.buf[:0], p[len(p)-t.n:]...)
		return
	}
	t.buf = append(t.buf, p...)
	// Cut only when twice as long as wanted, so that the copying stays linear.
	if len(t.buf) > 2*t.n {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-t.n:]...)
	}
}

func (t *tail) bytes() []byte {
	if len(t.buf) > t.n {
		return t.buf[len(t.buf)-t.n:]
	}
	return t.buf
}
