package stand

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// The lab's upstream is used when the public one fails, early or late; an interrupted demo ends.
func TestDemoFallsBackToTheLab(t *testing.T) {
	t.Parallel()
	down := errors.New("connection reset by the public upstream")
	for name, c := range map[string]struct {
		reach, public, lab error
		interrupted        bool
		want               string // what was packed from
		err                string
	}{
		"public":                     {want: "public"},
		"not reached":                {reach: down, want: "lab"},
		"reached, the build fails":   {public: down, want: "public lab"},
		"interrupted, while it runs": {public: down, interrupted: true, want: "public", err: "connection reset"},
		"both fail": {public: down, lab: errors.New("no compiler"), want: "public lab",
			err: "no compiler"},
		"both fail: why it began": {public: down, lab: errors.New("x"), want: "public lab",
			err: "connection reset"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var tried []string
		err := fallback{
			say:   t.Logf,
			reach: func(context.Context) error { return c.reach },
			public: func(context.Context) error {
				if tried = append(tried, "public"); c.interrupted {
					cancel()
				}
				return c.public
			},
			lab: func(context.Context) error { tried = append(tried, "lab"); return c.lab },
		}.pack(ctx)
		cancel()
		if got := strings.Join(tried, " "); got != c.want {
			t.Errorf("%s: packed from %s", name, got)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
