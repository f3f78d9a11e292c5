package wizard

import (
	"net"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// newCluster is the name of the cluster, and where its deploy.yaml goes.
func newCluster(p *Page) step {
	file := &item{key: "file", kind: config.Path, get: func() string { return p.file },
		set: func(v string) { p.file = v }}
	file.def = func() string { return p.target() }
	f := &form{p: p, name: "cluster", items: append(p.settings("cluster"), file)}
	if p.svc.Read != nil {
		f.more = func(*frame.Env) []frame.Binding {
			return []frame.Binding{{Keys: []string{"ctrl+o"}, Show: "Ctrl+O", Word: "wizard.key.import",
				Do: p.askImport, Now: true}}
		}
	}
	return f
}

// target is where the deploy.yaml goes.
func (p *Page) target() string {
	switch {
	case p.file != "":
		return p.file
	case p.svc.File != nil:
		return p.svc.File(p.draft.Get("cluster-id"))
	}
	return "deploy.yaml"
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
	d, problems := config.ReadDraft(m.data, m.path)
	if d.Blank() {
		if problems.HasErrors() {
			text, _ := words(e, problems[0])
			return frame.Send(frame.Note{Text: text})
		}
	}
	p.snapshot()
	p.draft = d
	p.snapshot()
	return tea.Batch(p.changed(), p.steps[p.at].enter(e),
		frame.Send(frame.Note{Text: e.P.T("wizard.imported", "count", itoa(len(d.Machines)), "file", m.path)}))
}

const keyPath = "private-key-path"

// lookAtKey looks at the file of the private key, once as long as it is the same.
func (p *Page) lookAtKey() tea.Cmd {
	file, look := p.draft.Value(keyPath), p.svc.KeyFile
	if look == nil || file == p.keyOf {
		return nil
	}
	if file == "" {
		p.keyOf, p.keyBad = "", nil
		return nil
	}
	return func() tea.Msg { return keyFileMsg{file, look(file)} }
}

// newLogin is how the machines are reached.
func newLogin(p *Page) step {
	items := p.settings("login")
	itemOf(items, keyPath).def = func() string {
		if p.draft.Value("password") == "" && len(p.ownKeys) > 0 {
			return p.ownKeys[0]
		}
		return ""
	}
	keep := &item{key: "keep-secrets", kind: config.YesNo, choices: []string{"false", "true"}}
	keep.get = func() string {
		if p.draft.KeepSecrets {
			return "true"
		}
		return "false"
	}
	keep.set = func(v string) { p.draft.KeepSecrets = v == "true" }
	keep.hidden = func() bool { return p.draft.Value("password") == "" && p.draft.Value("eggo.sudo-password") == "" }
	return &form{p: p, name: "login", items: putBefore(items, "eggo.bastion", keep)}
}

// newNetworks are addresses and names.
func newNetworks(p *Page) step {
	items := p.settings("networks")
	itemOf(items, "apiserver-endpoint").def = p.endpoint
	itemOf(items, "service.dnsaddr").def = func() string {
		if p.cluster != nil {
			return p.cluster.DNSAddr.String()
		}
		return ""
	}
	port := &item{key: "bind-port", kind: config.Number, get: func() string { return p.draft.BindPort },
		set: func(v string) { p.draft.BindPort = v }}
	port.def, port.field.Narrow = func() string { return "8443" }, true
	port.hidden = func() bool { return len(p.draft.With(bundle.LoadBalancer)) == 0 }
	return &form{p: p, name: "networks", items: putBefore(items, "apiserver-cert-sans.dnsnames", port)}
}

// endpoint is where the API is reached when nothing else is said.
func (p *Page) endpoint() string {
	if p.cluster != nil && p.draft.Value("apiserver-endpoint") == "" {
		return p.cluster.Endpoint
	}
	if lb := p.draft.With(bundle.LoadBalancer); len(lb) > 0 {
		port := p.draft.BindPort
		if port == "" {
			port = "8443"
		}
		return net.JoinHostPort(p.draft.Machines[lb[0]].IP, port)
	}
	if m := p.draft.With(bundle.ControlPlane); len(m) > 0 {
		return net.JoinHostPort(p.draft.Machines[m[0]].IP, "6443")
	}
	return ""
}

// newRuntime is what runs on the machines.
func newRuntime(p *Page) step {
	return &form{p: p, name: "runtime", items: p.settings("runtime")}
}
