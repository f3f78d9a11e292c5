package guide

import (
	"slices"
	"strconv"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// differences limits how many differences are named; the others are counted.
const differences = 2

// difference names what differs between two drafts by labels of fields and names of machines, for undo and redo.
func difference(p *i18n.Printer, before, after config.Draft) string {
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, pair := range [][2]config.Draft{{before, after}, {after, before}} {
		for _, m := range pair[0].Machines {
			i := slices.IndexFunc(pair[1].Machines, func(x config.Machine) bool { return x.IP == m.IP })
			if i < 0 || !sameMachine(pair[1].Machines[i], m) {
				add(event.Clean(m.Name))
			}
		}
	}
	for _, s := range config.Settings() {
		if before.Get(s.Key) != after.Get(s.Key) {
			add(Label(p, s.Key))
		}
	}
	others := (&Session{Draft: after}).extraFields()
	for i, x := range (&Session{Draft: before}).extraFields() {
		if x.Key != FileField && x.Value() != others[i].Value() { // the file is no part of a draft
			add(x.Label(p))
		}
	}
	if more := len(names) - differences; more > 0 {
		return p.T("wizard.undo.more", "what", p.List(names[:differences]), "count", strconv.Itoa(more))
	}
	return p.List(names)
}

func sameMachine(a, b config.Machine) bool {
	return a.Name == b.Name && a.Port == b.Port && a.Arch == b.Arch && slices.Equal(a.Roles, b.Roles)
}
