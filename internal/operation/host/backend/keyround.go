package backend

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"
)

// together is how long unknown host keys wait for company when nobody knows how many nodes there are, or one does not
// answer.
const together = time.Second

// KeyRound brings unknown host keys together, so that those of all nodes are asked about at once.
type KeyRound struct {
	Ask func(ctx context.Context, keys []HostKey) ([]bool, error)

	one   sync.Mutex // one question at a time
	mu    sync.Mutex
	open  []keyQuestion
	wait  *time.Timer
	total int // nodes that are contacted; 0 when nobody knows
	done  int // of them, that are over
}

type keyQuestion struct {
	key    HostKey
	answer chan keyAnswer
}

type keyAnswer struct {
	yes bool
	err error
}

// Expect says how many nodes are contacted.
func (r *KeyRound) Expect(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total, r.done = n, 0
}

// Met says that one more node is over: it has answered, or it will not.
func (r *KeyRound) Met(ctx context.Context) (done int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	r.arm(ctx)
	return r.done
}

// HostKey asks about one key, together with those of other nodes.
func (r *KeyRound) HostKey(ctx context.Context, key HostKey) (bool, error) {
	k := keyQuestion{key, make(chan keyAnswer, 1)}
	r.mu.Lock()
	r.open = append(r.open, k)
	r.arm(ctx)
	r.mu.Unlock()
	select {
	case a := <-k.answer:
		return a.yes, a.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// arm asks at once when all nodes wait for the answer or are over, else when nothing has come for a while. The caller
// holds mu.
func (r *KeyRound) arm(ctx context.Context) {
	if len(r.open) == 0 {
		return
	}
	if r.wait != nil {
		r.wait.Stop()
	}
	after := together
	if r.total > 0 && len(r.open)+r.done >= r.total {
		after = 0
	}
	r.wait = time.AfterFunc(after, func() { r.answer(ctx) })
}

// answer asks about the keys that have come together.
func (r *KeyRound) answer(ctx context.Context) {
	r.one.Lock()
	defer r.one.Unlock()
	r.mu.Lock()
	list := r.open
	r.open = nil
	r.mu.Unlock()
	if len(list) == 0 {
		return
	}
	var keys []HostKey
	for _, k := range list {
		keys = append(keys, k.key)
	}
	groups, of := GroupKeys(keys)
	trusted, err := r.Ask(ctx, groups)
	for i, k := range list {
		k.answer <- keyAnswer{of[i] < len(trusted) && trusted[of[i]] && err == nil, err}
	}
}

// byName orders names with numbers at their ends as people count: n2 before n10.
func byName(a, b string) int {
	cut := func(s string) (string, int) {
		head := strings.TrimRight(s, "0123456789")
		n, _ := strconv.Atoi(s[len(head):]) // none is 0
		return head, n
	}
	x, i := cut(a)
	y, j := cut(b)
	if x != y {
		return strings.Compare(x, y)
	}
	return i - j
}
