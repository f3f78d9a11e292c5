package build_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/eggo-k8s/eggo/internal/testkit/buildtest"
)

// TestKilledBuildsLeaveNothing: the temporary files of builds that were killed are gone after the next one; while
// another build is at work they may be its own.
func TestKilledBuildsLeaveNothing(t *testing.T) {
	o := job(t, buildtest.New(t), "registry.test/app:1", "amd64")
	left := filepath.Join(filepath.Dir(o.Out), "cache", "tmp", "part-123")
	write(t, left, "half a program")
	release, err := o.Cache.Use(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mustBuild(t, o)
	if _, err := os.Stat(left); err != nil {
		t.Error("another build may be writing it:", err)
	}
	release()
	mustBuild(t, o)
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Error("it is still there:", err)
	}
}
