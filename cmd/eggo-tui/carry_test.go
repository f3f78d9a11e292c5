package main

import (
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// What a run's log keeps of its request is what resume takes over, but for what it is told itself.
func TestResumeTakesOverTheOptionsOfTheRun(t *testing.T) {
	t.Parallel()
	was := &event.RunOptions{
		Limit: []string{"w1", "role:etcd"}, OnFailure: "skip", Signers: "/s",
		Before: []string{"/a.sh,worker"}, After: []string{"/b.sh"},
	}
	got := request.Common{}.Continue(was)
	want := request.Common{
		Limit: was.Limit, OnFailure: request.OnFailure{Do: event.LeaveOut}, Trust: request.Trust{Signers: "/s"},
		Hooks: request.Hooks{Before: was.Before, After: was.After},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("taken over %+v", got)
	}
	told := request.Common{OnFailure: request.OnFailure{Do: event.Abort}}.Continue(was)
	if told.OnFailure.Do != event.Abort || !slices.Equal(told.Limit, was.Limit) {
		t.Errorf("%+v", told)
	}
	board := request.Common{}.Continue(&event.RunOptions{Limit: []string{"w1"}, OnFailure: "ask"})
	if board.OnFailure != (request.OnFailure{}) || !slices.Equal(board.Limit, []string{"w1"}) {
		t.Errorf("who resumes on the command line is to decide on a board: %+v", board)
	}
	if got := (request.Common{}).Continue(nil); !reflect.DeepEqual(got, request.Common{}) {
		t.Errorf("of a log without options: %+v", got)
	}
}

// A run that ended before it kept a deploy.yaml has nothing to go on with, and says how to run it again.
func TestResumeOfARunThatKeptNoFile(t *testing.T) {
	t.Parallel()
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
	err = resume(t.Context(), &environment{Getenv: os.Getenv, State: root}, runOptions{output: "text"}, "")
	if f := event.AsFault(err); f == nil || f.Code != "resume.no-file" || f.Args["verb"] != "deploy" ||
		f.Args["run"] != log.ID() {
		t.Error(err)
	}
}
