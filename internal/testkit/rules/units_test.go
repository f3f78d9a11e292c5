package rules

import (
	"slices"
	"strings"
	"testing"
)

// unitScripts ask systemd how a unit is by themselves, all others by node.Units: facts are one script for everything,
// and a change of a node must know it at its very moment.
func unitScripts() []string {
	return []string{
		"internal/phases/node/unit.go",
		"internal/phases/node/facts/facts.sh", "internal/phases/node/facts/firewall.sh",
		"internal/phases/node/lib.sh", "internal/phases/node/node.go",
		"internal/phases/payload/runtimes/containerdstop.sh", "internal/phases/payload/runtimes/dockerstop.sh",
		"internal/phases/payload/runtimes/isulad.go",
	}
}

// TestUnitsAreAskedForInOnePlace: systemctl is-active and is-enabled.
func TestUnitsAreAskedForInOnePlace(t *testing.T) {
	var asks []string
	read := func(file string, text []byte) {
		if strings.HasPrefix(file, "internal/phases/") && !strings.HasSuffix(file, "_test.go") &&
			(strings.Contains(string(text), "is-active") || strings.Contains(string(text), "is-enabled")) {
			asks = append(asks, file)
		}
	}
	sources(t, read)
	files(t, ".sh", read)
	want := unitScripts()
	slices.Sort(asks)
	slices.Sort(want)
	if !slices.Equal(asks, want) {
		t.Errorf("units are asked for by\n%q, want\n%q", asks, want)
	}
}
