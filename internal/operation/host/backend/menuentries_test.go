package backend

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation/request"
)

// The order of the menu changes with what is likeliest; what a key means does not.
func TestKeysOfTheMenuKeepTheirMeaning(t *testing.T) {
	keys := map[string]string{}
	for name, clusters := range map[string][]request.ClusterRuns{
		"none": nil,
		"idle": {{ClusterInfo: request.ClusterInfo{Name: "a", File: "a.yaml", Status: request.Installed}}},
		"running": {{ClusterInfo: request.ClusterInfo{Name: "a", File: "a.yaml", Status: request.Running},
			Runs: []request.Run{{}}}},
		"stopped": {{ClusterInfo: request.ClusterInfo{Name: "a", File: "a.yaml", Status: request.Interrupted},
			Runs: []request.Run{{Status: request.Interrupted}}}},
		"upgrading": {{ClusterInfo: request.ClusterInfo{Name: "a", File: "a.yaml", Status: request.Failed,
			Upgrade: &request.Upgrading{To: "v1.35.4"}}}},
	} {
		seen := map[string]string{}
		for _, o := range MenuEntries(clusters) {
			if other := seen[o.Key()]; other != "" {
				t.Errorf("%s: %s chooses %s and %s", name, o.Key(), other, o.ID)
			}
			seen[o.Key()] = o.ID
			if before, known := keys[o.ID]; known && before != o.Key() {
				t.Errorf("%s: %s is chosen by %s, elsewhere by %s", name, o.ID, o.Key(), before)
			}
			keys[o.ID] = o.Key()
		}
	}
	if keys["install"] != "1" || keys["runs"] != "0" || keys["watch"] != "w" {
		t.Error(keys)
	}
}

// While an upgrade is unfinished it comes first, and nothing else changes the cluster but a cleanup.
func TestAnUnfinishedUpgradeComesFirst(t *testing.T) {
	c := request.ClusterRuns{ClusterInfo: request.ClusterInfo{Name: "a", File: "a.yaml", Status: request.Interrupted,
		Upgrade: &request.Upgrading{From: "v1.34.2", To: "v1.35.4"}},
		Runs: []request.Run{{Verb: "deploy"}}}
	why := map[string]string{}
	list := MenuEntries([]request.ClusterRuns{c})
	for _, o := range list {
		why[o.ID] = o.Why
	}
	if list[0].ID != "upgrade-on" || list[1].ID != "upgrade-back" || why["upgrade-back"] != "" || why["cleanup"] != "" {
		t.Errorf("%+v", list)
	}
	for _, id := range []string{"add", "remove", "upgrade"} {
		if why[id] != "menu.why.upgrading" {
			t.Errorf("%s: %q", id, why[id])
		}
	}
	if why["resume"] == "" {
		t.Error("a deploy is resumed")
	}
	c.Upgrade.Committed = true
	if o := MenuEntries([]request.ClusterRuns{c})[1]; o.ID != "upgrade-back" || o.Why != "menu.why.committed" {
		t.Errorf("%+v", o)
	}
	other := request.ClusterRuns{ClusterInfo: request.ClusterInfo{Name: "b", File: "b.yaml", Status: request.Installed}}
	for _, o := range MenuEntries([]request.ClusterRuns{c, other}) {
		if o.ID == "add" && (len(o.Of) != 1 || o.Of[0].Name != "b") {
			t.Errorf("%+v", o)
		}
	}
	c.Status = request.Running
	if o := MenuEntries([]request.ClusterRuns{c})[0]; o.ID != "watch" {
		t.Errorf("%+v", o)
	}
}
