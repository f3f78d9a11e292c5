package bundle_test

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

func TestMinor(t *testing.T) {
	for v, want := range map[string]int{"v1.34.2": 34, "v1.30.0-rc.1": 30, "v1.36": 36, "1.34.2": 0, "v2.1.0": 0, "": 0,
		"v1.x.1": 0, "v1.-3.1": 0} {
		if got := bundle.Minor(v); got != want {
			t.Errorf("%q: %d", v, got)
		}
	}
}
