package i18n

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sink is a function that takes a key: event.M, NewFault, Printer.T, and every function of the module that hands a parameter on to one.
type sink struct {
	arg   int    // index of the key among the arguments
	under string // what stands before it in the catalogue: "" or "fault."
	args  int    // index of the first of the alternating names and values, -1 if they are not there
}

type source struct {
	fset  *token.FileSet
	files map[string][]*ast.File     // by directory
	sinks map[string]map[string]sink // by directory, then by the name of the function or method; those of "" are everywhere
	texts map[string]string          // string constants by name, "" when the name is ambiguous
}

func readModule(t *testing.T) *source {
	t.Helper()
	s := &source{fset: token.NewFileSet(), files: map[string][]*ast.File{}, texts: map[string]string{}, sinks: map[string]map[string]sink{
		"": {"M": {0, "", 1}, "T": {0, "", 1}, "NewFault": {1, "fault.", 3}},
	}}
	root := filepath.Join("..", "..")
	for _, top := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(s.fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			s.files[filepath.Dir(path)] = append(s.files[filepath.Dir(path)], f)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	s.constants()
	for grown := true; grown; {
		grown = s.wrappers()
	}
	return s
}

func (s *source) constants() {
	for _, files := range s.files {
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				v, ok := n.(*ast.ValueSpec)
				if !ok {
					return true
				}
				for i, name := range v.Names {
					if i >= len(v.Values) {
						continue
					}
					if lit, ok := literal(v.Values[i]); ok {
						if old, twice := s.texts[name.Name]; twice && old != lit {
							lit = ""
						}
						s.texts[name.Name] = lit
					}
				}
				return true
			})
		}
	}
}

func literal(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}

// text is the value of a literal or of a constant; prefix says that only its beginning is known.
func (s *source) text(e ast.Expr) (value string, prefix, ok bool) {
	if lit, ok := literal(e); ok {
		return lit, false, true
	}
	switch e := e.(type) {
	case *ast.Ident:
		v := s.texts[e.Name]
		return v, false, v != ""
	case *ast.SelectorExpr:
		v := s.texts[e.Sel.Name]
		return v, false, v != ""
	case *ast.BinaryExpr:
		v, _, ok := s.text(e.X)
		return v, true, ok && e.Op == token.ADD
	}
	return "", false, false
}

// called is the sink that a call goes to.
func (s *source) called(dir string, call *ast.CallExpr) (sink, bool) {
	var name string
	switch f := call.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
	}
	k, ok := s.sinks[dir][name]
	if !ok {
		k, ok = s.sinks[""][name]
	}
	return k, ok && len(call.Args) > k.arg
}

// wrappers finds functions that hand a parameter on as a key; true if it found new ones.
func (s *source) wrappers() (grown bool) {
	for dir, files := range s.files {
		for _, f := range files {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Body == nil {
					continue
				}
				if _, known := s.sinks[dir][fn.Name.Name]; known {
					continue
				}
				ast.Inspect(fn.Body, func(n ast.Node) bool {
					call, ok := n.(*ast.CallExpr)
					if !ok {
						return true
					}
					k, ok := s.called(dir, call)
					if !ok {
						return true
					}
					id, ok := call.Args[k.arg].(*ast.Ident)
					if !ok {
						return true
					}
					if i := parameter(fn, id.Name); i >= 0 {
						if s.sinks[dir] == nil {
							s.sinks[dir] = map[string]sink{}
						}
						s.sinks[dir][fn.Name.Name] = sink{i, k.under, -1}
						grown = true
					}
					return true
				})
			}
		}
	}
	return grown
}

func parameter(fn *ast.FuncDecl, name string) int {
	i := 0
	for _, field := range fn.Type.Params.List {
		for _, id := range field.Names {
			if t, ok := field.Type.(*ast.Ident); ok && id.Name == name && t.Name == "string" {
				return i
			}
			i++
		}
	}
	return -1
}

func TestWhateverIsSaidHasASentence(t *testing.T) {
	s := readModule(t)
	en := catalog(English)
	keys := make([]string, 0, len(en))
	for k := range en {
		keys = append(keys, k)
	}
	checked := map[string]int{}
	s.calls(func(at, key string, prefix bool, _ sink, _ *ast.CallExpr) {
		checked[key]++
		if prefix {
			if !slices.ContainsFunc(keys, func(k string) bool { return strings.HasPrefix(k, key) }) {
				t.Errorf("%s: no sentence begins with %q", at, key)
			}
		} else if _, ok := en[key]; !ok {
			t.Errorf("%s: %q has no sentence", at, key)
		}
	})
	if len(checked) < 200 {
		t.Fatalf("found only %d keys in the source: the search is broken", len(checked))
	}
}

// What a sentence leaves open has to be filled in where it is said. The who and the why of a fault are filled in by the printer.
func TestEveryHoleIsFilled(t *testing.T) {
	s := readModule(t)
	en := catalog(English)
	n := 0
	s.calls(func(at, key string, prefix bool, k sink, call *ast.CallExpr) {
		if prefix || k.args < 0 || call.Ellipsis.IsValid() {
			return
		}
		given := []string{}
		if k.under == "fault." {
			given = append(given, "{node}", "{step}", "{cause}")
		}
		for i := k.args; i < len(call.Args); i += 2 {
			name, _, ok := s.text(call.Args[i])
			if !ok {
				return // made up at run time
			}
			given = append(given, "{"+name+"}")
		}
		n++
		for _, suffix := range []string{"", ".next"} {
			for _, h := range holes(en[key+suffix]) {
				if !slices.Contains(given, h) {
					t.Errorf("%s: %s needs %s and gets %v", at, key+suffix, h, given)
				}
			}
		}
	})
	if n < 100 {
		t.Fatalf("looked at %d calls only: the search is broken", n)
	}
}

// calls visits every call whose key is known, with its place.
func (s *source) calls(visit func(at, key string, prefix bool, k sink, call *ast.CallExpr)) {
	for dir, files := range s.files {
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if k, ok := s.called(dir, call); ok {
					if key, prefix, ok := s.text(call.Args[k.arg]); ok && key != "" {
						visit(s.fset.Position(call.Pos()).String(), k.under+key, prefix, k, call)
					}
				}
				return true
			})
		}
	}
}
