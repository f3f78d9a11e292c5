package e2e

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// pressure is how much of each second processes of this machine, on which all nodes run, waited for a processor or for
// its disk (/proc/pressure): a call that had no answer in a second in which nobody got a processor says little of what
// is tested.
type pressure struct {
	mu  sync.Mutex
	all []strain
}

// strain is one second: the parts of it in which somebody waited for a processor, somebody for the disk, and all for
// the disk.
type strain struct {
	at                time.Time
	cpu, disk, stands float64
}

// watchPressure begins.
func watchPressure(t *testing.T) *pressure {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	t.Cleanup(end)
	p := &pressure{}
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		was, then := stalls(), time.Now()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			is, now := stalls(), time.Now()
			part := func(i int) float64 { return min(1, float64(is[i]-was[i])/float64(now.Sub(then).Microseconds())) }
			p.mu.Lock()
			p.all = append(p.all, strain{now, part(0), part(1), part(2)})
			p.mu.Unlock()
			was, then = is, now
		}
	}()
	return p
}

// stalls are the microseconds since the machine was started in which somebody waited for a processor, somebody for the
// disk, and all for the disk.
func stalls() (out [3]int64) {
	for i, of := range []struct{ file, line string }{{"cpu", "some"}, {"io", "some"}, {"io", "full"}} {
		text, err := os.ReadFile("/proc/pressure/" + of.file)
		if err != nil {
			continue // a kernel without it
		}
		for line := range strings.Lines(string(text)) {
			if _, total, ok := strings.Cut(line, "total="); ok && strings.HasPrefix(line, of.line) {
				out[i], _ = strconv.ParseInt(strings.TrimSpace(total), 10, 64)
			}
		}
	}
	return out
}

// during says how it was between two moments.
func (p *pressure) during(s *stand.Stand, what string, from, to time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var n int
	var sum, most strain
	for _, x := range p.all {
		if x.at.Before(from) || x.at.After(to.Add(time.Second)) {
			continue
		}
		n++
		sum.cpu, sum.disk, sum.stands = sum.cpu+x.cpu, sum.disk+x.disk, sum.stands+x.stands
		most.cpu, most.disk, most.stands = max(most.cpu, x.cpu), max(most.disk, x.disk), max(most.stands, x.stands)
	}
	if n == 0 {
		return
	}
	s.Say("%s (%d s): somebody waited for a processor %.0f %% of the time (at most %.0f %% of a second), for the disk "+
		"%.0f %% (%.0f %%); all waited for the disk %.0f %% (%.0f %%)", what, n, 100*sum.cpu/float64(n), 100*most.cpu,
		100*sum.disk/float64(n), 100*most.disk, 100*sum.stands/float64(n), 100*most.stands)
}
