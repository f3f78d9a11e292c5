package ask

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// keysAnswered answers questions about host keys.
type keysAnswered func(keys []HostKey) []bool

// Ask implements Asker.
func (f keysAnswered) Ask(_ context.Context, q Question) (out Answer, err error) {
	if keys, is := q.(HostKeys); is {
		out.Trusted = f(keys.Keys)
	}
	return out, nil
}

// The keys of all nodes are one question, in the order of their names; a node that cannot be reached holds up nobody.
func TestQueue_KeysOfAllNodesAreOneQuestion(t *testing.T) {
	t.Parallel()
	var asked [][]HostKey
	r := NewQueue(keysAnswered(func(keys []HostKey) []bool {
		asked = append(asked, keys)
		out := make([]bool, len(keys))
		for i, k := range keys {
			out[i] = k.Node != "n7"
		}
		return out
	}))
	const n = 60
	Tell(t.Context(), r, Progress{Total: n + 1})
	var done atomic.Int64
	met := func() { Tell(t.Context(), r, Progress{Done: int(done.Add(1)), Total: n + 1}) }
	trusted := make([]bool, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			k := HostKey{Node: fmt.Sprintf("n%d", i+1), Addr: fmt.Sprintf("192.0.2.%d:22", i+1)}
			trusted[i], _ = Trusts(t.Context(), r, HostKeys{Keys: []HostKey{k}})
			met()
		})
	}
	met() // one is unreachable
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
func TestQueue_ABastionIsAskedAboutOnce(t *testing.T) {
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
	r := NewQueue(keysAnswered(func(keys []HostKey) []bool {
		asked += len(keys)
		return []bool{true}
	}))
	Tell(t.Context(), r, Progress{Total: 40})
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			if yes, err := Trusts(t.Context(), r, HostKeys{Keys: []HostKey{bastion}}); !yes || err != nil {
				t.Error(yes, err)
			}
		})
	}
	all.Wait()
	if asked != 1 {
		t.Errorf("%d keys were asked about", asked)
	}
}
