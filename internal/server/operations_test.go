package server

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/manager"
)

// fails has an operation of a cluster fail after it has changed something.
func (s *site) fails(k manager.Kind) {
	s.t.Helper()
	if _, err := s.m.Begin(s.t.Context(), "one", k, manager.Request{}); err != nil {
		s.t.Fatal(err)
	}
	newest := s.world.Newest("one")
	s.reach(map[bool]string{true: "Destroy", false: "Updating"}[k == manager.Delete], func() bool {
		return s.world.Newest("one") != newest
	})
	s.world.Newest("one").Finish(&event.Fault{Class: event.ClassFailed, Code: "run.failed"})
	s.reach("Unavailable", nil)
}

// What only an administrator may begin, only an administrator continues; what succeeded is not repeated.
func TestContinue(t *testing.T) {
	s := begin(t)
	s.running()
	for _, k := range []manager.Kind{manager.Restore, manager.Delete} {
		s.fails(k)
		a := s.want(s.call("vera", "GET", "/api/v1/clusters/one", ""), 200, "")
		if a.body["continues"] != string(k) {
			t.Error(a.text)
		}
		s.want(s.call("otto", "POST", "/api/v1/clusters/one/continue", ""), 403, "access.denied")
		s.want(s.call("otto", "POST", "/api/v1/clusters/one/continue", `{"on_failure":"ask"}`), 403, "access.denied")
	}
	newest := s.world.Newest("one")
	s.want(s.call("ann", "POST", "/api/v1/clusters/one/continue", ""), 202, "")
	s.reach("Destroy", func() bool { return s.world.Newest("one") != newest })
	s.world.Newest("one").Finish(&event.Fault{Class: event.ClassFailed, Code: "run.failed"})
	s.reach("Unavailable", nil)
	s.fails(manager.Renew)
	s.want(s.call("otto", "POST", "/api/v1/clusters/one/continue", `{"on_failure":"pray"}`), 422, "usage.on-failure")
	s.want(s.call("otto", "POST", "/api/v1/clusters/one/continue", ""), 202, "")
}

// A request that no run would take is refused before anything begins.
func TestTyposBeginNothing(t *testing.T) {
	s := begin(t)
	s.running()
	newest := s.world.Newest("one")
	for _, c := range []struct{ path, body, code string }{
		{"renew", `{"on_failure":"pray"}`, "usage.on-failure"},
		{"upgrade", `{"batch":"many"}`, "usage.batch"}, {"upgrade", `{"window":"night"}`, "usage.window"},
		{"upgrade", `{"soak":"9000h"}`, "usage.soak"}, {"upgrade", `{"back":true,"batch":"0"}`, "usage.batch"},
		{"upgrade", `{"back":true,"batch":"1","on_failure":"x"}`, "usage.on-failure"},
	} {
		s.want(s.call("ann", "POST", "/api/v1/clusters/one/"+c.path, c.body), 422, c.code)
	}
	s.want(s.call("ann", "POST", "/api/v1/clusters", `{"options":{"on_failure":"x"},`+oneCluster[1:]), 422,
		"usage.on-failure")
	if v, _ := s.m.Cluster("one"); v.State != "Running" || s.world.Newest("one") != newest {
		t.Errorf("%+v", v)
	}
}
