package report

import (
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// counting counts the nodes that a read-only verb has checked.
type counting struct {
	w io.Writer
	p *i18n.Printer

	mu            sync.Mutex
	total         int
	linked, ended map[string]bool
	checks        map[string]string          // nodes by the steps of preflight that are about one
	left          map[string]map[string]bool // steps of preflight that have not ended, by node
	over          bool
}

// NewCounting is a sink that counts, on a terminal, the nodes that a read-only verb has checked: a line that is written
// over as each one is, and gone when something else is said.
func NewCounting(w io.Writer, p *i18n.Printer) event.Sink {
	return &counting{w: w, p: p, linked: map[string]bool{}, ended: map[string]bool{}}
}

// Emit implements event.Sink.
func (c *counting) Emit(r event.Record) error {
	c.count(r.Event)
	return nil
}

func (c *counting) count(e event.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e := e.(type) {
	case event.PlanMade:
		c.planned(e)
	case event.HostState:
		if e.State != "connected" {
			return
		}
		c.linked[e.Host] = true
	case event.StepEnded:
		host := c.checks[e.Step]
		delete(c.left[host], e.Step)
		if host == "" || len(c.left[host]) > 0 {
			return
		}
		c.ended[host] = true
	default:
		return
	}
	if c.total == 0 || c.over {
		return
	}
	done := len(c.ended)
	fmt.Fprint(c.w, "\r\x1b[K"+c.p.T("wizard.preflight.busy", "done", strconv.Itoa(done), "total",
		strconv.Itoa(c.total), "linked", strconv.Itoa(max(done, len(c.linked)))))
	if done >= c.total {
		c.over = true
		fmt.Fprint(c.w, "\r\x1b[K")
	}
}

// planned learns which steps check a node.
func (c *counting) planned(e event.PlanMade) {
	c.total, c.checks, c.left = len(e.Hosts), map[string]string{}, map[string]map[string]bool{}
	for _, s := range e.Steps {
		if s.Phase != "preflight" || s.Host == "" {
			continue
		}
		c.checks[s.ID] = s.Host
		if c.left[s.Host] == nil {
			c.left[s.Host] = map[string]bool{}
		}
		c.left[s.Host][s.ID] = true
	}
}
