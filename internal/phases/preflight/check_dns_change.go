package preflight

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkDNSChange tells that CoreDNS is changed to another kind, which only a deploy of all nodes does: both kinds have
// to be there until every node is shown to get its answers from the new one.
func checkDNSChange() Check {
	return Check{
		Name: "dns-change", Codes: []string{"preflight.dns-change", "preflight.dns-moves"},
		Cluster: func(_ context.Context, in *Input) []event.Finding {
			switch is := in.FormerDNS(); {
			case is == "":
				return nil
			case in.MovesDNS && len(in.Limit) == 0 && !in.Undo:
				return []event.Finding{in.dnsFinding(event.Warning, "preflight.dns-moves", is)}
			default:
				return []event.Finding{in.dnsFinding(event.Error, "preflight.dns-change", is)}
			}
		},
	}
}

func (in *Input) dnsFinding(severity event.Severity, code, is string) event.Finding {
	return Finding(severity, "", code, "is", is, "want", in.Cluster.DNS.Type, "cluster", in.Cluster.Name)
}
