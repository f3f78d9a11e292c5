package build_test

import (
	"context"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/testkit/buildtest"
)

// Wherever a build is stopped, even before it has the cache, it was interrupted.
func TestAStoppedBuildWasInterrupted(t *testing.T) {
	o := job(t, buildtest.New(t), "registry.test/app:1", "amd64")
	mustBuild(t, o) // a cache that has something is looked through
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := build.Build(ctx, o); code(err) != "interrupted" {
		t.Errorf("build: %v", err)
	}
	if _, err := build.Update(ctx, o); code(err) != "interrupted" {
		t.Errorf("update: %v", err)
	}
}
