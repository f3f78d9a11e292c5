package ui

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// pieces is a terminal that sends its input in pieces, each followed by silence but those that end in ">".
type pieces struct {
	io.ReadWriteCloser
	list []string
	on   bool // there is more
}

func (p *pieces) Fd() uintptr  { return 0 }
func (p *pieces) Name() string { return "pieces" }
func (p *pieces) Read(b []byte) (int, error) {
	if len(p.list) == 0 {
		return 0, io.EOF
	}
	first, on := strings.CutSuffix(p.list[0], ">")
	n := copy(b, first)
	if p.on = on && len(p.list) > 1; n == len(first) {
		p.list = p.list[1:]
	} else {
		p.on, p.list[0] = true, p.list[0][n:]
	}
	return n, nil
}

// read reads all, so many bytes at a time as Bubble Tea does. What is read of the terminal is given away at once:
// nobody asks for it later.
func read(t *testing.T, size int, list ...string) (got []string) {
	t.Helper()
	p := &pieces{list: slices.Clone(list)}
	in := &input{terminalFile: p, more: func(time.Duration) bool { return p.on }}
	for {
		buf := make([]byte, size)
		n, err := in.Read(buf)
		if len(in.out) > 0 && size >= 30 || len(in.half) > 0 && !p.on {
			t.Errorf("%q waits for the next key", append(in.out, in.half...))
		}
		if err == io.EOF && n == 0 {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(buf[:n]))
	}
}

// What comes at once and has several lines is a paste, marked or not; what a person types is typed.
func TestAPasteIsMarked(t *testing.T) {
	marked := func(s string) string { return pasteStart + s + pasteEnd }
	for _, c := range []struct {
		name string
		in   []string
		want string
	}{
		{"letters", []string{"a", "b"}, "ab"},
		{"Enter", []string{"a", "\r", "b"}, "a\rb"},
		{"fast, or over a slow line", []string{"abc\r"}, "abc\r"},
		{"Enter twice", []string{"\r\r"}, "\r\r"},
		{"a key and what it opens", []string{"\rabc"}, "\rabc"},
		{"CR", []string{"10.0.0.1\r10.0.0.2\r"}, marked("10.0.0.1\r10.0.0.2\r")},
		{"LF", []string{"10.0.0.1\n10.0.0.2"}, marked("10.0.0.1\n10.0.0.2")},
		{"CRLF", []string{"a\r\nb"}, marked("a\r\nb")},
		{"Chinese", []string{"主节点\r工作\r"}, marked("主节点\r工作\r")},
		{"in pieces", []string{"10.0.>", "0.1\r10>", ".0.0.2\r"}, marked("10.0.0.1\r10.0.0.2\r")},
		{"ahead of a slow line", []string{"name\r10.0.0.5"}, "name\r10.0.0.5"},
		{"the same in pieces, and a field left out", []string{"name\r>", "\r10.0.0.5"}, "name\r\r10.0.0.5"},
		{"two lines that end", []string{"name\r10.0.0.5\r"}, marked("name\r10.0.0.5\r")},
		{"more than is typed ahead", []string{"k8s-master-0 10.0.0.1\rk8s-worker-0"},
			marked("k8s-master-0 10.0.0.1\rk8s-worker-0")},
		{"in pieces, then a key", []string{"a\rb\r>", "\x1b[A"}, marked("a\rb\r") + "\x1b[A"},
		{"with a key in one piece", []string{"a\rb\r\x1b[A"}, marked("a\rb\r") + "\x1b[A"},
		{"an arrow", []string{"\x1b[A"}, "\x1b[A"},
		{"marked by the terminal", []string{marked("a\rb\r")}, marked("a\rb\r")},
		{"marked, in pieces", []string{pasteStart + "a\r", "b\rc", "\r" + pasteEnd, "d\ne"},
			marked("a\rb\rc\r") + marked("d\ne")},
		{"a mark in small pieces", []string{"\x1b>", "[", "200~", "a\rb\rc", pasteEnd}, marked("a\rb\rc")},
		{"Esc, then a paste", []string{"\x1b", "a\rb\r"}, "\x1b" + marked("a\rb\r")},
		{"a mark in pieces", []string{"\x1b[2", "00~a\rb", "c\rd", "\x1b[20", "1~", "e\nf"},
			marked("a\rbc\rd") + marked("e\nf")},
	} {
		if got := strings.Join(read(t, 4096, c.in...), ""); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A buffer that is full ends behind a letter, and behind a mark: Bubble Tea waits for the other half a moment only.
func TestNothingIsCutInTwo(t *testing.T) {
	text := strings.Repeat("主节点 10.0.0.1\r", 20)
	for size := 30; size < 60; size++ {
		for _, sent := range []string{text, pasteStart + text + pasteEnd, strings.Repeat("\x1b[A", 40)} {
			all := read(t, size, sent)
			for _, one := range all {
				if !utf8.ValidString(one) || halfSequence([]byte(one)) || strings.HasSuffix(one, "\x1b") {
					t.Errorf("%d bytes: %q", size, all)
					break
				}
			}
		}
	}
}

// Nothing that is sent is lost or comes in another order, however it is cut into pieces.
func FuzzInput(f *testing.F) {
	f.Add([]byte("10.0.0.1\r10.0.0.2\r"), uint8(3))
	f.Add([]byte(pasteStart+"a\rb"+pasteEnd+"c\rd\x1b[A"), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		var list []string
		for rest := data; len(rest) > 0; {
			n := min(len(rest), int(size)%7+1)
			list = append(list, string(rest[:n])+">")
			rest = rest[n:]
		}
		if size > 99 { // as a terminal sends what is pasted
			list = []string{string(data) + ">"}
		}
		strip := func(b []byte) []byte {
			return bytes.ReplaceAll(bytes.ReplaceAll(b, []byte(pasteStart), nil), []byte(pasteEnd), nil)
		}
		for _, buffer := range []int{1, 20, 4096} {
			if got := strings.Join(read(t, buffer, list...), ""); !bytes.Equal(strip([]byte(got)), strip(data)) {
				t.Errorf("%q became %q", data, got)
			}
		}
	})
}
