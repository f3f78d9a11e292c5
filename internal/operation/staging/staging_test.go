package staging

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/operation"
)

// TestAnArchitectureWithoutABundle: a deploy.yaml that names no bundle for a machine's architecture says so.
func TestAnArchitectureWithoutABundle(t *testing.T) {
	s := New(t.TempDir()).Session(operation.BundleUse{})
	defer s.Release()
	_, err := s.Stage(t.Context(), config.BundleSource{Arch: "arm64"})
	if f := event.AsFault(err); f == nil || f.Code != "bundle.no-source" || f.Args["arch"] != "arm64" {
		t.Errorf("%v", err)
	}
}
