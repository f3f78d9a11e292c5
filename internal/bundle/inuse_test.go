package bundle_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// twin is a copy of a bundle with another time, which Stage does not take for the file that it has verified.
func twin(t *testing.T, file string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), filepath.Base(file))
	put(t, p, content(t, file))
	if err := os.Chtimes(p, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	return p
}

// A stage that somebody uses is not written again for a copy of its bundle: what was opened or made in it stays. It is
// verified, and refused when it is damaged; when nobody uses it any more it is made again.
func TestAStageInUseStays(t *testing.T) {
	_, members := sample(t)
	file, dir := store(t, archive(t, members)), t.TempDir()
	first := stage(t, file, dir)
	images, err := first.Images(t.Context(), []string{"registry.test/b:2"})
	if err != nil {
		t.Fatal(err)
	}
	again := twin(t, file)
	second, err := bundle.Stage(t.Context(), again, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := images.Open()
	if err != nil {
		t.Fatal("what is in use is gone:", err)
	}
	if text, err := io.ReadAll(f); err != nil || sum(string(text)) != images.SHA256 {
		t.Error(err)
	}
	f.Close()

	// The same size, other bytes: of a program, and of the images, of which the manifest has no sum.
	for _, member := range []string{"kubelet", "images.tar"} {
		path := filepath.Join(first.Dir(), "members", member)
		was := content(t, path)
		put(t, path, "X"+was[1:])
		_, err = bundle.Stage(t.Context(), again, dir, nil)
		if fault := event.AsFault(err); fault == nil || fault.Code != "bundle.stage-damaged" ||
			fault.Args["dir"] != first.Dir() || fault.Args["file"] != again {
			t.Errorf("%s: %+v", member, fault)
		}
		put(t, path, was)
	}
	if err := os.Remove(filepath.Join(first.Dir(), "members", "kubelet")); err != nil {
		t.Fatal(err)
	}
	if _, err = bundle.Stage(t.Context(), file, dir, nil); event.AsFault(err) == nil ||
		event.AsFault(err).Code != "bundle.stage-damaged" {
		t.Error("a member is missing:", err)
	}
	first.Release()
	second.Release()
	third := stage(t, again, dir)
	if content(t, filepath.Join(third.Dir(), "members", "kubelet")) != "program" {
		t.Error("it was not made again")
	}
	third.Release()
}

// A bundle that changes while it is read is refused: a part that gets shorter, and another bundle in its place.
func TestABundleThatChangesWhileItIsRead(t *testing.T) {
	m, members := sample(t)
	data := archive(t, members)
	whole := split(t, data, 100, false)
	last := bundle.PartName(whole, (len(data)+99)/100)
	shrink := func(int64, int64) { _ = os.Truncate(last, 1) }
	if _, err := bundle.Verify(t.Context(), whole, shrink); code(t, whole, err) != "bundle.changed" {
		t.Error("the last part:", err)
	}
	m.Kubernetes = "v1.34.3"
	text, err := bundle.EncodeManifest(m)
	if err != nil {
		t.Fatal(err)
	}
	changed := slices.Clone(members)
	changed[0].body, changed[1].body = string(text), string(bundle.SumsText(text, m))
	other := archive(t, changed)
	file, dir := store(t, data), t.TempDir()
	replace := func([]byte) error { return os.WriteFile(file, other, 0o600) }
	if _, err := bundle.Stage(context.Background(), file, dir, nil, bundle.WithSums(replace)); code(t, file,
		err) != "bundle.changed" {
		t.Error("another bundle:", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", "*")); len(left) > 0 {
		t.Error("left:", left)
	}
}

// A member that somebody took out of the stage is told of, with the stage.
func TestAMemberThatIsGone(t *testing.T) {
	_, members := sample(t)
	s := stage(t, store(t, archive(t, members)), t.TempDir())
	defer s.Release()
	if err := os.Remove(filepath.Join(s.Dir(), "members", "kubelet")); err != nil {
		t.Fatal(err)
	}
	_, err := s.Open("kubelet")
	if f := event.AsFault(err); f == nil || f.Code != "bundle.read" || f.Args["member"] != "kubelet" ||
		f.Args["file"] != s.Dir() {
		t.Errorf("%+v", f)
	}
}
