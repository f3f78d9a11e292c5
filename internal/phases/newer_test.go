package phases_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// A node that a newer program has worked on is not cleaned, nor is any other in the same run; nothing is touched.
func TestACleanupLeavesWhatItCannotRevert(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	path := l.Nodes["w1"].Path("/var/lib/eggo-node/record")
	record, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(record), "format\t1\t-\n") {
		t.Fatalf("%v: %.40q", err, record)
	}
	for text, code := range map[string]string{
		string(record) + "quota\t/var\t10G\n":                        "node.record-unknown",
		strings.Replace(string(record), "format\t1", "format\t2", 1): "node.record-format",
	} {
		put(t, path, text)
		before := tree(t, l)
		b, _, err := run(t, l, plain)
		if f := event.AsFault(err); f == nil || f.Class != event.ClassPreflight ||
			!slices.Contains(b.findings(), code) {
			t.Errorf("%s: %v, %v", code, err, b.findings())
		}
		for _, f := range of[event.Finding](b) {
			if f.Fault.Code == code && (f.Host != "w1" || f.Fault.Args["kinds"] != "quota" &&
				f.Fault.Args["format"] != "2") {
				t.Errorf("%+v", f)
			}
		}
		if d := cmp.Diff(before, tree(t, l)); d != "" || len(of[event.Change](b)) > 0 {
			t.Errorf("%s: changed:\n%s", code, d)
		}
		b, _, err = run(t, l, phases.Deploy)
		if refused := slices.Contains(b.findings(), code); refused != (code == "node.record-format") ||
			refused == (err == nil) {
			t.Errorf("%s at a deploy: %v, %v", code, err, b.findings())
		}
	}
	put(t, path, string(record))
	cleanup(t, l, plain)
}
