package fetch

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

func newCache(t *testing.T) *Cache {
	t.Helper()
	c, err := OpenCache(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPrune(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	names := map[string]string{} // what a file is called here, by path below the cache
	for _, tt := range []struct {
		name string
		o    PruneOptions
		kept string
	}{
		{"nothing asked", PruneOptions{}, "cut e1 e2 e30 json strange"},
		{"older than ten days", PruneOptions{MaxAge: 10 * day}, "cut e1 e2 json strange"},
		{"older than a day and a half", PruneOptions{MaxAge: 36 * time.Hour}, "cut e1 json strange"},
		{"at most 250 bytes", PruneOptions{MaxSize: 250}, "cut e1 json strange"},
		{"at most 10 bytes", PruneOptions{MaxSize: 10}, "strange"},
		{"everything", PruneOptions{All: true}, "strange"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCache(t)
			put := func(name, path string, size int, age time.Duration) {
				names[path] = name
				p := filepath.Join(c.dir, path)
				if err := os.WriteFile(p, make([]byte, size), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(p, time.Time{}, now.Add(-age)); err != nil {
					t.Fatal(err)
				}
			}
			id := func(n byte) string { return strings.Repeat(string('a'+n), 64) }
			put("e30", "sha256/"+id(0), 100, 30*day)
			put("e2", "sha256/"+id(1), 100, 2*day)
			put("e1", "sha256/"+id(2), 100, day)
			put("cut", "partial/"+id(3), 100, time.Hour)
			put("json", "partial/"+id(3)+".json", 10, time.Hour)
			put("old cut", "partial/"+id(4), 100, 8*day)
			put("temp", "tmp/part-123", 100, 0)
			put("lone json", "partial/"+id(5)+".json", 10, time.Hour)
			put("strange", "sha256/README", 5, 99*day)
			res, err := c.Prune(context.Background(), tt.o, now)
			if err != nil {
				t.Fatal(err)
			}
			var kept []string
			for _, dir := range []string{"sha256", "partial", "tmp"} {
				list, _ := os.ReadDir(filepath.Join(c.dir, dir))
				for _, e := range list {
					kept = append(kept, names[dir+"/"+e.Name()])
				}
			}
			slices.Sort(kept)
			if got := strings.Join(kept, " "); got != tt.kept {
				t.Errorf("kept %s, want %s", got, tt.kept)
			}
			size, err := c.Size(context.Background())
			if err != nil || size != res.KeptBytes || res.Files+res.KeptFiles != 7 || res.Bytes+res.KeptBytes != 620 {
				t.Errorf("%+v, size %d: %v", res, size, err)
			}
		})
	}
}

// What a build uses stays, and reading is use.
func TestPruneAndBuilds(t *testing.T) {
	c := newCache(t)
	ctx := context.Background()
	var blobs []Blob
	for i := range 3 {
		b, err := c.Put(bytes.NewReader(blob(100+i)), 1000)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(c.path(b.SHA256), time.Time{}, time.Now().Add(-time.Duration(9-i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
		blobs = append(blobs, b)
	}
	one, err := c.Use(ctx)
	if err != nil {
		t.Fatal(err)
	}
	two, err := c.Use(ctx)
	if err != nil {
		t.Fatal(err)
	}
	one()
	_, err = c.Prune(ctx, PruneOptions{All: true}, time.Now())
	if f := event.AsFault(err); f == nil || f.Code != "fetch.cache-busy" || f.Class != event.ClassLocked {
		t.Fatal(err)
	}
	if r, err := c.Open(blobs[0]); err != nil { // the oldest, but now it is used
		t.Fatal(err)
	} else if r.Close(); len(blobs) != 3 {
		t.Fatal()
	}
	two()
	// A download that is under way, and a temporary file that is being written, are locked by themselves.
	s := Source{SHA256: strings.Repeat("f", 64)}
	leftover(t, c, s, []byte("x"), &origin{URL: s.SHA256})
	w, err := c.partial(ctx, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	tmp, err := c.create()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Prune(ctx, PruneOptions{MaxSize: 300}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Find(blobs[0].SHA256, -1); !ok {
		t.Error("what was read last is gone")
	}
	if _, ok := c.Find(blobs[1].SHA256, -1); ok {
		t.Error("what was read first is there")
	}
	if _, err := c.Prune(ctx, PruneOptions{All: true}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.readOrigin(s.SHA256); !ok {
		t.Error("the origin of a download under way is gone")
	}
	for _, f := range []*incoming{w, tmp} {
		if _, err := os.Stat(f.f.Name()); err != nil {
			t.Error(err)
		}
		f.discard()
	}
	dead, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.Prune(dead, PruneOptions{All: true}, time.Now()); err != context.Canceled {
		//nolint:errorlint // bare
		t.Error(err)
	}
}

// While Prune is at work a build waits, and can be interrupted.
func TestABuildWaitsForPrune(t *testing.T) {
	c := newCache(t)
	f, err := c.useLock()
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := tryLock(f, exclusive); !ok {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Use(ctx); err != context.Canceled { //nolint:errorlint // bare
		t.Fatal(err)
	}
	f.Close()
	release, err := c.Use(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	release()
}

func TestUnsafeDirectories(t *testing.T) {
	open := t.TempDir()
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	linked := t.TempDir()
	if err := os.Symlink(t.TempDir(), filepath.Join(linked, "partial")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{open: "fetch.cache-unsafe", linked: "fetch.cache-unsafe",
		file: "fetch.cache"} {
		if _, err := OpenCache(dir); code(err) != want {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if os.Geteuid() == 0 {
		other := t.TempDir()
		if err := os.Chown(other, 12345, 12345); err != nil {
			t.Skip("needs the right to give files away:", err)
		}
		if _, err := OpenCache(other); code(err) != "fetch.cache-unsafe" {
			t.Error(err)
		}
	}
	// A link in the place of an entry is not followed.
	c := newCache(t)
	b := Blob{sum(body), int64(len(body))}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, body, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, c.path(b.SHA256)); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Find(b.SHA256, -1); ok {
		t.Error("found")
	}
	if _, err := c.Open(b); code(err) != "fetch.cache" {
		t.Error(err)
	}
	if _, err := c.Open(Blob{SHA256: "../lock"}); code(err) != "fetch.sum-invalid" {
		t.Error(err)
	}
}
