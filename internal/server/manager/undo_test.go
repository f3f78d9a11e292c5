package manager_test

import (
	"errors"
	"slices"
	"testing"

	. "github.com/eggo-k8s/eggo/internal/server/manager"
)

// What was prepared for an operation is undone if it does not begin, and only then.
func TestWhatIsPreparedIsUndone(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		b.running("one")
		wrong := errors.New("wrong")
		for _, c := range []struct {
			what         string
			check, ready error
			busy         bool
			want         []string
		}{
			{"a check", wrong, nil, false, nil},
			{"what cannot be prepared", nil, wrong, false, []string{"prepare", "undo"}},
			{"a run of the command line", nil, nil, true, []string{"prepare", "undo"}},
			{"nothing is in the way", nil, nil, false, []string{"prepare"}},
		} {
			var did []string
			q := Request{Check: func(Record) error { return c.check },
				Prepare: func() error { did = append(did, "prepare"); return c.ready },
				Undo:    func() error { did = append(did, "undo"); return nil }}
			if c.busy {
				run := b.world.Begin("one", Snapshot)
				defer run.Finish(nil)
				if _, err := b.Begin(t.Context(), "one", Renew, q); code(err) != "lock.cluster-held" {
					t.Errorf("%s: %v", c.what, err)
				}
				run.Finish(nil)
			} else {
				_, err := b.Begin(t.Context(), "one", Renew, q)
				begins := c.check == nil && c.ready == nil
				if begins != (err == nil) || !begins && !errors.Is(err, wrong) {
					t.Errorf("%s: %v", c.what, err)
				}
			}
			if !slices.Equal(did, c.want) {
				t.Errorf("%s: %v, want %v", c.what, did, c.want)
			}
		}
	})
}
