package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// A dialog that opens by itself takes no key that was typed before it was on the screen: its letters are answers.
// The terminal says when that is: it is asked something once the dialog is drawn, and what it says comes behind all
// that was typed before. Keys that come earlier are held, and go to the page below, for which they were meant.
// Somebody who was typing has not seen the dialog yet, so the terminal is asked again after a pause.
//
// A dialog that a key has opened takes the next one at once. So does every dialog where nothing has ever answered: of a
// terminal that is a script's pipe, nothing can be known. One that has answered is slow, and is waited for. It is asked
// when the program begins, and all that it is asked is counted: the answer to an earlier question says nothing.

// open is a dialog and the page that asked, nil if it was the program.
type open struct {
	frame.Dialog
	from   frame.Page
	unseen *unseen // nil: it is on the screen
}

// unseen is what is typed until a dialog is on the screen. Each time that the terminal is asked has its own.
type unseen struct {
	asked int // the number of the first question to the terminal; 0: none yet
	tries int // how often it was asked
	held  []tea.Msg
}

type (
	drawnMsg struct{ of *unseen } // the dialog was written to the terminal
	muteMsg  struct{ of *unseen } // the terminal has not answered in time
)

const (
	drawTime   = 50 * time.Millisecond  // a few frames
	pauseTime  = 300 * time.Millisecond // between two keys of somebody who types
	answerTime = time.Second
	quickTime  = 200 * time.Millisecond // what comes later is no longer what a key has opened
)

// first is the dialog that is shown, nil if there is none.
func (a *App) first() *open {
	if len(a.dialogs) == 0 {
		return nil
	}
	return a.dialogs[0]
}

// show opens a dialog; key is the number of the key that it comes of, 0 if none.
func (a *App) show(d frame.Dialog, from frame.Page, key int) tea.Cmd {
	a.help = false
	a.dialogs = append(a.dialogs, &open{Dialog: d, from: from})
	if len(a.dialogs) > 1 || key != 0 && key == a.keys {
		return nil
	}
	return a.unsure(drawTime)
}

// unsure has the dialog that is shown wait until it is on the screen.
func (a *App) unsure(wait time.Duration) tea.Cmd {
	d := a.first()
	if d == nil || !a.terminal {
		return nil
	}
	u := &unseen{}
	d.unseen = u
	return tea.Tick(wait, func(time.Time) tea.Msg { return drawnMsg{u} })
}

// ask asks the terminal what every terminal answers.
func (a *App) ask() tea.Cmd {
	a.asked++
	return tea.Raw(ansi.RequestPrimaryDeviceAttributes)
}

// drawn asks the terminal.
func (a *App) drawn(u *unseen) tea.Cmd {
	if d := a.first(); d == nil || d.unseen != u {
		return nil
	}
	c := a.ask()
	u.tries++
	if u.asked == 0 {
		u.asked = a.asked
	}
	return tea.Batch(c, tea.Tick(answerTime, func(time.Time) tea.Msg { return muteMsg{u} }))
}

// answered takes the terminal's answer: what is held was typed before the dialog was on the screen.
func (a *App) answered() tea.Cmd {
	a.terminal = true // it may have been thought to be none
	a.answers = min(a.answers+1, a.asked)
	d := a.first()
	if d == nil || d.unseen == nil || d.unseen.asked == 0 || a.answers < d.unseen.asked {
		return nil
	}
	held := d.unseen.held
	d.unseen = nil
	if len(held) == 0 {
		return nil
	}
	cmds := []tea.Cmd{a.unsure(pauseTime)}
	for _, m := range held {
		switch m := m.(type) {
		case tea.KeyPressMsg:
			cmds = append(cmds, a.pageKey(m))
		case tea.PasteMsg:
			cmds = append(cmds, a.pagePaste(m.Content))
		}
	}
	return tea.Batch(cmds...)
}

// mute is called when the terminal has not answered in time. If it has before, it is slow, or something else has read
// its answer, and it is asked again; if it never has, it will not do so the next time either.
func (a *App) mute(u *unseen) tea.Cmd {
	d := a.first()
	if d == nil || d.unseen != u {
		return nil
	}
	if a.answers > 0 {
		return a.drawn(u)
	}
	d.unseen, a.terminal = nil, false
	var cmds []tea.Cmd
	for _, m := range u.held {
		_, c := a.Update(m)
		cmds = append(cmds, c)
	}
	return tea.Batch(cmds...)
}

// stuck is how often a terminal that has answered before is asked until Ctrl-C no longer waits for it.
const stuck = 3

// holds says whether the dialog that is shown is not on the screen yet, and then keeps what was typed. Ctrl-C, which
// answers no question with yes, gets through to it when the terminal no longer says anything.
func (a *App) holds(m tea.Msg) bool {
	d := a.first()
	if d == nil || d.unseen == nil {
		return false
	}
	if k, ok := m.(tea.KeyPressMsg); ok && k.String() == "ctrl+c" && d.unseen.tries >= stuck {
		d.unseen = nil
		return false
	}
	d.unseen.held = append(d.unseen.held, m)
	return true
}
