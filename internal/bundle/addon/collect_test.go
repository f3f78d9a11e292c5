package addon_test

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/eggo-k8s/eggo/internal/bundle/addon"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func TestCollect(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	got, err := addon.Collect(fstest.MapFS{
		"10-b.yaml": file("b"), "2-a.yml": file("a"), "sub/deep/c.json": file("c"), "sub/.hidden": file("x"),
		".git/HEAD": file("x"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range got {
		names = append(names, f.Path+" "+f.Name+" "+string(f.Data))
	}
	if want := []string{"10-b.yaml 10-b.yaml b", "2-a.yml 2-a.yml a",
		"sub/deep/c.json sub__deep__c.json c"}; !slices.Equal(names, want) {
		t.Errorf("got %q", names)
	}
	for name, c := range map[string]struct {
		fs   fstest.MapFS
		want string
	}{
		"empty":        {fstest.MapFS{}, ""},
		"another type": {fstest.MapFS{"README.md": file("x")}, "addon.file-type"},
		"no extension": {fstest.MapFS{"a": file("x")}, "addon.file-type"},
		"a link": {fstest.MapFS{"a.yaml": {Data: []byte("/etc/shadow"), Mode: fs.ModeSymlink}},
			"addon.file-kind"},
		"a device":     {fstest.MapFS{"a.yaml": {Mode: fs.ModeDevice}}, "addon.file-kind"},
		"a space":      {fstest.MapFS{"a b.yaml": file("x")}, "addon.file-name"},
		"a dash first": {fstest.MapFS{"-a.yaml": file("x")}, "addon.file-name"},
		"long":         {fstest.MapFS{strings.Repeat("a", 200) + ".yaml": file("x")}, "addon.file-name"},
		"kustomize":    {fstest.MapFS{"base/kustomization.yaml": file("x")}, "addon.kustomization"},
		"a collision":  {fstest.MapFS{"a/b.yaml": file("x"), "a__b.yaml": file("y")}, "addon.file-collision"},
		"two cases":    {fstest.MapFS{"a.yaml": file("x"), "A.yaml": file("y")}, "addon.file-collision"},
		"too much text": {fstest.MapFS{"a.yaml": file(strings.Repeat("x", 40<<20)),
			"b.yaml": file(strings.Repeat("x", 40<<20))}, "addon.too-large"},
	} {
		if _, err := addon.Collect(c.fs); code(t, err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// shut has a file that cannot be opened.
type shut struct{ fstest.MapFS }

func (s shut) Open(name string) (fs.File, error) {
	if name == "sub/b.yaml" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return s.MapFS.Open(name)
}

func TestADirectoryThatCannotBeRead(t *testing.T) {
	for file, dir := range map[string]fs.FS{
		".":          os.DirFS(t.TempDir() + "/gone"),
		"sub/b.yaml": shut{fstest.MapFS{"a.yaml": {}, "sub/b.yaml": {}}},
	} {
		_, err := addon.Collect(dir)
		if f := event.AsFault(err); f == nil || f.Code != "addon.read" || f.Args["file"] != file {
			t.Errorf("%s: %v", file, err)
		}
	}
}
