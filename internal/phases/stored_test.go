package phases_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// storedRun remembers the versions in which objects are stored, or writes again what is stored in others.
func storedRun(t *testing.T, l *phasestest.Lab, again bool) (*book, engine.Summary) {
	t.Helper()
	begun, err := upgrade.ReadBegun(l.StateDir())
	must(t, err)
	if !begun.Under() {
		begun = upgrade.Begun{From: phasestest.Version, Hops: []upgrade.Hop{{Version: newer}}}
	}
	b, sum, err := run(t, l, func(e phases.Env) *engine.Plan { return phases.Stored(e, begun, again) })
	if err != nil {
		t.Fatalf("%v %+v", err, sum.Failed)
	}
	return b, sum
}

// Objects of a resource that is stored in another version since the hop are written again, page by page; what is gone
// by then, or was written by somebody else, does not matter, and what is refused is named.
func TestWhatIsStoredInAnOldVersionIsWrittenAgain(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	const count = 520
	path := func(i int) string { return fmt.Sprintf("/api/v1/namespaces/shop/secrets/s%04d", i) }
	for i := range count {
		l.API.Add(path(i), map[string]any{"apiVersion": "v1", "kind": "Secret",
			"metadata": map[string]any{"namespace": "shop", "name": fmt.Sprintf("s%04d", i)}})
	}
	l.API.Add("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.shop", map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "things.shop"},
		"spec":     map[string]any{"group": "shop", "names": map[string]any{"plural": "things"}},
		"status":   map[string]any{"storedVersions": []any{"v1alpha1", "v1"}}})
	storedRun(t, l, false)

	// Nothing is stored in another version.
	b, sum := storedRun(t, l, true)
	if again := l.API.WrittenAgain(); len(again) > 0 || slices.Contains(sum.Changed, "check.stored") {
		t.Error("written again:", again)
	}
	told := of[event.Notice](b)
	if len(told) != 1 || told[0].Text.Key != "notice.upgrade-crds-stored" ||
		told[0].Text.Args["crds"] != "things.shop (v1alpha1, v1)" {
		t.Errorf("%+v", told)
	}

	l.API.StoreIn("secrets", "v2")
	l.API.Refuse(path(7), http.StatusForbidden)
	l.API.Refuse(path(8), http.StatusConflict)
	l.API.Refuse(path(9), http.StatusNotFound)
	b, _ = storedRun(t, l, true)
	again := slices.DeleteFunc(l.API.WrittenAgain(), func(p string) bool { return !strings.Contains(p, "/shop/") })
	if len(again) != count || again[0] != path(0) || again[count-1] != path(count-1) {
		t.Errorf("%d of %d are written again", len(again), count)
	}
	told = of[event.Notice](b)
	i := slices.IndexFunc(told, func(n event.Notice) bool { return n.Text.Key == "notice.upgrade-stored-refused" })
	if i < 0 || told[i].Text.Args["objects"] != "shop/s0007" {
		t.Errorf("%+v", told)
	}

	// It is known to be done.
	before := len(l.API.WrittenAgain())
	if _, sum = storedRun(t, l, true); len(l.API.WrittenAgain()) != before || len(sum.Changed) > 0 {
		t.Error("again:", sum.Changed)
	}
}
