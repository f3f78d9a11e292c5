package sbom

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTheBillOfAProgram(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8", Path: "example.com/prog/cmd/prog", Deps: []*debug.Module{
			{Path: "example.com/a", Version: "v1.2.3", Sum: "h1:abc="},
			{Path: "example.com/old", Version: "v1.0.0",
				Replace: &debug.Module{Path: "example.com/New+er", Version: "v2.0.0+x"}},
		},
	}
	var first, second bytes.Buffer
	for _, w := range []*bytes.Buffer{&first, &second} {
		d := program(info, "prog", "00ff", "1.0", time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC))
		if err := d.write(w); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same program has two documents")
	}
	var doc document
	if err := json.Unmarshal(first.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Version != "SPDX-2.3" || !strings.HasPrefix(doc.Namespace, "urn:uuid:") || len(doc.Relations) != 4 {
		t.Errorf("%+v", doc)
	}
	var got []string
	for _, p := range doc.Packages {
		got = append(got, p.Refs[0].Locator+" "+p.Comment)
	}
	want := []string{
		"pkg:golang/example.com/prog/cmd/prog@1.0 ",
		"pkg:golang/stdlib@1.26.8 the standard library of Go",
		"pkg:golang/example.com/a@v1.2.3 go.sum: h1:abc=",
		"pkg:golang/example.com/New%2Ber@v2.0.0%2Bx ",
	}
	if !slices.Equal(got, want) || doc.Packages[0].Sums[0].Value != "00ff" {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

// What the toolchain wrote into a program can be read.
func TestAProgramIsRead(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteProgram(&out, self, "1.0", time.Time{}); err != nil || !strings.Contains(out.String(), "stdlib@") {
		t.Errorf("%v\n%s", err, &out)
	}
}

func TestWhatIsNoProgram(t *testing.T) {
	if err := WriteProgram(&bytes.Buffer{}, "program_test.go", "1.0", time.Time{}); err == nil {
		t.Error("a text is taken for a program")
	}
}
