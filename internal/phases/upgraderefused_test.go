package phases_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// corrupt changes a byte in the middle of a bundle.
func corrupt(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 0xff
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// What would stop an upgrade is told before a node is touched, all of it at once.
func TestAnUpgradeIsRefusedBeforeANodeIsTouched(t *testing.T) {
	t.Parallel()
	chain := []string{"v1.35.4", "v1.36.1"}
	for name, c := range map[string]struct {
		versions []string
		spoil    func(t *testing.T, l *phasestest.Lab)
		want     []string // some of the findings
	}{
		"a drain that is blocked, and a webhook that nobody answers for": {chain, func(_ *testing.T, l *phasestest.Lab) {
			l.API.AddPod("shop", "web", "w1")
			_ = l.API.Merge("/api/v1/namespaces/shop/pods/web", map[string]any{"status": map[string]any{
				"phase": "Running", "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}})
			l.API.Add("/apis/policy/v1/namespaces/shop/poddisruptionbudgets/web", map[string]any{
				"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
				"metadata": map[string]any{"namespace": "shop", "name": "web"},
				"spec":     map[string]any{"selector": map[string]any{}},
				"status":   map[string]any{"disruptionsAllowed": 0}})
			l.API.Add("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/guard", map[string]any{
				"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
				"metadata": map[string]any{"name": "guard"}, "webhooks": []any{map[string]any{"name": "guard.shop",
					"clientConfig": map[string]any{"service": map[string]any{"namespace": "shop", "name": "guard"}},
					"rules": []any{map[string]any{"operations": []any{"*"}, "apiGroups": []any{""},
						"apiVersions": []any{"v1"}, "resources": []any{"pods"}}}}}})
		}, []string{"w1 error upgrade.budget", " error upgrade.webhook"}},
		"a node that is not Ready": {chain, func(_ *testing.T, l *phasestest.Lab) {
			_ = l.API.Merge("/api/v1/nodes/w2", map[string]any{"status": map[string]any{"conditions": []any{
				map[string]any{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}}}})
		}, []string{"w2 error upgrade.not-ready"}},
		"a corrupt bundle in the middle": {[]string{"v1.35.4", "v1.36.1", "v1.37.0"}, func(t *testing.T,
			l *phasestest.Lab) {
			if err := os.RemoveAll(filepath.Join(l.Dir, "stage-v1.36.1")); err != nil {
				t.Fatal(err)
			}
			corrupt(t, filepath.Join(l.Dir, "bundle-v1.36.1.tar.gz"))
		}, []string{" error upgrade.hop", " error bundle."}},
		"a minor that is skipped": {[]string{"v1.36.1"}, nil, []string{" error upgrade.hop-skips"}},
		"an older bundle":         {[]string{"v1.33.9"}, nil, []string{" error upgrade.hop-older"}},
		"the old bundle is lost": {chain, func(t *testing.T, l *phasestest.Lab) {
			corrupt(t, filepath.Join(l.Dir, "bundle.tar.gz"))
			if err := os.RemoveAll(filepath.Join(l.Dir, "stage")); err != nil { // no copy of it is left
				t.Fatal(err)
			}
		}, []string{" error bundle."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := deployed(t, workers(2))
			o := hopsOf(t, l, c.versions...)
			if c.spoil != nil {
				c.spoil(t, l)
			}
			before, writes := tree(t, l), len(l.API.Writes())
			b, sum, err := upgraded(t, l, o)
			var got []string
			for _, f := range of[event.Finding](b) {
				got = append(got, f.Host+" "+string(f.Severity)+" "+f.Fault.Code)
			}
			for _, want := range c.want {
				if !slices.ContainsFunc(got, func(f string) bool { return strings.HasPrefix(f, want) }) {
					t.Errorf("%q is not found, but %q", want, got)
				}
			}
			if f := event.AsFault(err); f == nil || len(sum.Changed) > 0 || len(l.API.Writes()) > writes {
				t.Errorf("%v, changed %v, %q", err, sum.Changed, l.API.Writes()[writes:])
			}
			if diff := cmp.Diff(before, tree(t, l)); diff != "" {
				t.Error("touched:", diff)
			}
			if is, err := upgrade.ReadBegun(l.StateDir()); err != nil || is.Under() {
				t.Errorf("it has begun: %+v, %v", is, err)
			}
		})
	}
}
