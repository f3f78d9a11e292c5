package present

import (
	"strconv"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Handover says where a cluster is after a hand-over, or after it has come back.
func Handover(p *i18n.Printer, r *operation.HandoverResult, back bool) document.Document {
	key, next := "handover.done", "handover.done.next"
	if back {
		key, next = "handover.back", "handover.back.next"
	}
	kv := []string{"cluster", event.Clean(r.Cluster), "place", event.Clean(r.Place), "dir", r.Dir, "fence",
		strconv.FormatUint(r.Fence, 10)}
	return document.Document{document.Text(p.T(key, kv...), p.T(next, kv...))}
}

// handoverLine is the result of a hand-over.
type handoverLine struct {
	Type    string `json:"type"` // handover
	Cluster string `json:"cluster"`
	Back    bool   `json:"back,omitempty"`
	Place   string `json:"place"` // the meta cluster
	Dir     string `json:"dir"`   // on this host
	Fence   uint64 `json:"fence"`
	Already bool   `json:"already,omitempty"` // nothing was left to do
}

// HandoverLine writes the result of a hand-over.
func HandoverLine(out *Lines, r *operation.HandoverResult, back bool) {
	out.Put(handoverLine{"handover", r.Cluster, back, r.Place, r.Dir, r.Fence, r.Already})
}
