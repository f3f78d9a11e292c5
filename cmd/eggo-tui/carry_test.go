package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases"
)

// What a run's log keeps of its command line is what resume takes over, but for what it is told itself.
func TestResumeTakesOverTheFlagsOfTheRun(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	first := runOptions{limit: []string{"w1", "role:etcd"}, failure: "skip"}
	first.hooks = hookFlags{before: []string{"a.sh,worker"}, after: []string{"/b.sh"}, beforeKind: phases.ClusterPreHook, afterKind: phases.ClusterPostHook}
	flags := first.carried()
	want := []string{"--limit", "w1,role:etcd", "--on-failure", "skip", "--cluster-prehook", filepath.Join(here, "a.sh,worker"), "--cluster-posthook", "/b.sh"}
	if !slices.Equal(flags, want) {
		t.Errorf("kept %q", flags)
	}
	var again runOptions
	again.carry(flags)
	if !slices.Equal(again.carried(), want) {
		t.Errorf("taken over %q", again.carried())
	}
	told := runOptions{failure: "abort"}
	told.carry(append(flags, "--unknown")) // a log of a later version
	if told.failure != "abort" || !slices.Equal(told.limit, first.limit) {
		t.Errorf("%+v", told)
	}
	join := runOptions{hooks: hookFlags{before: []string{"a.sh"}, beforeKind: phases.PreHook}}
	if got := join.carried(); got != nil {
		t.Errorf("a joining machine's hooks are not the cluster's: %q", got)
	}
}
