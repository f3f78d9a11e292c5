package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/journal"
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
	var board runOptions
	board.carry([]string{"--limit", "w1", "--on-failure", "ask"}) // of a run on a board
	if board.failure != "" || !slices.Equal(board.limit, []string{"w1"}) {
		t.Errorf("who resumes on the command line is to decide on a board: %+v", board)
	}
	join := runOptions{hooks: hookFlags{before: []string{"a.sh"}, beforeKind: phases.PreHook}}
	if got := join.carried(); got != nil {
		t.Errorf("a joining machine's hooks are not the cluster's: %q", got)
	}
}

// Who goes on with a run on the screen, after an edit or from the menu, has its limit and its hooks; failures are decided on the board.
func TestTheScreenTakesOverTheFlagsOfTheRun(t *testing.T) {
	d := &desk{env: &environment{Getenv: os.Getenv}, state: t.TempDir()}
	if got := d.lastFlags("rack"); got != nil {
		t.Errorf("of a cluster that nobody knows: %q", got)
	}
	store, err := journal.Open(d.state, "rack")
	if err != nil {
		t.Fatal(err)
	}
	for i, flags := range [][]string{{"--limit", "w9"}, {"--limit", "w1,role:etcd", "--on-failure", "retry=2", "--cluster-prehook", "/a b.sh,worker"}} {
		log, err := store.NewRun("deploy", time.Date(2026, 11, 22, 9, i, 0, 0, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		if err := event.NewBus(time.Now, log).Emit(event.RunStarted{Cluster: "rack", Verb: "deploy", Flags: flags}); err != nil {
			t.Fatal(err)
		}
		log.Close()
	}
	if got, want := d.lastFlags("rack"), []string{"--limit", "w1,role:etcd", "--cluster-prehook", "/a b.sh,worker"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A run that ended before it kept a deploy.yaml has nothing to go on with, and says how to run it again.
func TestResumeOfARunThatKeptNoFile(t *testing.T) {
	root := t.TempDir()
	store, err := journal.Open(root, "rack")
	if err != nil {
		t.Fatal(err)
	}
	log, err := store.NewRun("deploy", time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if err := event.NewBus(time.Now, log).Emit(event.RunStarted{Cluster: "rack", Verb: "deploy"}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	err = resume(t.Context(), &environment{Getenv: os.Getenv}, runOptions{state: root}, "")
	if f := event.AsFault(err); f == nil || f.Code != "resume.no-file" || f.Args["verb"] != "deploy" || f.Args["run"] != log.ID() {
		t.Error(err)
	}
}
