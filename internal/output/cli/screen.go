package cli

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/eggo-k8s/eggo/internal/output/document"
)

// Screen is how wide and in which colours text may be written. The zero value is a pipe or a file: lines stay whole and
// have no colours, so that what is read by programs does not depend on a terminal.
type Screen struct {
	Width int // in cells; 0: lines stay whole
	Color bool
}

// leastWidth is that of terminals on which wrapped lines can be read.
const leastWidth = 40

// ScreenOf is that of a writer: of a terminal, if it is one that is not dumb. NO_COLOR takes the colours.
func ScreenOf(w io.Writer, getenv func(string) string) Screen {
	f, ok := Terminal(w)
	if !ok || getenv("TERM") == "dumb" {
		return Screen{}
	}
	cols, _, err := term.GetSize(int(f.Fd()))
	if err != nil || cols < leastWidth {
		cols = 0
	}
	return Screen{Width: cols, Color: getenv("NO_COLOR") == ""}
}

// Terminal is the terminal on which a writer's text ends, also of a writer that wraps another one and says so: it has
// a method Unwrap.
func Terminal(w io.Writer) (*os.File, bool) {
	for {
		outer, ok := w.(interface{ Unwrap() io.Writer })
		if !ok {
			break
		}
		w = outer.Unwrap()
	}
	f, ok := w.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// The colours are the terminal's own, which its user can read.
const (
	bold    = "\x1b[1m"
	red     = "\x1b[31m"
	green   = "\x1b[32m"
	noColor = "\x1b[m"
)

func (s Screen) ink(style, text string) string {
	if !s.Color || text == "" || style == "" {
		return text
	}
	return style + text + noColor
}

// Head is a heading, or the head of a table.
func (s Screen) Head(text string) string { return s.ink(bold, text) }

// Error is the word before what went wrong.
func (s Screen) Error(text string) string { return s.ink(bold+red, text) }

// Document is a document as it is printed, with the end of its last line.
func (s Screen) Document(d document.Document) string {
	styles := map[document.Emphasis]string{
		document.Head: bold, document.Title: bold, document.Good: green, document.Bad: red,
	}
	var b strings.Builder
	for _, l := range d.Lines() {
		var line strings.Builder
		for _, c := range l.Cells {
			line.WriteString(s.ink(styles[c.Emphasis], c.Text))
		}
		b.WriteString(s.wrapped(line.String(), l.Under) + "\n")
	}
	return b.String()
}

// Text is text whose lines fit. The rest of a line stands below the beginning of its last column.
func (s Screen) Text(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, ended := strings.CutSuffix(line, "\n")
		b.WriteString(s.wrapped(line, lastColumn(line)))
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

var gaps = regexp.MustCompile(` {2,}`)

// lastColumn is the cell in which the last column of a line begins.
func lastColumn(line string) int {
	plain := strings.TrimRight(ansi.Strip(line), " ")
	all := gaps.FindAllStringIndex(plain, -1)
	if len(all) == 0 {
		return 0
	}
	return ansi.StringWidth(plain[:all[len(all)-1][1]])
}

// wrapped breaks a line that is too long at its blanks and between wide characters. A word that is too long for a line,
// such as a path, stays whole: it can be copied.
func (s Screen) wrapped(line string, under int) string {
	if s.Width == 0 || ansi.StringWidth(line) <= s.Width {
		return line
	}
	if under > s.Width*3/5 {
		under = 4
	}
	var b strings.Builder
	at, fresh := 0, true // where the line ends, and whether it has a word yet
	for _, word := range words(line) {
		text := strings.TrimRight(word, " ")
		if !fresh && at+ansi.StringWidth(text) > s.Width {
			b.WriteString("\n" + strings.Repeat(" ", under))
			at, fresh = under, true
		}
		b.WriteString(word)
		at += ansi.StringWidth(word)
		fresh = fresh && text == ""
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// words are the pieces between which a line may be broken, with the blanks that follow.
func words(line string) []string {
	var out []string
	from, blank := 0, false
	for i, r := range line {
		wide := ansi.StringWidth(string(r)) > 1
		// No line begins with a mark that ends a sentence or a part of it.
		if i > from && (blank && r != ' ' || wide && !strings.ContainsRune("，。、；：？！）》”", r)) {
			out = append(out, line[from:i])
			from = i
		}
		blank = r == ' '
	}
	return append(out, line[from:])
}

// Help has all commands print their help as the terminal takes it: paragraphs in lines that fit, headings in bold.
func Help(root *cobra.Command, getenv func(string) string) {
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		long := cmd.Long
		if long == "" {
			long = cmd.Short
		}
		w := cmd.OutOrStdout()
		s := ScreenOf(w, getenv)
		if long != "" {
			fmt.Fprintln(w, s.Text(paragraphs(long))+"\n")
		}
		for line := range strings.Lines(cmd.UsageString()) {
			if strings.TrimSpace(line) != "" && line[0] != ' ' && line[0] != '"' {
				line = s.Head(strings.TrimSuffix(line, "\n")) + "\n"
			}
			if !strings.HasPrefix(line, "  "+cmd.Root().Name()+" ") { // a command line, to be copied
				line = s.Text(line)
			}
			fmt.Fprint(w, line)
		}
	})
}

// paragraphs joins the lines of each; what begins with a blank stays as it is.
func paragraphs(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n "), "\n")
	out := lines[:1]
	for _, l := range lines[1:] {
		last := out[len(out)-1]
		switch {
		case l == "" || last == "" || l[0] == ' ' || last[0] == ' ':
			out = append(out, l)
		case strings.HasSuffix(last, "。") || strings.HasSuffix(last, "，") || strings.HasSuffix(last, "、"):
			out[len(out)-1] += l
		default:
			out[len(out)-1] += " " + l
		}
	}
	return strings.Join(out, "\n")
}
