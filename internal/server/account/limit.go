package account

import (
	"strconv"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
)

// After this many failures each further one doubles the time during which nothing is accepted.
const (
	freeOfUser    = 5
	freeOfAddress = 30
	firstPause    = 10 * time.Second
	longestPause  = 15 * time.Minute
	remembered    = time.Hour // without a failure
)

// limiter counts failed logins. It holds a bounded number of counts: of whoever fails seldom and long ago it knows
// nothing any more.
type limiter struct {
	now  func() time.Time
	most int

	mu     sync.Mutex
	counts map[string]*failures
}

type failures struct {
	n     int
	last  time.Time
	until time.Time
}

func newLimiter(now func() time.Time, most int) *limiter {
	return &limiter{now: now, most: most, counts: map[string]*failures{}}
}

// key is what failures are counted for, and how many of them are free.
type key struct {
	name string
	free int
}

// attempt counts a failure for each key, because many may try at once; succeeded takes it back. It is refused while one
// of the keys has to wait.
func (l *limiter) attempt(keys ...key) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	for _, k := range keys {
		if f := l.counts[k.name]; f != nil && now.Before(f.until) {
			wait := int(f.until.Sub(now).Seconds()) + 1
			return event.NewFault(event.ClassAuth, "account.locked", nil, "seconds", strconv.Itoa(wait))
		}
	}
	for _, k := range keys {
		f := l.counts[k.name]
		if f == nil {
			l.makeRoom(now)
			f = &failures{}
			l.counts[k.name] = f
		} else if now.Sub(f.last) > remembered {
			*f = failures{}
		}
		f.n++
		f.last = now
		if over := f.n - k.free; over >= 0 {
			f.until = now.Add(min(longestPause, firstPause<<min(over, 10)))
		}
	}
	return nil
}

// succeeded takes the count of an attempt back; that of the first key, of the user, begins again.
func (l *limiter) succeeded(keys ...key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, k := range keys {
		f := l.counts[k.name]
		if f == nil {
			continue
		}
		f.n--
		f.until = time.Time{}
		if i == 0 || f.n <= 0 {
			delete(l.counts, k.name)
		}
	}
}

// makeRoom removes the count that matters least, if there is no room for another one.
func (l *limiter) makeRoom(now time.Time) {
	if len(l.counts) < l.most {
		return
	}
	least := ""
	for name, f := range l.counts {
		if now.Sub(f.last) > remembered {
			delete(l.counts, name)
			continue
		}
		if g := l.counts[least]; g == nil || f.n < g.n || f.n == g.n && f.last.Before(g.last) {
			least = name
		}
	}
	if len(l.counts) >= l.most {
		delete(l.counts, least)
	}
}

func userKey(name string) key { return key{"user " + name, freeOfUser} }

// addressKey is one for all addresses that one machine can choose from.
func addressKey(address string) key { return key{"address " + access.Network(address), freeOfAddress} }
