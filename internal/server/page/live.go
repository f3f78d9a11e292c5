package page

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

const (
	// fast is how often a board changes at most, slow a list.
	fast = 250 * time.Millisecond
	slow = 2 * time.Second
	// beat is how often a stream says that it lives, and asks whether the reader may still see it.
	beat = 15 * time.Second
	// writeIn is how long one who reads a stream may take nothing.
	writeIn = 30 * time.Second
)

// parts of a page as they are now: their HTML by ID, in the order in which they are drawn.
type parts struct {
	list  []part
	order map[string][]string // the parts in a container, where they move
	now   int64               // the clock of the run in milliseconds, 0 where there is none
	seq   uint64
	over  bool // nothing changes any more
}

// part is an element of the page.
type part struct {
	ID string `json:"id"`
	In string `json:"in,omitempty"` // the container where it is put if it is new
	// HTML "" removes the part.
	HTML string `json:"html"`
}

// add draws a part.
func (p *Page) add(lang i18n.Lang, to *parts, id, container, name string, data any) error {
	html, err := p.piece(lang, name, data)
	to.list = append(to.list, part{id, container, html})
	return err
}

// message is what a stream sends: what has changed.
type message struct {
	Parts []part              `json:"parts,omitempty"`
	Order map[string][]string `json:"order,omitempty"`
	Now   int64               `json:"now,omitempty"`
	Speed float64             `json:"speed,omitempty"`
	Seq   uint64              `json:"seq,omitempty"`
	Over  bool                `json:"over,omitempty"`
}

// viewer is one who watches: what was sent is not sent again.
type viewer struct {
	sent  map[string]string
	order string
	speed float64
	beat  time.Duration // 0: as usual
	// may says whether the reader may see what is new, still whether there is anything to see; nil: drawing asks.
	may, still func() bool
}

// news is what is new to the viewer; false: nothing is.
func (w *viewer) news(now parts) (message, bool) {
	m := message{Now: now.now, Seq: now.seq, Over: now.over, Speed: w.speed}
	there := make(map[string]bool, len(now.list))
	for _, x := range now.list {
		there[x.ID] = true
		if old, was := w.sent[x.ID]; !was || old != x.HTML {
			w.sent[x.ID] = x.HTML
			m.Parts = append(m.Parts, x)
		}
	}
	for id := range w.sent {
		if !there[id] {
			delete(w.sent, id)
			m.Parts = append(m.Parts, part{ID: id})
		}
	}
	if order := fmt.Sprint(now.order); order != w.order {
		w.order, m.Order = order, now.order
	}
	return m, len(m.Parts) > 0 || m.Order != nil || m.Over
}

// stream sends what changes as server-sent events, until the reader leaves, may not see it any more, or it is over.
func (p *Page) stream(v *visit, every time.Duration, draw func() (parts, error)) error {
	return p.streamTo(v, &viewer{sent: map[string]string{}}, every, draw)
}

func (p *Page) streamTo(v *visit, w *viewer, every time.Duration, draw func() (parts, error)) error {
	first, err := draw() // what is wrong at the beginning is a problem
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/event-stream")
	v.w.Header().Set("X-Accel-Buffering", "no")
	v.w.WriteHeader(http.StatusOK)
	tick, alive := time.NewTicker(every), time.NewTicker(cmp.Or(w.beat, beat))
	defer tick.Stop()
	defer alive.Stop()
	for now := first; ; {
		if m, some := w.news(now); some {
			if w.may != nil && !w.may() {
				return errAnswered
			}
			if err := v.send(m); err != nil || m.Over {
				return errAnswered
			}
		}
		select {
		case <-v.r.Context().Done():
			return errAnswered
		case <-alive.C:
			if w.still != nil && !w.still() || v.write("event: beat\ndata: {}\n\n") != nil {
				return errAnswered
			}
		case <-tick.C:
			if now, err = draw(); err != nil {
				return errAnswered
			}
		}
	}
}

func (v *visit) send(m message) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return v.write(fmt.Sprintf("id: %d\ndata: %s\n\n", m.Seq, text))
}

// write sends a text. Each has its own time.
func (v *visit) write(text string) error {
	control := http.NewResponseController(v.w)
	_ = control.SetWriteDeadline(time.Now().Add(writeIn)) // a recorder in tests has none
	_, err := io.WriteString(v.w, text)
	return errors.Join(err, control.Flush(), context.Cause(v.r.Context()))
}
