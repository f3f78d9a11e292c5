package build

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle/lock"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
)

// TestVouches: a lock cannot say that a package's own signature does not count.
func TestVouches(t *testing.T) {
	signed := spec.Repository{URL: "https://a.test/x", Keyring: "embedded:x"}
	both := []spec.Repository{signed, {Dir: spec.Path{Name: "rpms"}}}
	for _, tt := range []struct {
		url, keyring string
		repos        []spec.Repository
		want         bool
	}{
		{"https://a.test/x/a.rpm", "embedded:x", both, true},
		{"https://a.test/x/a.rpm", "", both, false},
		{"https://a.test/x/a.rpm", "embedded:y", both, false},
		{"file:rpms/a.rpm", "", both, true},
		{"file:rpms/a.rpm", "embedded:x", both, false},
		{"https://cdn.test/a.rpm", "embedded:x", both, true},
		{"https://cdn.test/a.rpm", "", both[:1], false},
		{"https://cdn.test/a.rpm", "", nil, false},
	} {
		p := &plan{spec: &spec.Spec{Repositories: tt.repos}}
		if got := p.vouches(lock.Package{URL: tt.url, Keyring: tt.keyring}); got != tt.want {
			t.Errorf("%s by %q: %v", tt.url, tt.keyring, got)
		}
	}
}
