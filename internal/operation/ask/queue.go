package ask

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"
)

// together limits how long an unknown host key waits for those of other nodes, if the number of nodes is not known or
// one does not answer.
const together = time.Second

// Queue asks one question at a time. Unknown host keys wait for those of other nodes, and are asked about at once.
type Queue struct {
	front Asker

	one   sync.Mutex // one question at a time
	mu    sync.Mutex
	open  []keyQuestion
	wait  *time.Timer
	total int // nodes that are contacted; 0 when it is not known
	done  int // of them, that have answered or will not
}

type keyQuestion struct {
	HostKey
	known  KnownHosts
	answer chan keyAnswer
}

type keyAnswer struct {
	yes bool
	err error
}

// NewQueue returns a Queue of questions to a front end.
func NewQueue(front Asker) *Queue { return &Queue{front: front} }

// Ask implements Asker.
func (r *Queue) Ask(ctx context.Context, q Question) (Answer, error) {
	switch q := q.(type) {
	case Secret, Signer:
		return r.ask(ctx, q)
	case HostKeys:
		return r.hostKeys(ctx, q)
	case Progress:
		if q.Total > 0 {
			r.progress(ctx, q)
		}
	}
	return r.front.Ask(ctx, q)
}

func (r *Queue) ask(ctx context.Context, q Question) (Answer, error) {
	r.one.Lock()
	defer r.one.Unlock()
	return r.front.Ask(ctx, q)
}

// progress counts the nodes that ask nothing more.
func (r *Queue) progress(ctx context.Context, q Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.Done == 0 {
		r.done = 0
	}
	r.total, r.done = q.Total, max(r.done, q.Done)
	r.arm(ctx)
}

// hostKeys asks about keys together with those of other nodes.
func (r *Queue) hostKeys(ctx context.Context, q HostKeys) (Answer, error) {
	var mine []keyQuestion
	r.mu.Lock()
	for _, k := range q.Keys {
		mine = append(mine, keyQuestion{k, q.Known, make(chan keyAnswer, 1)})
	}
	r.open = append(r.open, mine...)
	r.arm(ctx)
	r.mu.Unlock()
	var out Answer
	for _, k := range mine {
		select {
		case a := <-k.answer:
			if a.err != nil {
				return Answer{}, a.err
			}
			out.Trusted = append(out.Trusted, a.yes)
		case <-ctx.Done():
			return Answer{}, ctx.Err()
		}
	}
	return out, nil
}

// arm asks at once when all nodes wait for the answer or ask nothing more, else when nothing has come for a while. The
// caller holds mu.
func (r *Queue) arm(ctx context.Context) {
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
func (r *Queue) answer(ctx context.Context) {
	r.one.Lock()
	defer r.one.Unlock()
	r.mu.Lock()
	list := r.open
	r.open = nil
	r.mu.Unlock()
	if len(list) == 0 {
		return
	}
	q := HostKeys{}
	for _, k := range list {
		q.Keys, q.Known = append(q.Keys, k.HostKey), k.known
	}
	groups, of := GroupKeys(q.Keys)
	q.Keys = groups
	got, err := r.front.Ask(ctx, q)
	for i, k := range list {
		k.answer <- keyAnswer{of[i] < len(got.Trusted) && got.Trusted[of[i]] && err == nil, err}
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
