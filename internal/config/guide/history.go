package guide

import "github.com/eggo-k8s/eggo/internal/config"

// undoMost limits how many changes can be undone.
const undoMost = 200

// history holds the states of a draft for undo and redo.
type history struct {
	kept         config.Draft // as it was last
	past, future []config.Draft
}

// keep replaces the current state without a step of undo.
func (h *history) keep(now config.Draft) { h.kept = now.Clone() }

// changed adds a step of undo if the draft differs from the current state.
func (h *history) changed(now config.Draft) {
	if now.Equal(h.kept) {
		return
	}
	h.past = append(h.past, h.kept)
	if len(h.past) > undoMost {
		h.past = h.past[1:]
	}
	h.kept, h.future = now.Clone(), nil
}

// undo returns the draft before its last change; false: there is none.
func (h *history) undo(now config.Draft) (config.Draft, bool) {
	h.changed(now)
	return h.step(now, &h.past, &h.future)
}

// redo returns the draft with the change that was undone last; false: there is none.
func (h *history) redo(now config.Draft) (config.Draft, bool) { return h.step(now, &h.future, &h.past) }

func (h *history) step(now config.Draft, from, to *[]config.Draft) (config.Draft, bool) {
	if len(*from) == 0 {
		return now, false
	}
	*to = append(*to, now.Clone())
	last := len(*from) - 1
	now, *from = (*from)[last], (*from)[:last]
	h.keep(now)
	return now, true
}
