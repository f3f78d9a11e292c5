package preflight

import (
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/nodestest"
)

// A node that was imported is not installed over; one that is to be imported runs.
func TestCheckOfANodeThatIsImported(t *testing.T) {
	for name, c := range map[string]struct {
		check Check
		spoil func(f *facts.Facts)
		want  []string
	}{
		"installed": {checkImported(), func(f *facts.Facts) {
			f.Cluster, f.RecordKinds = "mine", []string{"unit"}
		}, nil},
		"imported": {checkImported(), func(f *facts.Facts) {
			f.Cluster, f.RecordKinds = "mine", []string{"unit", "imported"}
		}, []string{"error preflight.imported"}},
		"it runs":         {checkImportable(), func(f *facts.Facts) { f.Active = []string{"kubelet"} }, nil},
		"it does not run": {checkImportable(), func(*facts.Facts) {}, []string{"error preflight.import-idle"}},
		"its CA is another one": {checkImportable(), func(f *facts.Facts) {
			f.Active, f.CA = []string{"kubelet"}, "another"
		}, []string{"error preflight.state-elsewhere"}},
	} {
		in, f := newInput(), nodestest.Good(worker)
		in.StateDir = t.TempDir()
		c.spoil(f)
		if got := nodestest.Codes(findingsOf(t, in, c.check, worker, f)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
