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

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// sink is a function that takes a key: event.M, NewFault, Printer.T, and every function of the module that hands a
// parameter on to one.
type sink struct {
	arg   int      // index of the key among the arguments
	under string   // what stands before it in the catalogue: "" or "fault."
	args  int      // index of the first of the alternating names and values, -1 if they are not there
	given []string // names that the function itself gives
	made  bool     // some of the names are made up at run time: nobody knows them here
}

type source struct {
	fset  *token.FileSet
	files map[string][]*ast.File // by directory
	// by directory, then by the name of the function or method; those of "" are everywhere
	sinks map[string]map[string]sink
	texts map[string]string // string constants by name, "" when the name is ambiguous
}

func readModule(t *testing.T) *source {
	t.Helper()
	s := &source{fset: token.NewFileSet(), files: map[string][]*ast.File{}, texts: map[string]string{},
		sinks: map[string]map[string]sink{
			"": {
				"M": {arg: 0, args: 1}, "T": {arg: 0, args: 1}, "NewFault": {arg: 1, under: "fault.", args: 3},
			},
			// the printer fills it in
			filepath.Join("..", "..", "..", "internal", "run", "event"): {"Calling": {arg: 0, args: 2,
				given: []string{"{command}"}}},
		}}
	s.sinks[""]["Advising"] = sink{arg: 1, under: "fault.", args: 3,
		given: []string{"{command}", "{command2}", "{command3}"}}
	root := filepath.Join("..", "..", "..")
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

// called is the sink that a call in a file goes to: a function of its package, or of one that it imports.
func (s *source) called(dir string, file *ast.File, call *ast.CallExpr) (sink, bool) {
	var name string
	switch f := call.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
		if x, ok := f.X.(*ast.Ident); ok {
			if other := imported(file, x.Name); other != "" {
				dir = other
			}
		}
	}
	k, ok := s.sinks[dir][name]
	if !ok {
		k, ok = s.sinks[""][name]
	}
	return k, ok && len(call.Args) > k.arg
}

// imported is the directory of the package of this module that a file knows by that name, "" if there is none.
func imported(file *ast.File, name string) string {
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		inside, ours := strings.CutPrefix(path, "github.com/eggo-k8s/eggo/")
		if err != nil || !ours {
			continue
		}
		known := filepath.Base(inside)
		if i.Name != nil {
			known = i.Name.Name
		}
		if known == name {
			return filepath.Join("..", "..", "..", filepath.FromSlash(inside))
		}
	}
	return ""
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
					if kv, ok := n.(*ast.KeyValueExpr); ok { // Word: word, in a binding: shown without arguments
						if name, is := kv.Key.(*ast.Ident); is && bareFields[name.Name] {
							if id, is := kv.Value.(*ast.Ident); is {
								if i := parameter(fn, id.Name); i >= 0 {
									s.add(dir, fn.Name.Name, sink{arg: i, args: -1})
									grown = true
								}
							}
						}
						return true
					}
					call, ok := n.(*ast.CallExpr)
					if !ok {
						return true
					}
					k, ok := s.called(dir, f, call)
					if !ok {
						return true
					}
					id, ok := call.Args[k.arg].(*ast.Ident)
					if !ok {
						return true
					}
					if i := parameter(fn, id.Name); i >= 0 {
						s.add(dir, fn.Name.Name, s.handedOn(fn, call, k, i))
						grown = true
					}
					return true
				})
			}
		}
	}
	return grown
}

// bareFields are fields of structs that hold a key which is shown without arguments.
var bareFields = map[string]bool{"Word": true, "Hint": true}

func (s *source) add(dir, name string, k sink) {
	if s.sinks[dir] == nil {
		s.sinks[dir] = map[string]sink{}
	}
	n := 0
	for _, f := range s.files[dir] {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == name {
				n++
			}
		}
	}
	k.made = k.made || n > 1 // methods of several types: nobody knows here which one is meant
	s.sinks[dir][name] = k
}

