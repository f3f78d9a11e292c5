package phases_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// TestAVersionThatALinkStillLeadsToIsNotRemoved: what a service would be started from stays.
func TestAVersionThatALinkStillLeadsToIsNotRemoved(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	w := l.Nodes["w1"]
	link := w.Path("/usr/local/bin/kubelet")
	old, err := os.Readlink(link)
	must(t, err, l.Rebuild("again"))
	b := &book{}
	_, err = engine.Run(t.Context(), phases.Deploy(l.Env(func(e event.Event) error {
		if c, ok := e.(event.Change); ok && c.Host == "w1" && c.Desc.Key == "change.remove" &&
			strings.Contains(c.Desc.Args["path"], "/kubelet-") {
			must(t, os.Remove(link), os.Symlink(old, link)) // somebody takes the new one back
		}
		return b.emit(e)
	})), quick(b))
	if err == nil {
		t.Error("nobody heard of it")
	}
	refused := slices.ContainsFunc(of[event.StepEnded](b), func(e event.StepEnded) bool {
		return e.Fault != nil && e.Fault.Code == "node.version-linked"
	})
	if is, err := os.Readlink(link); !refused || is != old || err != nil || readFile(t, old) != "program kubelet" {
		t.Errorf("refused %v, the link: %q %v", refused, is, err)
	}
	deploy(t, l)
	if left := outOfTurn(l); len(left) > 0 {
		t.Error(left)
	}
}
