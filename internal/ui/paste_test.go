package ui

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// pieces is a terminal that sends its input in pieces, each followed by silence but those that end in ">".
type pieces struct {
	io.ReadWriteCloser
	list []string
	at   int
}

func (p *pieces) Fd() uintptr  { return 0 }
func (p *pieces) Name() string { return "pieces" }
func (p *pieces) Read(b []byte) (int, error) {
	if p.at == len(p.list) {
		return 0, io.EOF
	}
	p.at++
	return copy(b, strings.TrimSuffix(p.list[p.at-1], ">")), nil
}

func read(t *testing.T, list ...string) string {
	t.Helper()
	p := &pieces{list: list}
	got, err := io.ReadAll(&input{terminalFile: p, more: func() bool { return p.at < len(p.list) && strings.HasSuffix(p.list[p.at-1], ">") }})
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
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
		{"Chinese", []string{"主节点\r工作"}, marked("主节点\r工作")},
		{"in pieces", []string{"10.0.>", "0.1\r10>", ".0.0.2\r"}, marked("10.0.0.1\r10.0.0.2\r")},
		{"in pieces, then a key", []string{"a\rb>", "\x1b[A"}, marked("a\rb") + "\x1b[A"},
		{"an arrow", []string{"\x1b[A"}, "\x1b[A"},
		{"marked by the terminal", []string{marked("a\rb\r")}, marked("a\rb\r")},
		{"marked, in pieces", []string{pasteStart + "a\r", "b\rc", "\r" + pasteEnd, "d\re"}, marked("a\rb\rc\r") + marked("d\re")},
		{"a mark in small pieces", []string{"\x1b>", "[", "200~", "a\rb", pasteEnd}, marked("a\rb")},
		{"Esc, then a paste", []string{"\x1b", "a\rb"}, "\x1b" + marked("a\rb")},
		{"a mark in pieces", []string{"\x1b[2", "00~a\rb", "c\rd", "\x1b[20", "1~", "e\rf"}, marked("a\rbc\rd") + marked("e\rf")},
	} {
		if got := read(t, c.in...); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
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
		strip := func(b []byte) []byte {
			return bytes.ReplaceAll(bytes.ReplaceAll(b, []byte(pasteStart), nil), []byte(pasteEnd), nil)
		}
		if got := read(t, list...); !bytes.Equal(strip([]byte(got)), strip(data)) {
			t.Errorf("%q became %q", data, got)
		}
	})
}
