package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestSizesThatPeopleWrite(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "512": 512, "512B": 512, "1K": 1024, "700M": 700 << 20, "700MiB": 700 << 20, "700MB": 700e6,
		"1.5G": 3 << 29, "1.5 GiB": 3 << 29, "2T": 2 << 40,
		"": -1, "G": -1, "-1G": -1, "1e9": -1, "4g": -1, "4 G B": -1, "1.": -1, "0x10": -1, "999999999999999T": -1,
		"４G": -1,
	} {
		if got, err := parseSize("--x", in); err != nil && want >= 0 || err == nil && got != want {
			t.Errorf("%q: %d, %v", in, got, err)
		}
	}
}

func TestThePartThatEveryMediumTakes(t *testing.T) {
	for in, want := range map[string]int64{
		"4G": 1<<32 - 1, "4GiB": 1<<32 - 1, "4096M": 1<<32 - 1, "4GB": 4e9, "8G": 8 << 30, "1M": 1 << 20,
		"700M": 700 << 20, "1MB": -1, "1023K": -1, "0": -1, "x": -1,
	} {
		if got, err := parsePart("--split", in); err != nil && want >= 0 || err == nil && got != want {
			t.Errorf("%q: %d, %v", in, got, err)
		}
	}
}

func TestAges(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"12h": 12 * time.Hour, "30d": 720 * time.Hour, "4w": 672 * time.Hour, "0d": -1, "30": -1, "1y": -1, "-3d": -1,
		"999999w": -1, "1.5d": -1, "": -1,
	} {
		if got, err := parseAge("--max-age", in); err != nil && want >= 0 || err == nil && got != want {
			t.Errorf("%q: %s, %v", in, got, err)
		}
	}
}

// Every line that is written with --output json is described.
func TestTheDocumentNamesEveryLine(t *testing.T) {
	text, err := os.ReadFile("../../docs/json-output.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## eggo-bundle\n")
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	// build.Kind
	kinds := []string{"started", "resolved", "progress", "fetched", "waiting", "retry", "packing", "unchanged", "built",
		"warning"}
	for _, f := range files {
		source, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\.emit\("([a-z]+)"`).FindAllSubmatch(source, -1) {
			kinds = append(kinds, string(m[1]))
		}
	}
	if len(kinds) < 25 {
		t.Fatalf("only %d kinds of lines were found", len(kinds))
	}
	for _, k := range kinds {
		if !strings.Contains(section, "\n| "+k+" |") {
			t.Errorf("docs/json-output.md says nothing of %s", k)
		}
	}
}
