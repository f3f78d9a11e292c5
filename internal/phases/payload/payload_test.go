package payload

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
)

func TestImagesByTheirNames(t *testing.T) {
	for image, want := range map[string][2]string{
		"a:1": {"a", "1"}, "h:5000/a": {"h:5000/a", ""}, "h:5000/a:2": {"h:5000/a", "2"}, "a": {"a", ""},
	} {
		if repo, tag, _ := cutTag(image); repo != want[0] || tag != want[1] {
			t.Errorf("%s: %s, %s", image, repo, tag)
		}
	}
	if got := findImage(&bundle.Manifest{}, "pause"); got != "pause" {
		t.Error(got)
	}
}

// A binary that a service executes is placed in the directory of its version; what nothing executes, where it is.
func TestExecutedBinariesHaveDirectoriesOfTheirVersions(t *testing.T) {
	worker := config.Node{Name: "w1", Roles: []bundle.Role{bundle.Worker}}
	r := &Payload{Nodes: inventory.New(&input.Env{Cluster: &config.Cluster{Nodes: []config.Node{worker}}},
		facts.Places{})}
	r.Executed = func(config.Node) []string { return []string{"kubelet"} }
	m := &bundle.Manifest{Kubernetes: "v1.34.2"}
	for _, name := range []string{"kubelet", "kubectl"} {
		m.Members = append(m.Members, bundle.Member{Kind: bundle.Binary, Name: name, Path: name,
			Dst: "/usr/local/bin", Roles: []bundle.Role{bundle.Worker}})
	}
	got := map[string]bool{}
	for _, p := range r.Members(worker, m) {
		got[p.Name] = p.Executed
	}
	if len(got) != 2 || !got["kubelet"] || got["kubectl"] {
		t.Errorf("executed: %v", got)
	}
	if got := r.Members(config.Node{Roles: []bundle.Role{bundle.Etcd}}, m); len(got) != 0 {
		t.Errorf("a member of etcd gets %v", got)
	}
}
