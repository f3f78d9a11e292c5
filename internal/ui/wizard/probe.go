package wizard

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// probe begins to look at the machines that were not looked at with this login, or, again, at those that are chosen.
func (p *Page) probe(_ *frame.Env, again bool) tea.Cmd {
	if p.svc.Probe == nil {
		return nil
	}
	if login := draft.LoginText(p.g.Draft); login != p.login {
		if p.probes != nil {
			p.probes()
		}
		p.login, p.probed, p.probes = login, map[string]*draft.Probe{}, nil
	}
	if again {
		for k, l := range p.probed {
			if l.Stage == draft.Failed || l.Stage == draft.Seen {
				delete(p.probed, k)
			}
		}
	}
	var ctx context.Context
	if p.probes == nil {
		ctx, p.probes = context.WithCancel(p.ctx) //nolint:govet // ended with the page, or when the login changes
		p.probeCtx = ctx
	}
	ctx = p.probeCtx
	var cmds []tea.Cmd
	d := p.g.Draft.Clone()
	for _, m := range d.Machines {
		key := draft.MachineKey(m)
		if _, wrong := config.CheckMachine("ip", m.IP); wrong || p.probed[key] != nil || m.IP == "" ||
			p.g.Members[draft.MachineKey(m)] {
			continue
		}
		p.probed[key] = &draft.Probe{Machine: m, Stage: draft.Reaching}
		cmds = append(cmds, tells(ctx, func(tell func(tea.Msg)) {
			p.svc.Probe(ctx, d, m, func(l draft.Probe) { tell(l) })
		}))
	}
	return tea.Batch(cmds...)
}

// looked takes what is known of a machine. An architecture that was not said is the one that it has.
func (p *Page) looked(l draft.Probe) {
	key := draft.MachineKey(l.Machine)
	if p.probed[key] == nil {
		return // of a login that is no longer
	}
	p.probed[key] = &l
	if l.Stage != draft.Seen {
		return
	}
	for i := range p.g.Draft.Machines {
		if m := &p.g.Draft.Machines[i]; draft.MachineKey(*m) == key && m.Arch == "" && l.Arch == "arm64" {
			p.snapshot()
			m.Arch = "arm64"
			p.g.History.Keep(p.g.Draft) // undo does not take back what a machine is
		}
	}
}

// asking are the machines whose host key nobody has seen.
func (n *nodes) asking() []*draft.Probe {
	var out []*draft.Probe
	for _, m := range n.p.g.Draft.Machines {
		if l := n.p.probed[draft.MachineKey(m)]; l != nil && l.Stage == draft.Asking && l.Key != nil {
			out = append(out, l)
		}
	}
	return out
}

// askKeys shows the fingerprints, that of a bastion once for all machines behind it. Nothing is trusted that was not
// shown; what is not trusted is asked about again.
func (n *nodes) askKeys(list []*draft.Probe) tea.Cmd {
	var all []backend.HostKey
	for _, l := range list {
		n.shownKeys[l.Key.Fingerprint] = true
		all = append(all, backend.KeyOf(l))
	}
	keys, of := backend.GroupKeys(all)
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
		Done: "wizard.keys.go", Leave: "wizard.keys.later", Keys: keys, Known: n.p.svc.KnownHosts,
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
	key := draft.MachineKey(m)
	n.followed[key] = true
	n.p.probed[key] = &draft.Probe{Machine: m, Stage: draft.LogIn}
}

// followOthers has the keys of the machines that are still looked at shown along with those that are followed: one
// machine has asked about the bastion for all that it serves.
func (n *nodes) followOthers() {
	if len(n.followed) == 0 {
		return
	}
	for key, l := range n.p.probed {
		if l.Stage == draft.Reaching || l.Stage == draft.LogIn {
			n.followed[key] = true
		}
	}
}

// followUp shows the keys of the machines behind a bastion when all of them are known, or cannot be.
func (n *nodes) followUp() tea.Cmd {
	if len(n.followed) == 0 {
		return nil
	}
	for key := range n.followed {
		switch l := n.p.probed[key]; {
		case l == nil:
			delete(n.followed, key)
		case l.Stage == draft.Reaching || l.Stage == draft.LogIn:
			return nil
		}
	}
	clear(n.followed)
	if asks := n.asking(); len(asks) > 0 {
		return n.askKeys(asks)
	}
	return nil
}
