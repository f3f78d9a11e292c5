package preflight

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// lists are those of the package by their names.
func lists() map[string][]Check {
	return map[string][]Check{"Deploy": Deploy(), "Machine": Machine(), "Bundle": Bundle(), "Cleanup": Cleanup(),
		"Remove": Remove(), "Restore": Restore(), "Upgrade": Upgrade(), "Back": Back(), "Same": Same(),
		"Import": Import(), "Handover": Handover()}
}

// source is the text of the package's files by their names, without those of tests.
func source(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") {
			out[name] = string(data)
		}
	}
	return out
}

func parse(t *testing.T, name, text string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// makers are the functions of a file that return a Check.
func makers(f *ast.File) (out []string) {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Type.Results == nil || len(fn.Type.Results.List) != 1 {
			continue
		}
		if id, ok := fn.Type.Results.List[0].Type.(*ast.Ident); ok && id.Name == "Check" {
			out = append(out, fn.Name.Name)
		}
	}
	return out
}

// misplaced says which file declares no check of its name, and which check no list names.
func misplaced(t *testing.T, files map[string]string) (out []string) {
	listed := map[string]bool{}
	ast.Inspect(parse(t, "lists.go", files["lists.go"]), func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if id, ok := call.Fun.(*ast.Ident); ok {
				listed[id.Name] = true
			}
		}
		return true
	})
	for name, text := range files {
		made := makers(parse(t, name, text))
		word, is := strings.CutPrefix(name, "check_")
		word = strings.ReplaceAll(strings.TrimSuffix(word, ".go"), "_", "")
		switch {
		case !is && len(made) > 0:
			out = append(out, name+" declares a check")
		case is && (len(made) != 1 || !strings.EqualFold(made[0], "check"+word)):
			out = append(out, name+" does not declare one check of its name")
		case is && !listed[made[0]]:
			out = append(out, name+": no list names "+made[0])
		}
	}
	slices.Sort(out)
	return out
}

func TestEveryCheckFileIsListed(t *testing.T) {
	files := source(t)
	if got := misplaced(t, files); len(got) > 0 {
		t.Error(strings.Join(got, "\n"))
	}
	for list, checks := range lists() {
		seen := map[string]bool{}
		for _, c := range checks {
			if seen[c.Name] {
				t.Errorf("%s has %s twice", list, c.Name)
			}
			seen[c.Name] = true
			if _, is := files["check_"+strings.ReplaceAll(c.Name, "-", "_")+".go"]; !is {
				t.Errorf("%s: the check %s has no file of its name", list, c.Name)
			}
			rules := 0
			for _, is := range []bool{c.Node != nil, c.Ask != nil, c.Bundle != nil, c.Cluster != nil} {
				if is {
					rules++
				}
			}
			if rules != 1 {
				t.Errorf("%s: %s has %d rules", list, c.Name, rules)
			}
			if c.kind() != ofNodes && c.When != nil || c.kind() == ofCluster && c.Needs != Seen {
				t.Errorf("%s: %s says of which nodes it is, and is of none", list, c.Name)
			}
		}
	}
	if n := len(files); n < 45 {
		t.Errorf("only %d files: the search is broken", n)
	}
}

// unworded are the sentences that codes of checks lack.
func unworded(checks []Check) (out []string) {
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		p := i18n.NewPrinter(lang)
		for _, c := range checks {
			for _, code := range c.Codes {
				for _, key := range []string{"fault." + code, "fault." + code + ".next"} {
					if !p.Has(key) {
						out = append(out, string(lang)+" "+key)
					}
				}
			}
		}
	}
	return out
}

// code is how codes of findings look.
var code = regexp.MustCompile(`^(preflight|upgrade|bundle|pki|state|node)\.[a-z][a-z0-9-]*$`)

// codesOf are the codes that a file names where it says what its check finds, and elsewhere.
func codesOf(f *ast.File) (said, found []string) {
	var inside ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		if kv, ok := n.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok && id.Name == "Codes" {
				inside = kv.Value
			}
		}
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil || !code.MatchString(text) {
			return true
		}
		if inside != nil && lit.Pos() >= inside.Pos() && lit.End() <= inside.End() {
			said = append(said, text)
		} else if !slices.Contains(found, text) {
			found = append(found, text)
		}
		return true
	})
	return said, found
}

func TestEveryCheckHasItsSentences(t *testing.T) {
	n := 0
	for _, checks := range lists() {
		if got := unworded(checks); len(got) > 0 {
			t.Errorf("there is no %s", strings.Join(got, ", "))
		}
		n += len(checks)
	}
	if n < 60 {
		t.Errorf("only %d checks: the lists are broken", n)
	}
	// What a check finds by itself has a code that it says, and it says none that it does not find.
	elsewhere := map[string]string{ // with the codes of rules that are not in the check's file
		"check_record.go":     "node.record-format, node.record-unknown", // node.UnsupportedRecord
		"check_ours.go":       "preflight.state-elsewhere, state.read",   // authorityFindings
		"check_importable.go": "preflight.state-elsewhere, state.read",   // likewise
		"check_owner.go":      "state.read, state.newer-format",          // input.ReadOwner
	}
	for name, text := range source(t) {
		if !strings.HasPrefix(name, "check_") {
			continue
		}
		said, found := codesOf(parse(t, name, text))
		for _, c := range found {
			if !slices.Contains(said, c) {
				t.Errorf("%s finds %s and does not say so", name, c)
			}
		}
		for _, c := range said {
			if !slices.Contains(found, c) && !strings.Contains(elsewhere[name], c) {
				t.Errorf("%s says that it finds %s, and does not", name, c)
			}
		}
	}
}

// Who shows findings asks for no codes: a new one is shown, counted and answered like any other. The wizard knows those
// that it can do something about itself, inspecting one machine takes its architecture as it is, and operation/desired
// refuses a role that is lost before a run begins. The pool distinguishes a machine that another cluster uses.
func TestNobodyAsksForTheCodeOfACheck(t *testing.T) {
	fixed := []string{"preflight.arch", "preflight.os", "preflight.no-bundle", "preflight.endpoint-unknown",
		"preflight.endpoint-single",
		"preflight.no-route", "preflight.role-lost",
		"preflight.other-cluster", "preflight.foreign-cluster", "preflight.leftovers"}
	var ours []string
	for _, checks := range lists() {
		for _, c := range checks {
			ours = append(ours, c.Codes...)
		}
	}
	root, files := filepath.Join("..", "..", ".."), 0
	for _, top := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				filepath.Base(filepath.Dir(path)) == "preflight" {
				return err
			}
			files++
			data, err := os.ReadFile(path)
			for _, m := range literal.FindAllStringSubmatch(string(data), -1) {
				if slices.Contains(ours, m[1]) && !slices.Contains(fixed, m[1]) {
					t.Errorf("%s asks for %s", path, m[1])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 300 || len(ours) < 80 {
		t.Errorf("%d files, %d codes: the search is broken", files, len(ours))
	}
}

// literal is a code of preflight in Go.
var literal = regexp.MustCompile(`"(preflight\.[a-z][a-z0-9-]*)"`)
