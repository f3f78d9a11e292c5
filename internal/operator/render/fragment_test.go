package render

import (
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
)

// Each key that a field sets is a key of deploy.yaml, or has keys below it.
func TestOfFields_AreKeys(t *testing.T) {
	for _, f := range ofFields() {
		if !slices.ContainsFunc(config.Keys(), func(k config.Key) bool {
			return k.Path == f || strings.HasPrefix(k.Path, f+".")
		}) {
			t.Errorf("deploy.yaml has no key %s", f)
		}
	}
}
