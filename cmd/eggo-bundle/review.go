package main

import (
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/addon"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// reviewed are the addons of a bundle that is read: what in them fails without a network, or with its Kubernetes, says
// nothing against the bundle's bytes, and is known before a node is touched.
type reviewed struct {
	env   *environment
	files []string
	by    map[string]*addon.Content
	bad   []*event.Fault
}

func (r *reviewed) see(m *bundle.Member, data []byte) {
	c, err := addon.Read(m.Path, data, addon.Hints()...)
	if err != nil {
		r.bad = append(r.bad, event.AsFault(err))
		return
	}
	r.files = append(r.files, m.Path)
	r.by[m.Path] = c
}

// tell warns of what was found.
func (r *reviewed) tell(file string, m *bundle.Manifest) error {
	var have []string
	for _, im := range m.Images {
		have = append(have, im.Name)
	}
	bad := r.bad
	var warnings []event.Msg
	for _, name := range r.files {
		found := r.by[name].Review(name, m.Kubernetes, have)
		for _, u := range found.Unserved {
			bad = append(bad, u.Fault(event.ClassBundle, name, m.Kubernetes))
		}
		warnings = append(warnings, found.Warnings...)
	}
	for _, f := range bad {
		text, next := r.env.P.Fault(f)
		if err := r.warn(file, text, next, f.Code); err != nil {
			return err
		}
	}
	for _, w := range warnings {
		if err := r.warn(file, r.env.P.Msg(w), "", ""); err != nil {
			return err
		}
	}
	return nil
}

func (r *reviewed) warn(file, text, next, code string) error {
	if r.env.json {
		o := fields{"file": file, "text": text, "message": text}
		if code != "" {
			o["code"], o["next"] = code, next
		}
		return r.env.emit("warning", o)
	}
	if code != "" {
		text += " [" + code + "]\n  → " + next
	}
	r.env.tell(event.Clean(file) + ": " + r.env.P.T("cli.warning") + ": " + text)
	return nil
}
