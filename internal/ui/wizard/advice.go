package wizard

import (
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// Each step returns its advice and the width that it needs to have the advice at its right.

// advice implements adviser.
func (f *form) advice(e *frame.Env) ([]guide.Topic, int) { return f.p.g.Advice(e.P, f.name), formWide }

// advice implements adviser: what the machine is, what roles do, and how many failures the choice survives.
func (n *nodes) advice(e *frame.Env) ([]guide.Topic, int) {
	list := n.p.g.Advice(e.P, guide.MachinesStep)
	if i := n.now(); i >= 0 {
		if x, known := n.p.g.MachineTopic(e.P, i); known {
			list = append([]guide.Topic{x}, list...)
		}
	}
	return list, tableWide
}

// advice implements adviser: what the bundle at the cursor contains.
func (b *bundles) advice(e *frame.Env) ([]guide.Topic, int) {
	x, _ := b.now()
	if topic, known := guide.BundleTopic(e.P, x); known {
		return []guide.Topic{topic}, formWide
	}
	return nil, 0
}

// advice implements adviser: what the setting under the cursor is.
func (x *extra) advice(e *frame.Env) ([]guide.Topic, int) {
	list := x.shown(e)
	if len(list) == 0 {
		return nil, 0
	}
	return []guide.Topic{x.p.g.KeyTopic(e.P, list[x.at])}, tableWide
}

// advice implements adviser: what is checked, and what the machines are.
func (f *preflight) advice(e *frame.Env) ([]guide.Topic, int) {
	return f.p.g.Advice(e.P, guide.PreflightStep), formWide
}