// handedOn is the sink that a function is whose parameter i is the key of a call: the arguments are the function's own,
// or those of the call.
func (s *source) handedOn(fn *ast.FuncDecl, call *ast.CallExpr, k sink, i int) sink {
	out := sink{arg: i, under: k.under, args: -1, given: slices.Clone(k.given), made: k.made}
	if k.args < 0 {
		return out
	}
	if call.Ellipsis.IsValid() {
		if id, ok := call.Args[len(call.Args)-1].(*ast.Ident); ok && len(call.Args) == k.args+1 {
			if at, variadic := variadicParameter(fn, id.Name); variadic {
				out.args = at
				return out
			}
		}
		out.made = true
		return out
	}
	names, known := s.names(call, k.args)
	out.given, out.made = append(out.given, names...), out.made || !known
	return out
}

// names are those of the alternating names and values of a call.
func (s *source) names(call *ast.CallExpr, from int) (names []string, known bool) {
	for i := from; i < len(call.Args); i += 2 {
		name, _, ok := s.text(call.Args[i])
		if !ok {
			return nil, false
		}
		names = append(names, "{"+name+"}")
	}
	return names, true
}

func variadicParameter(fn *ast.FuncDecl, name string) (int, bool) {
	i := 0
	for _, field := range fn.Type.Params.List {
		for _, id := range field.Names {
			if _, variadic := field.Type.(*ast.Ellipsis); variadic && id.Name == name {
				return i, true
			}
			i++
		}
	}
	return 0, false
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

// What a sentence leaves open has to be filled in where it is said. The who and the why of a fault are filled in by the
// printer. Where only the beginning of a key is known, each sentence that begins so has to get what it needs.
func TestEveryHoleIsFilled(t *testing.T) {
	s := readModule(t)
	en := catalog(English)
	n := 0
	s.calls(func(at, key string, prefix bool, k sink, call *ast.CallExpr) {
		if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "reported" { // the user has been told in other words
			return
		}
		given, known := slices.Clone(k.given), !k.made
		if k.args >= 0 && call.Ellipsis.IsValid() {
			known = false
		} else if k.args >= 0 && known {
			var names []string
			names, known = s.names(call, k.args)
			given = append(given, names...)
		}
		if !known {
			return
		}
		if k.under == "fault." {
			given = append(given, "{node}", "{step}", "{cause}")
			if strings.Contains(at, "internal/bundle/") { // whoever opened the bundle adds its name
				given = append(given, "{file}")
			}
		}
		n++
		for _, said := range s.meant(en, key, prefix, call, k) {
			for _, h := range holes(en[said]) {
				if !slices.Contains(given, h) {
					t.Errorf("%s: %s needs %s and gets %v", at, said, h, given)
				}
			}
		}
	})
	t.Logf("%d calls", n)
	if n < 1500 {
		t.Fatalf("looked at %d calls only: the search is broken", n)
	}
}

// meant are the sentences that a call may say: the one of the key with those that stand below it, or all that begin and
// end as the key does.
func (s *source) meant(en map[string]string, key string, prefix bool, call *ast.CallExpr, k sink) (out []string) {
	if !prefix {
		for _, suffix := range []string{"", ".next", ".like", ".form", ".form.next", ".api", ".api.next",
			".kube", ".kube.next"} {
			if _, ok := en[key+suffix]; ok {
				out = append(out, key+suffix)
			}
		}
		return out
	}
	if k.under != "" || strings.Count(key, ".") < 2 { // too little is known
		return nil
	}
	end := ""
	if b, ok := call.Args[k.arg].(*ast.BinaryExpr); ok {
		end, _ = literal(b.Y)
	}
	for said := range en {
		if rest, ok := strings.CutPrefix(said, key); ok && strings.HasSuffix(rest, end) &&
			!strings.Contains(strings.TrimSuffix(rest, end), ".") {
			out = append(out, said)
		}
	}
	return out
}

// Every fault that the source makes reads as a sentence, in both languages, wherever it is shown.
func TestEveryFaultIsASentence(t *testing.T) {
	s := readModule(t)
	n := 0
	s.calls(func(at, key string, prefix bool, k sink, call *ast.CallExpr) {
		code, is := strings.CutPrefix(key, "fault.")
		if !is || prefix || k.made || k.args >= 0 && call.Ellipsis.IsValid() {
			return
		}
		if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "reported" {
			return
		}
		names, known := slices.Clone(k.given), true
		if k.args >= 0 {
			own, all := s.names(call, k.args)
			names, known = append(names, own...), all
		}
		if !known {
			return
		}
		n++
		f := &event.Fault{Code: code, Node: "node-1", Cause: "a cause", Args: map[string]string{"file": "a.tar"}}
		for _, name := range names {
			f.Args[strings.Trim(name, "{}")] = "3"
		}
		for _, lang := range []Lang{English, Chinese} {
			p := NewPrinter(lang)
			for _, shown := range []func() (string, string){func() (string, string) { return p.Fault(f) },
				func() (string, string) { return p.FaultIn("form", f) },
				func() (string, string) { return p.FaultIn("api", f) }} {
				text, next := shown()
				if all := text + next; strings.Contains(all, missing) || hole.MatchString(all) ||
					strings.Contains(all, key) {
					t.Errorf("%s: %s in %s: %s %s", at, key, lang, text, next)
				}
			}
		}
	})
	if n < 400 {
		t.Fatalf("looked at %d faults only: the search is broken", n)
	}
}

// What is shown without arguments leaves nothing open: the words of keys and of choices.
func TestWordsOfKeysLeaveNothingOpen(t *testing.T) {
	s := readModule(t)
	en := catalog(English)
	n := 0
	for _, files := range s.files {
		for _, f := range files {
			ast.Inspect(f, func(node ast.Node) bool {
				kv, ok := node.(*ast.KeyValueExpr)
				if !ok {
					return true
				}
				name, ok := kv.Key.(*ast.Ident)
				key, is := literal(kv.Value)
				if !ok || !is || !bareFields[name.Name] {
					return true
				}
				n++
				if h := holes(en[key]); len(h) > 0 {
					t.Errorf("%s: %s needs %v and gets nothing", s.fset.Position(kv.Pos()), key, h)
				}
				return true
			})
		}
	}
	if n < 50 {
		t.Fatalf("looked at %d words only: the search is broken", n)
	}
}

// Arguments belong to the key that they came with: nobody puts a message together out of the key of one and the
// arguments of another.
func TestNobodyMixesMessages(t *testing.T) {
	s := readModule(t)
	for dir, files := range s.files {
		if strings.HasSuffix(dir, "internal/run/event") || strings.HasSuffix(dir, "internal/output/i18n") {
			continue
		}
		for _, f := range files {
			ast.Inspect(f, func(node ast.Node) bool {
				switch x := node.(type) {
				case *ast.CompositeLit:
					if sel, ok := x.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Msg" && len(x.Elts) > 0 {
						if p, ok := sel.X.(*ast.Ident); ok && p.Name == "event" {
							t.Errorf("%s: a message is made by event.M", s.fset.Position(x.Pos()))
						}
					}
				case *ast.AssignStmt:
					for _, l := range x.Lhs {
						if sel, ok := l.(*ast.SelectorExpr); ok && sel.Sel.Name == "Args" {
							if inner, ok := sel.X.(*ast.SelectorExpr); ok &&
								(inner.Sel.Name == "Text" || inner.Sel.Name == "Title" || inner.Sel.Name == "Desc" ||
									inner.Sel.Name == "Why") {
								t.Errorf("%s: arguments of a message are given by event.M and With",
									s.fset.Position(x.Pos()))
							}
						}
					}
				}
				return true
			})
		}
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
				if k, ok := s.called(dir, f, call); ok {
					if key, prefix, ok := s.text(call.Args[k.arg]); ok && key != "" {
						visit(s.fset.Position(call.Pos()).String(), k.under+key, prefix, k, call)
					}
				}
				return true
			})
		}
	}
}
