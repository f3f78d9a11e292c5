package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// processFree are the directories with nothing of the process in them: several operations run in one, a server
// may hold a host, and the line interface gets its terminal from whoever starts it.
func processFree() []string { return []string{"../../operation", "../../ui/lines"} }

// ofProcess are the packages whose use is the process's, with the names that are; none: all.
var ofProcess = map[string][]string{
	"os": {"Args", "Stdin", "Stdout", "Stderr", "Getenv", "LookupEnv", "Setenv", "Environ", "Exit", "Chdir",
		"Getwd", "UserHomeDir"},
	"filepath": {"Abs"}, // is below the working directory
	"signal":   nil,
	"flag":     nil,
}

// processUses are the places of a file that use the process, or keep state in the package.
func processUses(fset *token.FileSet, f *ast.File) []string {
	var out []string
	at := func(n ast.Node, what string) { out = append(out, fset.Position(n.Pos()).String()+": "+what) }
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			if v := s.(*ast.ValueSpec); !constant(v) {
				at(v, "var "+v.Names[0].Name+" is state of the process")
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok || x.Obj != nil { // Obj: a variable of that name
			return true
		}
		if names, bad := ofProcess[x.Name]; bad && (names == nil || slices.Contains(names, sel.Sel.Name)) {
			at(sel, x.Name+"."+sel.Sel.Name+" is the process's")
		}
		return true
	})
	return out
}

// constant says whether a variable never changes: an error value, an expression that is matched, a replacer of text, or
// an assertion about an interface.
func constant(v *ast.ValueSpec) bool {
	if v.Names[0].Name == "_" {
		return true
	}
	for _, val := range v.Values {
		call, ok := val.(*ast.CallExpr)
		if !ok {
			return false
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		x, ok := sel.X.(*ast.Ident)
		fixed := []string{"errors.New", "regexp.MustCompile", "strings.NewReplacer"}
		if !ok || !slices.Contains(fixed, x.Name+"."+sel.Sel.Name) {
			return false
		}
	}
	return len(v.Values) > 0
}

func TestOperationsKnowNoProcess(t *testing.T) {
	for _, dir := range processFree() {
		knowsNoProcess(t, dir)
	}
}

func knowsNoProcess(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return err
		}
		for _, use := range processUses(fset, f) {
			if strings.HasSuffix(path, "operation/run.go") && strings.HasSuffix(use, "filepath.Abs is the process's") {
				continue // hooks come as they were typed where the program was started
			}
			t.Error(use)
		}
		return nil
	})
	if err != nil || files < 3 {
		t.Fatalf("%s: %d files: %v", dir, files, err)
	}
}

// The rule itself, on what must not be and on what may.
func TestAUseOfTheProcessIsSeen(t *testing.T) {
	for src, want := range map[string]int{
		`var cache = map[string]int{}`:                        1,
		`var n int`:                                           1,
		`var errGone = errors.New("gone")`:                    0,
		`var signs = strings.NewReplacer("a", "b")`:           0,
		`var word = regexp.MustCompile("a+")`:                 0,
		`var r = strings.NewReader("a")`:                      1,
		`var _ io.Reader = (*reader)(nil)`:                    0,
		`func f() { os.Exit(1) }`:                             1,
		`func f() string { return os.Getenv("HOME") }`:        1,
		`func f() { signal.Notify(nil); flag.Parse() }`:       2,
		`func f() error { return os.Remove("x") }`:            0,
		`func f() { os.UserHomeDir(); filepath.Abs("x") }`:    2,
		`func f() { os := box{}; _ = os.Args; var here int }`: 0,
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "x.go", "package x\n"+src, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := processUses(fset, f); len(got) != want {
			t.Errorf("%s: %q, want %d", src, got, want)
		}
	}
}

// The screens may import the requests, so these must not bring the engine and the phases with them.
func TestRequestsImportValuesOnly(t *testing.T) {
	const request = module + "internal/operation/request"
	allowed := []string{"internal/config", "internal/bundle", "internal/run/event"}
	seen := false
	for _, p := range packages(t) {
		if p.ImportPath != request {
			continue
		}
		seen = true
		for _, to := range p.Imports {
			if inside, own := strings.CutPrefix(to, module); own && !slices.Contains(allowed, inside) {
				t.Errorf("internal/operation/request imports %s", inside)
			}
		}
	}
	if !seen {
		t.Error("there is no internal/operation/request")
	}
}
