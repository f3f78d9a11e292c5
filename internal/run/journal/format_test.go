package journal

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// format1 is a copy of the state directory that version 56abbcc left.
func format1(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "format1"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What earlier versions wrote every later one reads: the directory, its runs and every field of every record.
func TestFormat1IsRead(t *testing.T) {
	dir := format1(t)
	c, err := At(dir, "sim")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := c.Runs()
	if err != nil || len(ids) != 1 {
		t.Fatal(ids, err)
	}
	text, err := os.ReadFile(filepath.Join(c.RunDir(ids[0]), eventsFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	n := 0
	for rec, err := range Read(c.RunDir(ids[0])) {
		if err != nil {
			t.Fatal(err)
		}
		if _, other := rec.Event.(event.Other); other {
			t.Errorf("%s is not known", lines[n])
		}
		back, err := event.Encode(rec)
		if err != nil {
			t.Fatal(err)
		}
		var was, is map[string]any
		if err := json.Unmarshal(lines[n], &was); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(back, &is); err != nil {
			t.Fatal(err)
		}
		for k, v := range was {
			if !reflect.DeepEqual(v, is[k]) {
				t.Errorf("%s of line %d was %v and is %v", k, n+1, v, is[k])
			}
		}
		n++
	}
	if n != 220 || n != len(lines) {
		t.Errorf("%d records of %d lines", n, len(lines))
	}
	done, err := Done(c.RunDir(ids[0]))
	if err != nil || len(done) != 46 || !done["check.nodes"] {
		t.Error(len(done), err)
	}
	if h, err := c.Holder(); err != nil || h.PID != 4242 || h.Host != "control" {
		t.Error(h, err)
	}
	if c, err = Open(dir, "sim"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Resume("deploy", "x"); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(c.Path(), FormatFile)); err != nil || string(text) != "{\"format\":1}\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestANewerFormatIsRefused(t *testing.T) {
	dir := format1(t)
	c, err := Open(dir, "sim")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := c.Runs()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(c.RunDir(ids[0]), eventsFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Replace(text, []byte(`"type":"run_started",`), []byte(`"type":"run_started","format":2,"run":7,`), 1)
	if err := os.WriteFile(path, newer, 0o600); err != nil {
		t.Fatal(err)
	}
	_, read := readAll(t, c.RunDir(ids[0]))
	_, resume := c.Resume("deploy", "x")
	for _, err := range []error{read, resume} {
		f := event.AsFault(err)
		if f == nil || f.Code != "journal.newer-format" || f.Args["path"] != path || f.Args["format"] != "2" ||
			f.Args["ours"] != "1" {
			t.Errorf("%+v", f)
		}
	}
	for text, code := range map[string]string{"{\"format\":3,\"more\":{}}": "state.newer-format",
		"{\"format\":2}": "", "torn": "journal.read", "{}": "journal.read", "{\"format\":1}": ""} {
		if err := os.WriteFile(filepath.Join(c.Path(), FormatFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, at := At(dir, "sim")
		_, opened := Open(dir, "sim")
		if codeOf(at) != code || codeOf(opened) != code {
			t.Errorf("%s: %v, %v", text, at, opened)
		}
		if f := event.AsFault(at); code == "state.newer-format" &&
			(f.Args["path"] != c.Path() || f.Args["format"] != "3" || f.Args["ours"] != "2") {
			t.Errorf("%+v", f)
		}
	}
}

// A record of a type that is not known is kept as it came.
func TestARecordOfANewTypeIsKept(t *testing.T) {
	dir := t.TempDir()
	line := `{"seq":1,"time":"2026-11-22T18:47:04.737459384Z","type":"node_cooled","node":"w1","kelvin":{"a":[1,2]}}`
	if err := os.WriteFile(filepath.Join(dir, eventsFile), []byte(line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	recs, err := readAll(t, dir)
	if err != nil || len(recs) != 1 {
		t.Fatal(recs, err)
	}
	if back, err := event.Encode(recs[0]); err != nil || string(back) != line {
		t.Errorf("%s, %v", back, err)
	}
}
