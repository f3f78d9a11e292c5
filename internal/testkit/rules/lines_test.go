package rules

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// maxColumns is what a line of Go may take, with tabs of four columns.
const maxColumns = 120

// TestLinesFit: whoever reads the source in two windows side by side sees whole lines.
func TestLinesFit(t *testing.T) {
	sources(t, func(path string, text []byte) {
		for _, line := range tooLong(text) {
			t.Errorf("%s:%d has more than %d columns", path, line, maxColumns)
		}
	})
}

// sources hands on every Go file of the repository, with its path there.
func sources(t *testing.T, each func(path string, text []byte)) {
	t.Helper()
	files(t, ".go", each)
}

// files hands on every file of the repository with this ending.
func files(t *testing.T, ending string, each func(path string, text []byte)) {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "bin" || d.Name() == "dist") {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ending {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		each(filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator))), text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestALongLineIsSeen(t *testing.T) {
	long := strings.Repeat("x", 120)
	for text, want := range map[string]int{
		"package a\n\nvar b = f(" + strings.Repeat("x, ", 40) + ")\n": 1,
		"package a\n\n// " + strings.Repeat("word ", 25) + "\n":       1,
		"package a\n\n// " + strings.Repeat("字", 60) + "。\n":          1,
		"package a\n\n// " + strings.Repeat("字", 58) + "\n":           0,
		"package a\n\nvar b = `\n" + long + " " + long + "`\n":        0,
		"package a\n\nvar b = `" + long + "`\n":                       0,
		"package a\n\nvar b = \"" + strings.Repeat("x ", 60) + "\"\n": 1,
		"package a\n\nvar b = \"" + long + "\"\n":                     0,
	} {
		if got := len(tooLong([]byte(text))); got != want {
			t.Errorf("%d too long lines, want %d:\n%s", got, want, text)
		}
	}
}

// tooLong are the numbers of the lines that could be broken and are not. Raw strings, words without a blank (addresses)
// and the long keys of tables stay on their lines, and so does what gofmt aligns with them.
func tooLong(text []byte) []int {
	lines := strings.Split(string(text), "\n")
	exempt := make([]bool, len(lines)+1)
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		raw := tok == token.STRING && strings.HasPrefix(lit, "`")
		word := tok == token.STRING && len(lit) > 60 && !strings.Contains(lit, " ")
		before := lines[file.Line(pos)-1][:file.Position(pos).Column-1]
		key := tok == token.STRING && len(lit) > 60 && strings.TrimSpace(before) == ""
		if !raw && !word && !key {
			continue
		}
		first := file.Line(pos)
		for n := range strings.Count(lit, "\n") + 1 {
			exempt[first+n] = true
		}
	}
	aligned := regexp.MustCompile(`: {2,}`)
	var out []int
	for i, line := range lines {
		width := ansi.StringWidth(aligned.ReplaceAllString(line, ": ")) + 4*strings.Count(line, "\t")
		if width > maxColumns && !exempt[i+1] && !strings.Contains(line, "//go:embed") && unbroken(line) < maxColumns-20 {
			out = append(out, i+1)
		}
	}
	return out
}

// unbroken is the width of a line's longest word: an address, say.
func unbroken(line string) int {
	most := 0
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || r > 0x2e80 }) {
		most = max(most, len(word))
	}
	return most
}
