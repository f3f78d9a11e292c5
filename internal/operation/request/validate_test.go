package request

import (
	"net/netip"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// A request about no node at all is refused before anything is looked for.
func TestRequestsThatNameNobody(t *testing.T) {
	for want, q := range map[string]Request{
		"join.nobody":   Join{},
		"delete.nobody": Delete{Drain: DrainTimeout},
	} {
		f := event.AsFault(q.Validate())
		if f == nil || f.Code != want || f.Class != event.ClassUsage {
			t.Errorf("%T: %v", q, f)
		}
	}
	for _, q := range []Request{
		Join{Nodes: []config.Node{{IP: netip.MustParseAddr("192.0.2.1")}}},
		Delete{Names: []string{"w1"}, Drain: DrainTimeout}, Cleanup{}, Deploy{},
	} {
		if err := q.Validate(); err != nil {
			t.Errorf("%T: %v", q, err)
		}
	}
}
