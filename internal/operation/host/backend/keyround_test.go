package backend

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
)

// The keys of all nodes are one question, in the order of their names; a node that cannot be reached holds up nobody.
func TestKeysOfAllNodesAreOneQuestion(t *testing.T) {
	t.Parallel()
	var asked [][]HostKey
	r := &KeyRound{Ask: func(_ context.Context, keys []HostKey) ([]bool, error) {
		asked = append(asked, keys)
		out := make([]bool, len(keys))
		for i, k := range keys {
			out[i] = k.Node != "n7"
		}
		return out, nil
	}}
	const n = 60
	r.Expect(n + 1)
	trusted := make([]bool, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			trusted[i], _ = r.HostKey(t.Context(), HostKey{Node: fmt.Sprintf("n%d", i+1),
				Addr: fmt.Sprintf("192.0.2.%d:22", i+1)})
			r.Met(t.Context())
		})
	}
	r.Met(t.Context()) // one is unreachable
	all.Wait()
	if len(asked) != 1 || len(asked[0]) != n || asked[0][1].Node != "n2" || asked[0][9].Node != "n10" {
		t.Fatalf("%d questions: %v", len(asked), asked)
	}
	for i, yes := range trusted {
		if yes != (i != 6) {
			t.Errorf("n%d: %v", i+1, yes)
		}
	}
}

// A bastion that each of many nodes has for itself is one key of one question, before those of the nodes, and its
// answer is that of all.
func TestABastionIsAskedAboutOnce(t *testing.T) {
	t.Parallel()
	bastion := HostKey{Node: "gate", Addr: "192.0.2.200:22", Fingerprint: "SHA256:g", Serves: 1}
	list := []HostKey{{Node: "n10", Addr: "192.0.2.10:22"}, bastion, {Node: "n2", Addr: "192.0.2.2:22"}, bastion,
		bastion}
	groups, of := GroupKeys(list)
	want := []HostKey{{Node: "gate", Addr: "192.0.2.200:22", Fingerprint: "SHA256:g", Serves: 3}, list[2], list[0]}
	if !slices.Equal(groups, want) || !slices.Equal(of, []int{2, 0, 1, 0, 0}) {
		t.Errorf("%v %v", groups, of)
	}
	asked := 0
	r := &KeyRound{Ask: func(_ context.Context, keys []HostKey) ([]bool, error) {
		asked += len(keys)
		return []bool{true}, nil
	}}
	r.Expect(40)
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			if yes, err := r.HostKey(t.Context(), bastion); !yes || err != nil {
				t.Error(yes, err)
			}
		})
	}
	all.Wait()
	if asked != 1 {
		t.Errorf("%d keys were asked about", asked)
	}
}
