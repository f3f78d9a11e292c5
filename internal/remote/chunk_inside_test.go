package remote

import (
	"slices"
	"testing"
	"time"
)

// TestChunksGrowOnAQuickLinkAlone: and after one that took long they are as small as at the beginning.
func TestChunksGrowOnAQuickLinkAlone(t *testing.T) {
	const quick, usual, slow = 100 * time.Millisecond, time.Second, 6 * time.Second
	for name, c := range map[string]struct {
		took []time.Duration
		want int
	}{
		"nothing was sent":                             {nil, 1},
		"three may only fill buffers":                  {slices.Repeat([]time.Duration{quick}, 3), 1},
		"four do not":                                  {slices.Repeat([]time.Duration{quick}, 4), 2},
		"there is a largest":                           {slices.Repeat([]time.Duration{quick}, 40), 4},
		"one that is not quick begins the count again": {[]time.Duration{quick, quick, quick, usual, quick}, 1},
		"none grows on a slow link":                    {slices.Repeat([]time.Duration{usual}, 40), 1},
		"a link that gets slow":                        {append(slices.Repeat([]time.Duration{quick}, 8), slow), 1},
	} {
		t.Run(name, func(t *testing.T) {
			size := chunk{size: 1, least: 1}
			for _, took := range c.took {
				size.sent(took)
			}
			if size.size != c.want {
				t.Errorf("the next chunk is %d times the first, want %d", size.size, c.want)
			}
		})
	}
}
