package present

import (
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// A plan says what an operator has to know before it begins: that the API is away meanwhile.
func TestAPlanSaysWhatIsToBeKnownBefore(t *testing.T) {
	t.Parallel()
	would := &operation.PlanResult{Cluster: "c", Steps: 1,
		Notices: []event.Msg{event.M("notice.upgrade-gap", "node", "m1")},
		Nodes: []request.PlannedNode{{Node: "m1", Changes: []request.PlannedChange{
			{Desc: event.M("change.start", "unit", "kubelet.service"), Exact: true}}}}}
	got := Plan(i18n.NewPrinter(i18n.English), "upgrade", would).Text()
	if !strings.Contains(got, "m1 has the only API server") {
		t.Error(got)
	}
	var lines strings.Builder
	PlanLines(i18n.NewPrinter(i18n.English), NewLines(&lines, "v1"), "upgrade", would)
	want := `{"type":"notice","text":{"key":"notice.upgrade-gap","args":{"node":"m1"}},"message":"m1 has the only API`
	if !strings.Contains(lines.String(), want) {
		t.Error(lines.String())
	}
}
