// Package frame is the contract between the screens and the program that shows them: pages on a stack, what they get,
// what they may ask for, keys as data, and dialogs over a page. The program (ui.App) is the only tea.Model; a page is a
// struct with methods.
//
// A page does nothing slow in its methods: what takes time it hands back as a command, and what a command says comes
// back to the page that gave it, on top of the stack or not, until it has left the stack.
package frame

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
)

// The smallest screen that pages are drawn on; below it the program says so, and nothing else happens to them.
const (
	MinWidth  = 60
	MinHeight = 16
)

// Env is what every call gets: words, looks and the clock. Language and colours may be others at the next call, so
// nothing made of them is kept.
type Env struct {
	P     *i18n.Printer
	Theme *theme.Theme
	Now   func() time.Time
	// Complete goes on with a path as far as the files agree that are there, and names those that begin so. It reads a
	// directory: it is called in commands. nil: nothing is completed.
	Complete func(text string) (string, []string)
	// Moves says whether anything may move on the screen by itself: nobody has forbidden it, and the terminal keeps up.
	// nil: nothing may.
	Moves func() bool
}

// Page is a screen. Its dynamic type is a pointer: pages are told apart by identity.
type Page interface {
	// Init is called once, when the page comes onto the stack.
	Init(e *Env) tea.Cmd
	// Update gets what the page's own commands said, and nothing that was typed.
	Update(msg tea.Msg, e *Env) tea.Cmd
	// Type lets a field that is being typed into take a key before Keys is looked at; false: it is none of the field's.
	Type(m tea.KeyPressMsg, e *Env) (tea.Cmd, bool)
	// Keys are the keys that do something now: what handles them, what the footer shows and what the help lists. Those
	// that every page has (help, language, back, leave) are not among them; one that is given here goes before.
	Keys(e *Env) []Binding
	// Render draws the page in w×h cells: what is more is cut off. The cursor, of the page's own cells, is nil where
	// nothing is typed.
	Render(e *Env, w, h int) ([]string, *tea.Cursor)
	// Title of the page in the head, short.
	Title(e *Env) string
}

// What a page may be besides.
type (
	// Asider has something to say at the right end of the head (or, if it is Bare, of the footer).
	Asider interface{ Aside(e *Env) string }
	// Bare pages draw the whole screen but for the footer, the head too.
	Bare interface{ Bare() bool }
	// Leaver is asked when the program is to be left while the page is on the stack. ask says that the page's command
	// asks the person first, and sends Quit if it is to be.
	Leaver interface {
		Leaving(e *Env) (c tea.Cmd, ask bool)
	}
	// Backer is asked when the person goes back from the page by Esc; false: the page has done something else of it.
	Backer interface {
		Back(e *Env) (c tea.Cmd, leave bool)
	}
	// Typer says whether letters are typed into the page now, so that they are no keys.
	Typer interface{ Typing() bool }
	// Helper says whether ? is a key all the same: no value that is typed now can have it.
	Helper interface{ Helps() bool }
	// Paster takes what is pasted, its lines with LF between them.
	Paster interface {
		Paste(text string, e *Env) tea.Cmd
	}
	// Clicker takes a click into the page, at a cell of its own.
	Clicker interface {
		Click(x, y int, e *Env) tea.Cmd
	}
	// Wheeler is moved by the mouse wheel: lines down, or up when negative.
	Wheeler interface {
		Wheel(lines int, e *Env) tea.Cmd
	}
	// Smaller has a line to say when the screen is too small for more.
	Smaller interface{ Small(e *Env) string }
	// Closer has something to give back when it leaves the stack. Close is called once, in a command.
	Closer interface{ Close() }
	// Farewell has lines of at most w cells that are to stay in the terminal when the program has ended.
	Farewell interface {
		Farewell(e *Env, w int) []string
	}
	// Explainer has more to say than its keys, in lines of at most w cells: the help shows it below them.
	Explainer interface {
		Explain(e *Env, w int) []string
	}
	// Speaker holds text of another program's, and asks for it again when the language has changed.
	Speaker interface{ Spoken(e *Env) tea.Cmd }
	// Gauge shows how far a long thing is in the terminal's own progress indicator.
	Gauge interface{ Gauge(e *Env) *tea.ProgressBar }
)

// Messages that a page's command sends to the program. Pop and Replace are about the page that sent them, wherever on
// the stack it is.
type (
	// Push puts a page on top.
	Push struct{ Page Page }
	// Pop takes the page, and all above it, off the stack. The last page leaves the program with it.
	Pop struct{}
	// Replace puts another page in the page's place; those above it go.
	Replace struct{ Page Page }
	// Settle puts another page in the place of all pages but the first: what led there is done, and nobody wants to
	// come back to it.
	Settle struct{ Page Page }
	// Home goes back to the first page.
	Home struct{}
	// Note shows a word in the footer until the next key.
	Note struct{ Text string }
	// Back is sent to a page when it is on top again, because the one above it was left.
	Back struct{}
	// Quit leaves the program without asking. Last is left in the terminal, if there is any.
	Quit struct {
		Err  error
		Last event.Msg
	}
)

// Send makes a command of a message.
func Send(m tea.Msg) tea.Cmd { return func() tea.Msg { return m } }
