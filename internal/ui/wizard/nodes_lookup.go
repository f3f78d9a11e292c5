package wizard

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/config/machines"
)

// lookup is a text of machines whose host names are being looked up.
type lookup struct {
	n     int // tells answers apart
	names []string
	then  func(machines.List) tea.Cmd
	stop  context.CancelFunc
}

// resolvedMsg is the answer to a lookup.
type resolvedMsg struct {
	n    int
	list machines.List
}

// read takes a text of machines: at once, or when the addresses of its host names are known. A text that is read
// later takes the place of one that is waited for.
func (n *nodes) read(text string, then func(machines.List) tea.Cmd) tea.Cmd {
	l := n.p.g.ReadMachines(text)
	n.cancel()
	names := l.Names()
	if len(names) == 0 {
		return then(l)
	}
	ctx, stop := context.WithCancel(n.p.ctx)
	n.lookup.names, n.lookup.then, n.lookup.stop = names, then, stop
	id, find := n.lookup.n, n.p.svc.Lookup
	return func() tea.Msg {
		defer stop()
		return resolvedMsg{id, l.Resolve(ctx, find)}
	}
}

// cancel ends a lookup; its answer counts for nothing.
func (n *nodes) cancel() {
	if n.lookup.stop != nil {
		n.lookup.stop()
	}
	n.lookup = lookup{n: n.lookup.n + 1}
}

// resolved continues where the addresses were missing.
func (n *nodes) resolved(l machines.List) tea.Cmd {
	then := n.lookup.then
	n.cancel()
	return then(l)
}

// joined is a text behind what stands there already.
func joined(have, text string) string {
	if have = strings.TrimRight(have, "\n"); have != "" && text != "" {
		return have + "\n" + text
	}
	return have + text
}
