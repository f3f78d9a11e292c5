package draft

import "github.com/eggo-k8s/eggo/internal/config"

// undoMost is how many changes can be undone.
const undoMost = 200

// History has the changes of a draft, to be undone and done again.
type History struct {
	kept         config.Draft // as it was last
	past, future []config.Draft
}

// Keep takes a draft as it is now without a change: it is not undone.
func (h *History) Keep(now config.Draft) { h.kept = now.Clone() }

// Changed makes a change of the draft, if it is another than the last.
func (h *History) Changed(now config.Draft) {
	if now.Equal(h.kept) {
		return
	}
	h.past = append(h.past, h.kept)
	if len(h.past) > undoMost {
		h.past = h.past[1:]
	}
	h.kept, h.future = now.Clone(), nil
}

// Undo gives the draft before its last change; false: there is none.
func (h *History) Undo(now config.Draft) (config.Draft, bool) {
	h.Changed(now)
	return h.step(now, &h.past, &h.future)
}

// Redo gives the draft with the change that was undone last; false: there is none.
func (h *History) Redo(now config.Draft) (config.Draft, bool) { return h.step(now, &h.future, &h.past) }

func (h *History) step(now config.Draft, from, to *[]config.Draft) (config.Draft, bool) {
	if len(*from) == 0 {
		return now, false
	}
	*to = append(*to, now.Clone())
	last := len(*from) - 1
	now, *from = (*from)[last], (*from)[:last]
	h.Keep(now)
	return now, true
}

// Empty says whether nothing can be undone or done again.
func (h *History) Empty() bool { return len(h.past)+len(h.future) == 0 }
