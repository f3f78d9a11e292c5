package rules

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// size is how many lines a file and a function may have.
type size struct{ file, function int }

// sizeOf is what a reader holds at once: a function on a screen or two, a file in one sitting. Tests are read case by
// case, and have tables.
func sizeOf(path string) size {
	if strings.HasSuffix(path, "_test.go") {
		return size{700, 140}
	}
	return size{500, 80}
}

func TestFilesAndFunctionsFit(t *testing.T) {
	sources(t, func(path string, text []byte) {
		if generated(text) {
			return
		}
		found, err := tooBig(path, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, what := range found {
			t.Error(what)
		}
	})
}

func TestABigFunctionIsSeen(t *testing.T) {
	long := "a/a_test.go has 701 lines, more than 700"
	function := func(lines int) string { return "\nfunc f() {\n" + strings.Repeat("\tg()\n", lines-2) + "}\n" }
	for _, tc := range []struct {
		path, text string
		want       []string
	}{
		{"a/a.go", "package a\n" + function(80), nil},
		{"a/a.go", "package a\n" + function(81), []string{"a/a.go:3: f has 81 lines, more than 80"}},
		{"a/a_test.go", "package a\n" + function(140), nil},
		{"a/a_test.go", "package a\n" + function(141), []string{"a/a_test.go:3: f has 141 lines, more than 140"}},
		{"a/a.go", "package a\n" + strings.Repeat("\n", 499), nil},
		{"a/a.go", "package a\n" + strings.Repeat("\n", 500), []string{"a/a.go has 501 lines, more than 500"}},
		{"a/a_test.go", "package a\n" + strings.Repeat("\n", 700), []string{long}},
	} {
		got, err := tooBig(tc.path, []byte(tc.text))
		if err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%q, %v; want %q", got, err, tc.want)
		}
	}
}

// tooBig says which functions of a file have too many lines, and whether the file has.
func tooBig(path string, text []byte) (found []string, err error) {
	most := sizeOf(path)
	if n := strings.Count(string(text), "\n"); n > most.file {
		found = append(found, fmt.Sprintf("%s has %d lines, more than %d", path, n, most.file))
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		from, to := set.Position(f.Pos()).Line, set.Position(f.End()).Line
		if n := to - from + 1; n > most.function {
			found = append(found, fmt.Sprintf("%s:%d: %s has %d lines, more than %d", path, from, f.Name.Name, n,
				most.function))
		}
	}
	return found, nil
}
