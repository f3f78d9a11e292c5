package main

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// Who sets EGGO_NO_MOTION sees no spinner; 0 is as if it were not set.
func TestMotionIsForbiddenByTheEnvironment(t *testing.T) {
	for v, still := range map[string]bool{"": false, "0": false, "1": true, "yes": true} {
		env := &environment{P: i18n.NewPrinter(i18n.English), Getenv: func(name string) string {
			return map[string]string{"EGGO_NO_MOTION": v}[name]
		}}
		if got := screenOptions(env, true).Still; got != still {
			t.Errorf("EGGO_NO_MOTION=%s: still is %v", v, got)
		}
	}
}
