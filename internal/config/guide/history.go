package guide

import "github.com/eggo-k8s/eggo/internal/config"

// undoMost is how many changes can be undone.
const undoMost = 200

// history has the changes of a draft, to be undone and done again.
type history struct {
	kept         config.Draft // as it was last
	past, future []config.Draft
}

// keep takes a draft as it is now without a change: it is not undone.
func (h *history) keep(now config.Draft) { h.kept = now.Clone() }

// changed makes a change of the draft, if it is another than the last.
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

// undo gives the draft before its last change; false: there is none.
func (h *history) undo(now config.Draft) (config.Draft, bool) {
	h.changed(now)
	return h.step(now, &h.past, &h.future)
}

// redo gives the draft with the change that was undone last; false: there is none.
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
