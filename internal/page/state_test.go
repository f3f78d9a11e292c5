package page

import (
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/i18n"
	"github.com/eggo-k8s/eggo/internal/manager/state"
	"github.com/eggo-k8s/eggo/internal/server"
)

// Cancel and continue are offered where the API accepts them, and nowhere else: also of what the server did not begin,
// and of the connecting, which is no operation.
func TestWhereCancelAndContinueAreOffered(t *testing.T) {
	p := pageOf(t, nil)
	cancels := []state.State{state.Creating, state.Updating, state.Connecting, state.Destroy}
	readers := []overview{{}, {Operate: true}, {Operate: true, Admin: true}}
	for _, s := range state.States() {
		for _, kind := range []string{"", "update", "snapshot"} {
			for _, continues := range []string{"", "create", "delete", "restore"} {
				for _, o := range readers {
					c := server.Cluster{Facts: server.Facts{Name: "rack", State: string(s), Continue: continues}}
					if kind != "" {
						c.Operation = &server.Operation{Kind: kind}
					}
					o.row = rowOf(c)
					html, err := p.piece(i18n.English, "cluster-state", o)
					if err != nil {
						t.Fatal(err)
					}
					cancel := o.Operate && (kind == "snapshot" || slices.Contains(cancels, s))
					more := s == state.Unavailable && kind == "" && (o.Admin || o.Operate &&
						continues != "delete" && continues != "restore")
					if a, b := strings.Contains(html, "/cancel"), strings.Contains(html, "/continue"); a != cancel ||
						b != more {
						t.Errorf("%s with %q to be continued and %q going on, operator %t, admin %t: cancel %t, "+
							"continue %t", s, continues, kind, o.Operate, o.Admin, a, b)
					}
				}
			}
		}
	}
}
