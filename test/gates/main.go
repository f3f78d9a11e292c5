// Gates writes internal/config/gates.txt, the table of the feature gates of every minor of Kubernetes.
//
//	go run ./test/gates -mod "$(go env GOMODCACHE)" v1.30.14 … v1.36.3 >internal/config/gates.txt
//
// They come from the sources: the maps of gates in the packages that register them with the one gate that all
// components share. The modules must be in the module cache (go mod download).
package main

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// packages register gates; one that a version does not have yet is missing.
var packages = []string{"kubernetes/pkg/features", "apiserver/pkg/features", "apiextensions-apiserver/pkg/features",
	"client-go/features", "component-base/logs/api/v1", "component-base/metrics/features",
	"component-base/zpages/features", "controller-manager/pkg/features"}

// gate is one in a version.
type gate struct{ lock, locked bool }

func main() {
	log.SetFlags(0)
	mod := flag.String("mod", "", "the module cache")
	flag.Parse()
	all := flag.Args()
	have := map[int]map[string]gate{}
	names := map[string]bool{}
	for _, v := range all {
		m := minor(v)
		have[m] = gates(*mod, v, m)
		if len(have[m]) < 100 {
			log.Fatalf("%s has %d gates only", v, len(have[m]))
		}
		for name := range have[m] {
			names[name] = true
		}
	}
	first, last := minor(all[0]), minor(all[len(all)-1])
	fmt.Printf("# The feature gates of Kubernetes: name, the minors that have it, if not all of %d to %d, and those "+
		"in which it is\n# locked to true or to false. Made by test/gates from %s.\n\n", first, last,
		strings.Join(all, " "))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		line := name
		if s := span(first, last, func(m int) bool { _, ok := have[m][name]; return ok }); s != "" {
			line += " " + s
		}
		for _, value := range []bool{true, false} {
			is := func(m int) bool { return have[m][name] == gate{true, value} }
			if slices.ContainsFunc(all, func(v string) bool { return is(minor(v)) }) {
				line += fmt.Sprintf(" %t:%s", value, span(first-1, last, is))
			}
		}
		fmt.Println(line)
	}
}

func minor(version string) int {
	n, err := strconv.Atoi(strings.Split(version, ".")[1])
	if err != nil {
		log.Fatal(err)
	}
	return n
}

// span is the minors of which something is so, as 31-34; "" when it is of all.
func span(first, last int, is func(int) bool) string {
	from, to := 0, 0
	for m := first; m <= last; m++ {
		switch {
		case !is(m):
		case from == 0:
			from, to = m, m
		case to != m-1:
			log.Fatalf("not of 1.%d, and again of 1.%d", to+1, m)
		default:
			to = m
		}
	}
	if from == first && to == last {
		return ""
	}
	return fmt.Sprintf("%d-%d", from, to)
}

// gates are those of a version.
func gates(mod, version string, minor int) map[string]gate {
	out, consts := map[string]gate{}, map[string]string{}
	var files []*ast.File
	for _, pkg := range packages {
		repo, dir, _ := strings.Cut(pkg, "/")
		v := version
		if repo != "kubernetes" {
			v = "v0." + strings.TrimPrefix(version, "v1.")
		}
		root := filepath.Join(mod, "k8s.io", repo+"@"+v)
		if _, err := os.Stat(root); err != nil {
			log.Fatal(err)
		}
		paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			log.Fatal(err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				log.Fatal(err)
			}
			files = append(files, f)
			ast.Inspect(f, func(n ast.Node) bool { constant(n, consts); return true })
		}
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if err := table(n, consts, minor, out); err != nil {
				log.Fatalf("%s: %v", version, err)
			}
			return true
		})
	}
	return out
}

// constant keeps the text of a constant.
func constant(n ast.Node, consts map[string]string) {
	spec, ok := n.(*ast.ValueSpec)
	if !ok {
		return
	}
	for i, value := range spec.Values {
		if call, ok := value.(*ast.CallExpr); ok && len(call.Args) == 1 { // featuregate.Feature("X")
			value = call.Args[0]
		}
		if lit, ok := value.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			consts[spec.Names[i].Name], _ = strconv.Unquote(lit.Value)
		}
	}
}

// last is the name behind the last dot.
func last(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// table keeps the gates of a map from features to what they are.
func table(n ast.Node, consts map[string]string, minor int, out map[string]gate) error {
	lit, ok := n.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	m, ok := lit.Type.(*ast.MapType)
	kind := ""
	if ok {
		kind = last(m.Value)
	}
	if kind != "FeatureSpec" && kind != "VersionedSpecs" {
		return nil
	}
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return errors.New("no key")
		}
		name := consts[last(kv.Key)]
		value, ok := kv.Value.(*ast.CompositeLit)
		if name == "" || !ok {
			return fmt.Errorf("no name of %s", last(kv.Key))
		}
		specs := []ast.Expr{value}
		if kind == "VersionedSpecs" {
			specs = value.Elts
		}
		g, known := gate{}, false
		for _, s := range specs {
			from, is := spec(s)
			if from <= minor {
				g, known = is, true
			}
		}
		if known {
			out[name] = g
		}
	}
	return nil
}

// spec is what a gate is from a minor on.
func spec(e ast.Expr) (from int, g gate) {
	lit, ok := e.(*ast.CompositeLit)
	if !ok {
		log.Fatal("no literal")
	}
	for _, f := range lit.Elts {
		kv, ok := f.(*ast.KeyValueExpr)
		if !ok {
			log.Fatal("no field")
		}
		switch last(kv.Key) {
		case "Default":
			g.locked = last(kv.Value) == "true"
		case "LockToDefault":
			g.lock = last(kv.Value) == "true"
		case "Version":
			call, ok := kv.Value.(*ast.CallExpr)
			if !ok {
				log.Fatal("no version")
			}
			text, _ := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
			from = minor("v" + text)
		}
	}
	if !g.lock {
		g.locked = false
	}
	return from, g
}
