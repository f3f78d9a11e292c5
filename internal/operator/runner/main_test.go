package runner

import (
	"os"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases"
)

func TestMain(m *testing.M) {
	phases.Quiet() // client-go would write the errors of simulated nodes to stderr
	os.Exit(m.Run())
}

// long is for tests that make test-long runs.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long: make test-long")
	}
}
