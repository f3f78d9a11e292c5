package page

import (
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/server"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
)

// states returns all states of a cluster.
func states() []state.State {
	var out []state.State
	for _, x := range state.Seed() {
		out = append(append(out, x.From...), x.To)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// The nodes and the login of a cluster that never ran can be changed, whether its creation failed or a change of its
// nodes after that.
func TestACreationCanBeChanged(t *testing.T) {
	for _, installed := range []bool{false, true} {
		for continues, want := range map[string]bool{"create": true, "update": !installed, "delete": false, "": false} {
			for _, s := range states() {
				r := rowOf(server.Cluster{Facts: server.Facts{State: string(s), Continue: continues,
					Installed: installed}})
				if got := r.Fresh(); got != (want && s == state.Unavailable) {
					t.Errorf("%s, %q would be continued, installed %t: %t", s, continues, installed, got)
				}
			}
		}
	}
}

// A cluster that the server cannot connect to is among those that need attention, and says why.
func TestWhyAClusterIsConnecting(t *testing.T) {
	c := server.Cluster{Facts: server.Facts{Name: "rack", State: string(state.Connecting)}}
	if r := rowOf(c); r.rank() != 2 {
		t.Error("it has just begun:", r.rank())
	}
	c.Fault = &server.Fault{Code: "manager.no-kubeconfig", Detail: "no admin.conf", Next: "copy it"}
	r := rowOf(c)
	if r.rank() != 0 {
		t.Error(r.rank())
	}
	p := pageOf(t, nil)
	list, err := p.piece(i18n.English, "cluster-row", r)
	if err != nil || !strings.Contains(list, "no admin.conf") {
		t.Error(list, err)
	}
	one, err := p.piece(i18n.English, "cluster-state", overview{row: r})
	if err != nil || !strings.Contains(one, "no admin.conf") || !strings.Contains(one, "copy it") {
		t.Error(one, err)
	}
}

// Cancel and continue are offered where the API accepts them, and nowhere else: also of what the server did not begin,
// and of the connecting, which is no operation.
func TestWhereCancelAndContinueAreOffered(t *testing.T) {
	p := pageOf(t, nil)
	cancels := []state.State{state.Creating, state.Updating, state.Connecting, state.Destroy}
	readers := []overview{{}, {Operate: true}, {Operate: true, Admin: true}}
	for _, s := range states() {
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
