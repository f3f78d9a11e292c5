package backend

import (
	"context"
	"fmt"
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
			trusted[i], _ = r.HostKey(t.Context(), HostKey{Node: fmt.Sprintf("n%d", i+1)})
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
