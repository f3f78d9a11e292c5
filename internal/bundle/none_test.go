package bundle_test

import (
	"bytes"
	"compress/gzip"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// What is no bundle is told to be none, each kind in its own words with what to do, in both languages: copying it again
// helps none of them.
func TestWhatIsNoBundle(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	rnd, noise := rand.New(rand.NewPCG(22, 2)), make([]byte, 100_000)
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	_, _ = z.Write(noise)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, x := range map[string]struct {
		data []byte
		code string
		en   string
	}{
		"text":    {[]byte("kubernetes: v1.34\n# 离线包\n"), "bundle.text", "is a text file"},
		"cut":     {[]byte(strings.Repeat("é", 300))[:511], "bundle.text", "is a text file"},
		"zipped":  {zipped.Bytes(), "bundle.not-tar", "does not contain a tar archive"},
		"noise":   {noise, "bundle.not-gzip", "is not compressed with gzip"},
		"empty":   {nil, "bundle.truncated", "at byte 0"},
		"missing": {nil, "bundle.open", "no such file"},
	} {
		file := filepath.Join(dir, name+".tar.gz")
		if name != "missing" {
			if err := os.WriteFile(file, x.data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := bundle.Open(file)
		f := event.AsFault(err)
		if f == nil || f.Code != x.code {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
			text, next := i18n.NewPrinter(lang).Fault(f)
			if !strings.Contains(text, file) || next == "" || strings.ContainsAny(text+next, "{}") {
				t.Errorf("%s: %q → %q", name, text, next)
			}
			if lang == i18n.English && !strings.Contains(text, x.en) {
				t.Errorf("%s: %q", name, text)
			}
		}
	}
}
