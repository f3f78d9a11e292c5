package ui

import (
	"bytes"
	"io"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// terminalFile is an input that is a terminal, as Bubble Tea wants to have it.
type terminalFile interface {
	io.ReadWriteCloser
	Fd() uintptr
	Name() string
}

// input gives what is typed to Bubble Tea. Terminals mark what is pasted (bracketed paste), but not all do, and a
// multiplexer may be told to paste without: then text with line breaks comes all at once, as if it were typed, and
// each of its line breaks would be Enter, which goes to the next field or page. input marks such text itself, so
// that a paste is a paste wherever it comes from.
//
// Bubble Tea waits until the terminal has something to read, and knows nothing of what was read and not yet given
// to it. So no more is read than fits, with marks, into the buffer that is to be filled, and a paste that is longer
// is marked across several reads.
type input struct {
	terminalFile
	more    func(wait time.Duration) bool // waits so long; true: there is more to be read
	out     []byte                        // did not fit
	open    bool                          // a mark of our own was given, and not yet that of the end
	inside  bool                          // of text that the terminal has marked
	tail    []byte                        // the last bytes, in which a mark may have begun
	half    []byte                        // of a letter or a sequence, read and not yet whole
	failure error
}

const (
	pasteStart, pasteEnd = "\x1b[200~", "\x1b[201~"
	pasteMarks           = len(pasteStart) + len(pasteEnd)

	typeWait  = 8 * time.Millisecond   // between two pieces of what comes at once; nobody types as fast
	pasteWait = 100 * time.Millisecond // until a paste is over: a slow line stops and starts

	// pasteLeast is how long a text with one CR is that nobody has typed: "name CR address" in one piece may be
	// somebody ahead of a slow line, or a script.
	pasteLeast = 32
)

var _ frame.Reader = (*input)(nil)

// newInput wraps a terminal; what is none is given back as it is.
func newInput(in io.Reader) io.Reader {
	f, ok := in.(terminalFile)
	if !ok {
		return in
	}
	return &input{terminalFile: f, more: func(wait time.Duration) bool {
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}, int(wait.Milliseconds()))
			if err != unix.EINTR { // by a signal
				return err == nil && n > 0
			}
		}
	}}
}

// Terminal implements frame.Reader.
func (r *input) Terminal() io.Reader { return r.terminalFile }

// Read implements io.Reader.
func (r *input) Read(p []byte) (int, error) {
	if len(r.out) == 0 && r.failure == nil {
		r.out = r.fill(max(len(p)-pasteMarks, 1))
	}
	if len(r.out) == 0 && r.failure != nil {
		return 0, r.failure
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// fill reads what there is, at most room bytes, and marks it if it is a paste.
func (r *input) fill(room int) []byte {
	var data []byte
	for len(data) == 0 && r.failure == nil {
		data = r.next(room)
	}
	if r.inside || halfSequence(r.tail) {
		r.watch(data)
		return data
	}
	text, rest := split(data)
	full := func() bool { return len(text)+len(r.half) >= room }
	for !r.open && !pasted(text) && len(rest) == 0 && !full() && r.failure == nil && r.more(typeWait) {
		data = append(data, r.next(room-len(text))...)
		text, rest = split(data)
	}
	defer r.watch(rest)
	if !r.open && !pasted(text) && (len(text) < pasteLeast || !full()) {
		return data
	}
	var out []byte
	if !r.open {
		out = []byte(pasteStart)
	}
	out = append(out, text...)
	if r.open = len(rest) == 0 && r.failure == nil && r.more(pasteWait); !r.open {
		out = append(out, pasteEnd...)
	}
	return append(out, rest...)
}

// next reads once, at most so many bytes, and on to the end of a letter or an escape sequence that comes in pieces.
// Where there is no room for the rest of it, it is for the next call: Bubble Tea would take the halves for two
// other things if the second is late.
func (r *input) next(room int) []byte {
	data := r.half
	for r.half = nil; ; {
		buf := make([]byte, max(room-len(data), 1))
		n, err := r.terminalFile.Read(buf)
		data, r.failure = append(data, buf[:n]...), err
		whole := len(data) - unfinished(data)
		if whole == len(data) || err != nil || !r.more(typeWait) {
			return data
		}
		if len(data) >= room {
			r.half = data[whole:]
			return data[:whole:whole]
		}
	}
}

// unfinished is how many bytes at the end are the beginning of a letter or of an escape sequence.
func unfinished(data []byte) int {
	const longest = 32 // of the sequences that begin like a mark
	if i := bytes.LastIndexByte(data, '\x1b'); i >= 0 {
		if begun := data[i:]; len(begun) < longest && (len(begun) == 1 || halfSequence(begun)) {
			return len(begun)
		}
	}
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if last := data[len(data)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return n
			}
			break
		}
	}
	return 0
}

// watch looks for the terminal's own marks.
func (r *input) watch(data []byte) {
	all := append(r.tail, data...)
	if start, end := bytes.LastIndex(all, []byte(pasteStart)), bytes.LastIndex(all, []byte(pasteEnd)); start != end {
		r.inside = start > end
	}
	r.tail = append([]byte(nil), all[max(0, len(all)-len(pasteStart)+1):]...)
}

// halfSequence says whether an escape sequence has begun and not ended. Esc by itself is a key.
func halfSequence(tail []byte) bool {
	i := bytes.LastIndex(tail, []byte("\x1b["))
	return i >= 0 && len(bytes.Trim(tail[i+2:], "0123456789;<?")) == 0
}

// split parts letters, tabs and line breaks from what begins with the bytes of any other key.
func split(data []byte) (text, rest []byte) {
	for i, c := range data {
		if c < ' ' && c != '\r' && c != '\n' && c != '\t' || c == 0x7f {
			return data[:i], data[i:]
		}
	}
	return data, nil
}

// pasted says whether a text that came at once is a paste: it goes on behind a line break, and nobody typed it. The
// key Enter sends CR, so LF is of a file; with CR alone there are two lines that end, or more text than somebody
// types while a slow line stands still. A line break at the end alone is the Enter of somebody who types fast.
func pasted(text []byte) bool {
	i := bytes.IndexAny(text, "\r\n")
	if i < 0 || len(bytes.TrimSpace(text[:i])) == 0 || len(bytes.TrimSpace(text[i:])) == 0 {
		return false
	}
	second := bytes.TrimLeft(text[i:], "\r\t ")
	return bytes.IndexByte(text, '\n') >= 0 || len(text) >= pasteLeast || bytes.IndexByte(second, '\r') >= 0
}
