package pack

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestARecordFindsAccidents(t *testing.T) {
	blobs := store{}
	r := rand.New(rand.NewPCG(3, 3))
	l, err := Plan([]Member{{Path: "big", Stored: true, Parts: []Part{blobs.put(noise(r, 40<<20))}}}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []int64{0, 17 << 20} {
		dir := t.TempDir()
		res, err := build(t.Context(), l, Options{Path: filepath.Join(dir, "b.tar.gz"), PartSize: part}, blobs, 1)
		if err != nil {
			t.Fatal(err)
		}
		text, err := res.Record()
		if err != nil {
			t.Fatal(err)
		}
		check := func(want bool, what string) {
			t.Helper()
			if same, err := Same(t.Context(), dir, text); same != want || err != nil {
				t.Errorf("%s: %v %v", what, same, err)
			}
		}
		check(true, "untouched")
		last := res.Parts[len(res.Parts)-1].Path
		st, _ := os.Stat(last)
		f, _ := os.OpenFile(last, os.O_RDWR, 0)
		var b [1]byte
		at := st.Size() - 100
		_, _ = f.ReadAt(b[:], at)
		_, _ = f.WriteAt([]byte{b[0] ^ 4}, at)
		_ = os.Chtimes(last, time.Time{}, st.ModTime())
		check(false, "one bit, and the time put back")
		_, _ = f.WriteAt(b[:], at)
		_ = os.Chtimes(last, time.Time{}, st.ModTime())
		check(true, "the bit put back")
		_ = f.Truncate(st.Size() - 1)
		check(false, "cut off")
		_ = f.Close()
		_ = os.Remove(last)
		check(false, "gone")
	}
	for name, text := range map[string]string{
		"no JSON":      "{",
		"a path":       `{"format":1,"piece":16777216,"files":[{"name":"../x","size":0}]}`,
		"too few sums": `{"format":1,"piece":16777216,"files":[{"name":"x","size":1}]}`,
	} {
		if same, err := Same(t.Context(), t.TempDir(), []byte(text)); same || err == nil {
			t.Errorf("%s: %v %v", name, same, err)
		}
	}
	later, _ := json.Marshal(record{Format: 2})
	if same, err := Same(t.Context(), t.TempDir(), later); same || err != nil {
		t.Errorf("a later format: %v %v", same, err)
	}
}
