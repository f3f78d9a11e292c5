package phases

import (
	"fmt"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
)

// judgeVersion compares the bundle's Kubernetes with the versions that this program writes configurations for, and the
// arguments that deploy.yaml has for components with the flags of that version.
func (r *run) judgeVersion(m *bundle.Manifest) []event.Finding {
	var out []event.Finding
	find := func(sev event.Severity, code string) {
		f := event.NewFault(event.ClassBundle, "bundle."+code, nil, "version", m.Kubernetes, "arch", m.Arch,
			"oldest", fmt.Sprintf("1.%d", config.OldestMinor), "newest", fmt.Sprintf("1.%d", config.NewestMinor))
		out = append(out, event.Finding{Severity: sev, Fault: *f})
	}
	switch k := minor(m); {
	case m.Kubernetes == "": // judged by what it lacks
	case k < config.OldestMinor:
		find(event.Error, "kubernetes-old")
	case k > config.NewestMinor:
		find(event.Warning, "kubernetes-new")
	}
	for _, p := range config.CheckFlags(r.Cluster, m.Kubernetes) {
		out = append(out, event.Finding{Severity: p.Severity, Fault: *p.Fault()})
	}
	return out
}
