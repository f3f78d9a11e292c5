package main

import (
	"strings"
	"testing"
)

// What the help says of the systems is what their specs say.
func TestTheHelpHasTheVersionOfEachSystem(t *testing.T) {
	list, err := builtins()
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	said := map[string]string{}
	for group := range strings.SplitSeq(systemsByVersion(), "; ") {
		version, systems, _ := strings.Cut(group, ": ")
		for s := range strings.SplitSeq(systems, ", ") {
			said[s] = version
		}
	}
	for _, b := range list {
		if said[b.system] != b.Kubernetes {
			t.Errorf("%s carries %s, the help says %q", b.system, b.Kubernetes, said[b.system])
		}
	}
	if len(said) != len(list) {
		t.Errorf("the help has %v", said)
	}
}
