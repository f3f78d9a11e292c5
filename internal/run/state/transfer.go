package state

import (
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// rateWindow is over how long the rate of a transfer is taken.
const rateWindow = 10 * time.Second

type transferKey struct{ host, step, what string }

// Transfer that is under way.
type Transfer struct {
	Host  string
	Step  string
	What  string
	Done  int64 // bytes
	Total int64 // 0 when unknown
	Start time.Time
	Last  time.Time

	samples []sample // within the window, oldest first
}

type sample struct {
	at   time.Time
	done int64
}

// Rate in bytes a second over the last seconds; 0 while it is not known.
func (t *Transfer) Rate() float64 {
	if len(t.samples) < 2 {
		return 0
	}
	first, last := t.samples[0], t.samples[len(t.samples)-1]
	span := last.at.Sub(first.at).Seconds()
	if span <= 0 || last.done <= first.done {
		return 0
	}
	return float64(last.done-first.done) / span
}

// Left is the time that the rest takes at the present rate; false when nobody can tell.
func (t *Transfer) Left() (time.Duration, bool) {
	rate := t.Rate()
	if rate <= 0 || t.Total <= 0 || t.Done > t.Total {
		return 0, false
	}
	left := float64(t.Total-t.Done) / rate * float64(time.Second)
	if left > float64(1000*time.Hour) {
		return 0, false
	}
	return time.Duration(left), true
}

// Transfer gives the running transfer of that step, nil if there is none.
func (s *State) Transfer(host, step, what string) *Transfer {
	return s.transfers[transferKey{host, step, what}]
}

func (s *State) progress(at time.Time, e event.Progress) {
	k := transferKey{e.Host, e.Step, e.What}
	t := s.transfers[k]
	if t != nil && e.Done < t.Done { // started again
		t.samples = nil
	}
	if t == nil {
		t = &Transfer{Host: e.Host, Step: e.Step, What: e.What, Start: at}
		s.transfers[k] = t
		s.Transfers = append(s.Transfers, t)
	}
	t.Done, t.Total, t.Last = e.Done, e.Total, at
	t.samples = append(t.samples, sample{at, e.Done})
	t.thin(at)
	if e.Total > 0 && e.Done >= e.Total {
		if st := s.steps[e.Step]; st != nil {
			st.Sent += e.Done
		}
		delete(s.transfers, k)
		s.Transfers = withoutTransfer(s.Transfers, t)
	}
}

// thin drops samples that are older than the window, and every other when they come more often than they are useful.
func (t *Transfer) thin(now time.Time) {
	drop := 0
	for drop < len(t.samples)-2 && now.Sub(t.samples[drop].at) > rateWindow {
		drop++
	}
	t.samples = t.samples[drop:]
	if len(t.samples) <= 64 {
		return
	}
	var kept []sample
	for i, x := range t.samples {
		if i%2 == 0 || i == len(t.samples)-1 {
			kept = append(kept, x)
		}
	}
	t.samples = kept
}

func (s *State) dropTransfers(st *Step) {
	for i := len(s.Transfers) - 1; i >= 0; i-- {
		if t := s.Transfers[i]; t.Step == st.ID {
			delete(s.transfers, transferKey{t.Host, t.Step, t.What})
			s.Transfers = append(s.Transfers[:i], s.Transfers[i+1:]...)
		}
	}
}

func withoutTransfer(list []*Transfer, t *Transfer) []*Transfer {
	for i, x := range list {
		if x == t {
			return append(list[:i], list[i+1:]...)
		}
	}
	return list
}
