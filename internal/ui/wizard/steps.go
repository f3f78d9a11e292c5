package wizard

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// newCluster is the name of the cluster, and where its deploy.yaml goes.
func newCluster(p *Page) step {
	f := newForm(p, guide.ClusterStep)
	f.more = func(*frame.Env) []frame.Binding {
		return []frame.Binding{{Keys: []string{"ctrl+o"}, Show: "Ctrl+O", Word: "wizard.key.import",
			Do: p.askImport, Now: true}}
	}
	return f
}

// askImport asks for a file with machines, or a deploy.yaml to begin with.
func (p *Page) askImport() tea.Cmd {
	return frame.Send(frame.Prompt{
		Title: event.M("wizard.import.title"), Lines: []event.Msg{event.M("wizard.import.about")},
		Label: event.M("wizard.import.label"), Path: true, Word: "wizard.key.read",
		Do: func(path string) tea.Cmd {
			return func() tea.Msg {
				data, err := p.svc.Read(strings.TrimSpace(path))
				return importedMsg{path, data, err}
			}
		},
	})
}

type importedMsg struct {
	path string
	data []byte
	err  error
}

// imported takes what was read; it can be undone.
func (p *Page) imported(m importedMsg, e *frame.Env) tea.Cmd {
	switch {
	case m.err != nil:
		return p.say(e, m.err)
	case m.data == nil:
		return p.say(e, event.NewFault(event.ClassUsage, "config.no-file", nil, "file", m.path))
	}
	for _, s := range p.steps {
		n, is := s.(*nodes)
		if !is {
			continue
		}
		n.cancel()
		if _, list := draft.ListIn(m.data); list {
			return n.takeText(string(m.data), e)
		}
	}
	if bad, ok := p.g.Import(m.data, m.path); !ok {
		text, _ := words(e, bad)
		return frame.Send(frame.Note{Text: text})
	}
	return tea.Batch(p.changed(), p.steps[p.g.At].enter(e),
		frame.Send(frame.Note{Text: e.P.T("wizard.imported", "count", itoa(len(p.g.Draft.Machines)), "file", m.path)}))
}

// lookAtKey looks at the file of the private key, once as long as it is the same.
func (p *Page) lookAtKey() tea.Cmd {
	file, check := p.g.KeyToCheck()
	if !check || file == "" {
		return nil
	}
	return func() tea.Msg { return keyFileMsg{file, p.svc.KeyFile(file)} }
}
