package server

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/manager"
)

// meanwhile has something happen when a route asks about rights for the last time: what it has read is old by then.
type meanwhile struct {
	*rights
	asked atomic.Int32
	last  int32
	do    func()
}

func (m *meanwhile) RoleOf(ctx context.Context, c access.Caller, cluster string) (access.Role, error) {
	if m.do != nil && m.asked.Add(1) == m.last {
		m.do()
	}
	return m.rights.RoleOf(ctx, c, cluster)
}

func beginMeanwhile(t *testing.T) (*site, *meanwhile) {
	t.Helper()
	var m *meanwhile
	s := begin(t, func(o *Options) {
		m = &meanwhile{rights: o.Access.(*rights)}
		o.Access = m
	})
	return s, m
}

// What an update is compared with is the cluster that it changes: one that somebody changed meanwhile may have nodes by
// now that the request must not remove.
func TestAnUpdateOfAClusterThatWasChangedMeanwhile(t *testing.T) {
	s, m := beginMeanwhile(t)
	s.running()
	former := s.world.Newest("one")
	m.last, m.do = 2, func() {
		if _, err := s.m.Begin(t.Context(), "one", manager.Renew, manager.Request{}); err != nil {
			t.Error(err)
		}
		s.reach("Updating", func() bool { return s.world.Newest("one") != former })
		s.world.Newest("one").Finish(nil)
		s.reach("Running", nil)
	}
	nodes := "{" + strings.TrimSuffix(oneCluster[strings.Index(oneCluster, `"nodes"`):], "}") +
		`,"options":{"allow_unsigned":true}}`
	s.want(s.call("ann", "PUT", "/api/v1/clusters/one", nodes), 412, "manager.revision")
	if v, err := s.m.Cluster("one"); err != nil || v.Operation != nil {
		t.Errorf("%+v %v", v.Operation, err)
	}
	s.want(s.call("ann", "PUT", "/api/v1/clusters/one", nodes), 202, "")
}

// What is continued with other options is what the request has seen fail.
func TestSomethingElseFailsMeanwhile(t *testing.T) {
	s, m := beginMeanwhile(t)
	s.running()
	fails := func(k manager.Kind, request string) {
		t.Helper()
		former := s.world.Newest("one")
		q := manager.Request{Request: []byte(request)}
		if _, err := s.m.Begin(t.Context(), "one", k, q); err != nil {
			t.Fatal(err)
		}
		s.reach("Updating", func() bool { return s.world.Newest("one") != former })
		s.world.Newest("one").Finish(event.NewFault(event.ClassFailed, "internal", nil))
		s.reach("Unavailable", nil)
	}
	fails(manager.Upgrade, `{"bundles":["/srv/of-the-first.tar.gz"]}`)
	m.last, m.do = 3, func() { fails(manager.Upgrade, `{"bundles":["/srv/of-the-second.tar.gz"]}`) }
	const more = `{"allow_unsigned":true}`
	s.want(s.call("ann", "POST", "/api/v1/clusters/one/continue", more), 412, "manager.revision")
	a := s.want(s.call("ann", "POST", "/api/v1/clusters/one/continue", more), 202, "")
	v, err := s.m.Cluster("one")
	if err != nil || !strings.Contains(string(v.Operation.Request), "of-the-second") {
		t.Errorf("%s %v", a.text, err)
	}
}

// What no cluster can match is told about the cluster, not about the header.
func TestAnIfMatchThatIsNoRevision(t *testing.T) {
	s := begin(t)
	s.running()
	a := s.want(s.call("ann", "POST", "/api/v1/clusters/one/renew", `{}`, "If-Match", `"fifty"`), 412,
		"manager.revision")
	if detail, _ := a.body["detail"].(string); !strings.Contains(detail, "one") || strings.Contains(detail, "fifty") {
		t.Error(a.text)
	}
}
