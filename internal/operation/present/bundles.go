package present

import (
	"strings"

	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// bundleLine is a bundle and who signed it, as a line or in the status. The names of its fields do not change.
type bundleLine struct {
	Type        string `json:"type"` // bundle
	File        string `json:"file"`
	Name        string `json:"name"`
	Arch        string `json:"arch"`
	ID          string `json:"id"`
	Signature   string `json:"signature"` // signed, unsigned, unknown-signer, overridden
	Identity    string `json:"identity,omitempty"`
	KeyType     string `json:"key_type,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Code        string `json:"code,omitempty"` // of the fault that was overridden
}

// trustKeys begin the keys of what staging.Checked.Msg says.
const trustKeys = "trust."

// bundleOf reads what staging.Checked.Msg says.
func bundleOf(m event.Msg) bundleLine {
	a := m.Args
	return bundleLine{"bundle", a["file"], a["name"], a["arch"], a["id"], strings.TrimPrefix(m.Key, trustKeys),
		a["who"], a["type"], a["key"], a["code"]}
}

// Bundles shows bundles and who signed them.
func Bundles(p *i18n.Printer, list []event.Msg) document.Document {
	var s document.Section
	for _, m := range list {
		s.Lines = append(s.Lines, document.Cell{Text: p.Msg(m)})
	}
	return document.Document{s}
}

// BundleLines writes them.
func BundleLines(out *Lines, list []event.Msg) {
	for _, m := range list {
		out.Put(bundleOf(m))
	}
}
