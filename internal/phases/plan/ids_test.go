package plan_test

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
)

func TestWhoWaitsForAProgram(t *testing.T) {
	for want, roles := range map[string][]bundle.Role{plan.GroupEtcd: {bundle.Etcd},
		plan.GroupControl: {bundle.ControlPlane}, plan.GroupNode: {bundle.ControlPlane, bundle.Worker, bundle.Etcd}} {
		if got := plan.GroupOf(config.Node{Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd}},
			bundle.Member{Roles: roles}); got != want {
			t.Errorf("%v: %s", roles, got)
		}
		if got := plan.GroupOf(config.Node{Roles: []bundle.Role{bundle.Worker}},
			bundle.Member{Roles: roles}); got != plan.GroupNode {
			t.Errorf("%v on a worker: %s", roles, got)
		}
	}
	if got := plan.GroupOf(config.Node{}, bundle.Member{}); got != plan.GroupNode {
		t.Error("a file that deploy.yaml lists and nobody needs:", got)
	}
}
