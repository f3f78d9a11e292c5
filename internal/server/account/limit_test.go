package account

import (
	"fmt"
	"testing"
	"time"
)

// However many names and addresses fail, memory is bounded, and whoever fails most is not what makes room.
func TestFailuresTakeBoundedMemory(t *testing.T) {
	now := time.Unix(0, 0)
	l := newLimiter(func() time.Time { return now }, 100)
	for range freeOfUser {
		if err := l.attempt(userKey("ann")); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1000 {
		now = now.Add(time.Millisecond)
		if err := l.attempt(userKey(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.counts) != 100 {
		t.Errorf("%d counts", len(l.counts))
	}
	if l.attempt(userKey("ann")) == nil {
		t.Error("the account is open again")
	}
	now = now.Add(2 * remembered)
	if err := l.attempt(userKey("new")); err != nil || len(l.counts) != 1 {
		t.Errorf("%d counts, %v", len(l.counts), err)
	}
}
