package page

import (
	"net/url"
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

// An administrator is offered a take-over where another owner's number has refused the operation, by a button that has
// that number typed.
func TestWhereATakeOverIsOffered(t *testing.T) {
	p := pageOf(t, nil)
	for _, c := range []struct {
		state   state.State
		last    string
		number  uint64
		admin   bool
		request string
	}{
		{state.Unavailable, "update", 12, true, "POST /api/v1/clusters/rack/continue"},
		{state.Running, "renew", 12, true, "POST /api/v1/clusters/rack/renew"},
		{state.Running, "upgrade", 12, true, ""}, // its form has a field
		{state.Unavailable, "update", 12, false, ""},
		{state.Unavailable, "update", 0, true, ""},
	} {
		fault := &server.Fault{Code: "preflight.failed", TakeOver: c.number}
		o := overview{row: rowOf(server.Cluster{Facts: server.Facts{Name: "rack", State: string(c.state),
			Last: &server.Operation{Kind: c.last}, Fault: fault}}), Operate: true, Admin: c.admin}
		html, err := p.piece(i18n.English, "cluster-state", o)
		if err != nil {
			t.Fatal(err)
		}
		shown := strings.Contains(html, `data-confirm-name="12"`) && strings.Contains(html, "&#34;take_over&#34;:12") ||
			strings.Contains(html, `"take_over":12`)
		if o.TakesOver() != c.request || shown != (c.request != "") ||
			shown && !strings.Contains(html, `data-api="`+c.request+`"`) {
			t.Errorf("%+v: %s\n%s", c, o.TakesOver(), html)
		}
	}
}

// The number that is typed into a form is taken as it is, or refused at its field.
func TestTheNumberOfATakeOverIsRead(t *testing.T) {
	for text, want := range map[string]uint64{"": 0, " 12 ": 12, "0": 0, "-3": 0, "twelve": 0, "9007199254740993": 0} {
		o, read := upgradeOf(url.Values{"take_over": {text}})
		if wrong := want == 0 && text != ""; o.TakeOver != want || wrong != (len(read.bad) == 1) ||
			wrong && read.fieldAt(read.bad[0].Location) != "take_over" {
			t.Errorf("%q: %+v %+v", text, o, read.bad)
		}
	}
}
