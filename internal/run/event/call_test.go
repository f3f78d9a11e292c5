package event

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOptionsOfAnOlderLog: what a program without options wrote as flags is read as options; what is not known is
// passed over.
func TestOptionsOfAnOlderLog(t *testing.T) {
	want := RunOptions{Limit: []string{"w1", "role:etcd"}, OnFailure: "skip", Signers: "/etc/keys",
		Before: []string{"/a b.sh,worker", "/c.sh"}, After: []string{"/b.sh"}}
	flags := want.Flags()
	if !slices.Equal(flags, []string{"--limit", "w1,role:etcd", "--on-failure", "skip", "--signers", "/etc/keys",
		"--cluster-prehook", "/a b.sh,worker", "--cluster-prehook", "/c.sh", "--cluster-posthook", "/b.sh"}) {
		t.Errorf("flags %q", flags)
	}
	old := RunStarted{Run: "r", Verb: "deploy", Flags: append(flags, "--of-a-later-version", "x", "--cut")}
	line, err := Encode(Record{Seq: 1, Event: old})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Decode(line)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&want, r.Event.(RunStarted).Options); d != "" {
		t.Error(d)
	}
}

// TestTheBusSaysOptionsAsFlags: programs of before find in the log what they look for.
func TestTheBusSaysOptionsAsFlags(t *testing.T) {
	b := NewBus(nil)
	r, err := b.Publish(RunStarted{Verb: "deploy", Options: &RunOptions{Limit: []string{"m1"}, OnFailure: "skip"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Event.(RunStarted).Flags; !slices.Equal(got, []string{"--limit", "m1", "--on-failure", "skip"}) {
		t.Errorf("%q", got)
	}
}
