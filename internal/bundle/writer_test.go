package bundle_test

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/pack"
)

// TestWhatTheWriterSplits: parts as package pack writes them, full and difference, are read here, and agree with the
// sums beside them.
func TestWhatTheWriterSplits(t *testing.T) {
	v1, v2, _ := releases(bundle.Typed)
	want := tree(t, stage(t, store(t, archive(t, v2.full(t))), t.TempDir()).Dir(), "complete.json")
	for name, members := range map[string][]member{"full": v2.full(t), "difference": v2.since(t, v1)} {
		t.Run(name, func(t *testing.T) {
			var list []pack.Member
			for _, m := range members {
				list = append(list, pack.Member{Path: m.name, Parts: []pack.Part{{Data: []byte(m.body)}}})
			}
			layout, err := pack.Plan(list, time.Unix(0, 0).UTC())
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "test-amd64.tar.gz")
			w, err := pack.Create(context.Background(), layout, pack.Options{Path: file, PartSize: 1 << 10, Sums: true})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Abort()
			res, err := w.Finish(context.Background(), func(_ context.Context, sum string) (io.ReadCloser, error) {
				return nil, fmt.Errorf("no blob %s", sum)
			})
			if err != nil || len(res.Parts) < 2 {
				t.Fatalf("%+v, %v", res, err)
			}
			if _, err := bundle.Verify(context.Background(), file, nil); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			stage(t, store(t, archive(t, v1.full(t))), dir)
			if d := cmp.Diff(want, tree(t, stage(t, bundle.PartName(file, 1), dir).Dir(), "complete.json")); d != "" {
				t.Errorf("(-whole):\n%s", d)
			}
		})
	}
}
