package wizard

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// probe begins to look at the machines that were not looked at with this login, or, again, at those that are chosen.
func (p *Page) probe(_ *frame.Env, again bool) tea.Cmd {
	list, login := p.g.Unprobed(again)
	if login || p.probes == nil {
		if p.probes != nil {
			p.probes()
		}
		p.probeCtx, p.probes = context.WithCancel(p.ctx) //nolint:govet // until the login changes
	}
	ctx := p.probeCtx
	var cmds []tea.Cmd
	d := p.g.Draft.Clone()
	for _, m := range list {
		cmds = append(cmds, tells(ctx, func(tell func(tea.Msg)) {
			p.svc.Probe(ctx, d, m, func(l draft.Probe) { tell(l) })
		}))
	}
	return tea.Batch(cmds...)
}

// askKeys shows the fingerprints, that of a bastion once for all machines behind it. Nothing is trusted that was not
// shown; what is not trusted is asked about again.
func (n *nodes) askKeys(list []*draft.Probe) tea.Cmd {
	var all []ask.HostKey
	for _, l := range list {
		n.shownKeys[l.Key.Fingerprint] = true
		all = append(all, backend.KeyOf(l))
	}
	keys, of := ask.GroupKeys(all)
	answer := func(do func(i int)) tea.Cmd {
		return func() tea.Msg {
			for i := range list {
				do(i)
			}
			return nil
		}
	}
	return frame.Send(frame.AskKeys{
		Title: event.M("wizard.keys.title", "count", itoa(len(keys))), About: event.M("ask.keys"),
		Done: "wizard.keys.go", Leave: "wizard.keys.later", Keys: keys, Known: n.p.svc.Known,
		Do: func(trusted []bool) tea.Cmd {
			for i, l := range list {
				if trusted[of[i]] && l.Key.Serves > 0 {
					n.follow(l.Machine)
				}
			}
			n.followOthers()
			return answer(func(i int) {
				if trusted[of[i]] {
					list[i].Key.Answer(true)
				}
			})
		},
		Refuse: func() tea.Cmd { return answer(func(i int) { list[i].Key.Answer(false) }) },
	})
}

// follow has the key of a machine shown as soon as it is known: what led there was accepted just now. A key press ends
// that: what is typed must not answer a question that appears under the fingers.
func (n *nodes) follow(m config.Machine) {
	n.followed[draft.MachineKey(m)] = true
	n.p.g.SetProbe(draft.Probe{Machine: m, Stage: draft.LogIn})
}

// followOthers has the keys of the machines that are still looked at shown along with those that are followed: one
// machine has asked about the bastion for all that it serves.
func (n *nodes) followOthers() {
	if len(n.followed) == 0 {
		return
	}
	for _, m := range n.p.g.Connecting() {
		n.followed[draft.MachineKey(m)] = true
	}
}

// followUp shows the keys of the machines behind a bastion when all of them are known, or cannot be.
func (n *nodes) followUp() tea.Cmd {
	if len(n.followed) == 0 {
		return nil
	}
	for _, m := range n.p.g.Connecting() {
		if n.followed[draft.MachineKey(m)] {
			return nil
		}
	}
	clear(n.followed)
	if asks := n.p.g.Asking(); len(asks) > 0 {
		return n.askKeys(asks)
	}
	return nil
}
