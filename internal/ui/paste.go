package ui

import (
	"bytes"
	"io"

	"golang.org/x/sys/unix"

	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// terminalFile is an input that is a terminal, as Bubble Tea wants to have it.
type terminalFile interface {
	io.ReadWriteCloser
	Fd() uintptr
	Name() string
}

// input gives what is typed to Bubble Tea. Terminals mark what is pasted (bracketed paste), but not all do, and a multiplexer may be told to paste
// without: then text with line breaks comes all at once, as if it were typed, and each of its line breaks would be Enter, which goes to the next field or
// page. input marks such text itself, so that a paste is a paste wherever it comes from.
type input struct {
	terminalFile
	more    func() bool // waits a moment; true: there is more to be read
	out     []byte      // read and not yet given away
	inside  bool        // of text that the terminal has marked
	tail    []byte      // the last bytes, in which a mark may have begun
	failure error
}

const (
	pasteStart, pasteEnd = "\x1b[200~", "\x1b[201~"
	pasteMost            = 1 << 20 // bytes that are waited for
	pasteWait            = 8       // milliseconds between two pieces of a paste; nobody types as fast
)

var _ frame.Reader = (*input)(nil)

// newInput wraps a terminal; what is none is given back as it is.
func newInput(in io.Reader) io.Reader {
	f, ok := in.(terminalFile)
	if !ok {
		return in
	}
	return &input{terminalFile: f, more: func() bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}, pasteWait)
		return err == nil && n > 0
	}}
}

// Terminal implements frame.Reader.
func (r *input) Terminal() io.Reader { return r.terminalFile }

// Read implements io.Reader.
func (r *input) Read(p []byte) (int, error) {
	if len(r.out) == 0 {
		if r.failure != nil {
			return 0, r.failure
		}
		r.fill()
	}
	if len(r.out) == 0 && r.failure != nil {
		return 0, r.failure
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// fill reads what there is.
func (r *input) fill() {
	data := r.next()
	if r.inside || halfSequence(r.tail) || !plainText(data) {
		r.out = data
		r.watch(data)
		return
	}
	var rest []byte
	for len(data) < pasteMost && r.failure == nil && r.more() {
		if rest = r.next(); !plainText(rest) {
			break
		}
		data, rest = append(data, rest...), nil
	}
	if severalLines(data) {
		data = append(append([]byte(pasteStart), data...), pasteEnd...)
	}
	r.watch(rest)
	r.out = append(data, rest...)
}

// next reads once, and on to the end of an escape sequence that comes in pieces.
func (r *input) next() []byte {
	var data []byte
	for {
		buf := make([]byte, 4096)
		n, err := r.terminalFile.Read(buf)
		data, r.failure = append(data, buf[:n]...), err
		if !bytes.HasSuffix(data, []byte("\x1b")) || err != nil || !r.more() {
			return data
		}
	}
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

// plainText says whether the bytes are letters, tabs and line breaks, and nothing that a key beside the letters sends.
func plainText(data []byte) bool {
	for _, c := range data {
		if c < ' ' && c != '\r' && c != '\n' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return len(data) > 0
}

// severalLines says whether there is text behind a line break. A line break at the end alone is the Enter of somebody who types fast, or over a slow line.
func severalLines(data []byte) bool {
	i := bytes.IndexAny(data, "\r\n")
	return i >= 0 && len(bytes.TrimLeft(data[i:], "\r\n\t ")) > 0 && len(bytes.Trim(data[:i], "\t ")) > 0
}
