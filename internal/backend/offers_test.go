package backend

import "testing"

// The order of the menu changes with what is likeliest; what a key means does not.
func TestKeysOfTheMenuKeepTheirMeaning(t *testing.T) {
	keys := map[string]string{}
	for name, clusters := range map[string][]Cluster{
		"none":    nil,
		"idle":    {{Name: "a", File: "a.yaml", Status: Installed}},
		"running": {{Name: "a", File: "a.yaml", Status: Running, Runs: []Run{{}}}},
		"stopped": {{Name: "a", File: "a.yaml", Status: Interrupted, Runs: []Run{{Status: Interrupted}}}},
	} {
		seen := map[string]string{}
		for _, o := range Offers(clusters) {
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
