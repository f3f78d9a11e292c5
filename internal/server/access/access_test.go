package access

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

type roles map[string]Role

func (r roles) Identify(next http.Handler) http.Handler { return next }

func (r roles) RoleOf(_ context.Context, _ Caller, cluster string) (Role, error) {
	if cluster == "broken" {
		return None, errors.New("database")
	}
	return r[cluster], nil
}

func (r roles) Recheck(context.Context) error { return nil }

func (r roles) Record(context.Context, Entry) error { return nil }

// Each role may do what those before it may, and nothing else.
func TestRoles(t *testing.T) {
	actions := []Action{View, Operate, Administer, "fly"}
	if !None.May(Authenticated) {
		t.Error("who has no role cannot enter")
	}
	for n, role := range []Role{None, Viewer, Operator, Admin} {
		for i, a := range actions {
			if got, want := role.May(a), i < n && i < 3; got != want {
				t.Errorf("%q may %s: %v", role, a, got)
			}
		}
	}
}

// A route refuses who is not known, who may not, and says nothing of clusters that somebody may not look at.
func TestCheck(t *testing.T) {
	by := roles{"seen": Viewer, "mine": Operator, "": Viewer}
	ann := With(t.Context(), Caller{Name: "ann"})
	for _, c := range []struct {
		ctx     context.Context
		do      Action
		cluster string
		want    string
	}{
		{t.Context(), View, "seen", "access.unauthenticated"}, {ann, View, "seen", ""}, {ann, Operate, "mine", ""},
		{ann, Operate, "seen", "access.denied"}, {ann, View, "hidden", "manager.unknown"},
		{ann, Authenticated, "", ""}, {t.Context(), Authenticated, "", "access.unauthenticated"},
		{ann, Administer, "hidden", "manager.unknown"}, {ann, Administer, "", "access.denied"},
		{ann, View, "broken", "internal"},
	} {
		got, err := Check(c.ctx, by, c.do, c.cluster)
		if f := event.AsFault(err); (f == nil) != (c.want == "") || f != nil && f.Code != c.want {
			t.Errorf("%s %s: %v", c.do, c.cluster, err)
		}
		if err == nil && got.Name != "ann" {
			t.Error(got)
		}
	}
}

// No other package can set the caller of a grant.
func TestGrant_HasNoFieldToSet(t *testing.T) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Grant]()) {
		if f.IsExported() || f.Anonymous {
			t.Errorf("%s can be set", f.Name)
		}
	}
	g, err := Allow(With(t.Context(), Caller{"1", "ann", "t"}), roles{"seen": Viewer}, View, "seen")
	if err != nil || g.ID() != "1" || g.Name() != "ann" || g.Token() != "t" || g.Caller() != (Caller{"1", "ann", "t"}) {
		t.Error(g, err)
	}
}

// One machine can choose from the addresses of a network of IPv6, and has one of IPv4.
func TestNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8::1": "2001:db8::/64",
		"2001:db8::ffff:1": "2001:db8::/64", "2001:db8:0:1::1": "2001:db8:0:1::/64", "fe80::1%eth0": "fe80::/64",
		"": "", "pipe": "pipe",
	} {
		if got := Network(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
