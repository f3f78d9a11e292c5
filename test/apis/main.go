// Apis writes internal/bundle/kubeapi/apis.txt, the table of the API versions that every minor of Kubernetes serves.
//
//	go run ./test/apis -mod "$(go env GOMODCACHE)" -gone MODULES v1.30.14 … v1.36.3 >internal/bundle/kubeapi/apis.txt
//
// with api@v0.20.15,api@v0.24.17,api@v0.36.3,apiextensions-apiserver@v0.36.3,kube-aggregator@v0.36.3 as MODULES.
// What a minor can serve comes from the discovery documents that its sources carry, and what it serves only if
// --runtime-config asks for it from the lists in its pkg/controlplane/instance.go. The minor that removed an API before
// the first of these versions comes from the life cycles in the types (zz_generated.prerelease-lifecycle.go) of the
// modules of -gone, of which a later one wins. The modules must be in the module cache (go mod download
// k8s.io/kubernetes@v1.36.3).
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// api is a kind in a version of its group.
type api struct{ version, kind string }

// state returns the table's entry for one.
type state struct {
	namespaced bool
	in, off    map[int]bool // minors that can serve it, and those that do so only on demand
	gone       int          // the minor that removed it, when that is before the first of the table
}

func main() {
	log.SetFlags(0)
	mod := flag.String("mod", "", "the module cache")
	gone := flag.String("gone", "", "modules of k8s.io with life cycles, by commas")
	flag.Parse()
	all := flag.Args()
	first, last := minor(all[0]), minor(all[len(all)-1])
	table, groups := map[api]*state{}, map[string]string{}
	for module := range strings.SplitSeq(*gone, ",") {
		removed(filepath.Join(*mod, "k8s.io", module), first, table, groups)
	}
	for _, v := range all {
		root := filepath.Join(*mod, "k8s.io", "kubernetes@"+v)
		if n := served(root, minor(v), table); n < 50 {
			log.Fatalf("%s has %d kinds only", v, n)
		}
		onDemand(root, minor(v), table, groups)
	}
	fmt.Printf("# The API of Kubernetes: version, kind, n (namespaced) or c (cluster-wide), the minors that have "+
		"it if "+
		"not all of\n# %d to %d, those that serve it only if runtime-config enables it (off), and the minor that "+
		"removed "+
		"it before %d\n# (gone). Made by test/apis from %s.\n\n", first, last, first, strings.Join(all, " "))
	for _, a := range slices.SortedFunc(maps.Keys(table), func(a, b api) int {
		return strings.Compare(a.version+" "+a.kind, b.version+" "+b.kind)
	}) {
		fmt.Println(a.version + " " + a.kind + table[a].words(first, last))
	}
}

func (s *state) words(first, last int) string {
	out := " c"
	if s.namespaced {
		out = " n"
	}
	if len(s.in) == 0 {
		return fmt.Sprintf("%s gone:%d", out, s.gone)
	}
	if in := span(s.in, first, last); in != fmt.Sprintf("%d-%d", first, last) {
		out += " " + in
	}
	if off := span(s.off, first, last); off != "" {
		out += " off:" + off
	}
	return out
}

func minor(version string) int {
	n, err := strconv.Atoi(strings.Split(version, ".")[1])
	if err != nil {
		log.Fatal(err)
	}
	return n
}

// span is the minors of which something is so, as 31-34; "" when it is of none.
func span(is map[int]bool, first, last int) string {
	from, to := 0, 0
	for m := first; m <= last; m++ {
		switch {
		case !is[m]:
		case from == 0:
			from, to = m, m
		case to != m-1:
			log.Fatalf("not of 1.%d, and again of 1.%d", to+1, m)
		default:
			to = m
		}
	}
	if from == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%d", from, to)
}

func at(table map[api]*state, a api) *state {
	if table[a] == nil {
		table[a] = &state{in: map[int]bool{}, off: map[int]bool{}}
	}
	return table[a]
}

// served reads the discovery documents of a version, and says how many kinds they have.
func served(root string, minor int, table map[api]*state) int {
	paths, err := filepath.Glob(filepath.Join(root, "api", "discovery", "api*__v*.json"))
	if err != nil || len(paths) == 0 {
		log.Fatalf("%s has no discovery documents: %v", root, err)
	}
	n := 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			log.Fatal(err)
		}
		var list struct {
			GroupVersion string `json:"groupVersion"`
			Resources    []struct {
				Name, Group, Version, Kind string
				Namespaced                 bool
			} `json:"resources"`
		}
		if err := json.Unmarshal(data, &list); err != nil {
			log.Fatalf("%s: %v", path, err)
		}
		for _, r := range list.Resources {
			if strings.Contains(r.Name, "/") {
				continue // a subresource
			}
			s := at(table, api{list.GroupVersion, r.Kind})
			s.namespaced, s.in[minor] = r.Namespaced, true
			n++
		}
	}
	return n
}

// onDemand reads which versions a server does not serve by itself.
func onDemand(root string, minor int, table map[api]*state, groups map[string]string) {
	path := filepath.Join(root, "pkg", "controlplane", "instance.go")
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		log.Fatal(err)
	}
	versions := map[string]string{} // by the name of the import
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		if w := strings.Split(p, "/"); i.Name != nil && len(w) > 2 && groups[w[len(w)-2]] != "" {
			versions[i.Name.Name] = groups[w[len(w)-2]] + "/" + w[len(w)-1]
		}
	}
	off, on := map[string]bool{}, map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		counted := off
		switch name := spec.Names[0].Name; {
		case strings.HasSuffix(name, "APIGroupVersionsDisabledByDefault"):
		case name == "legacyBetaEnabledByDefaultResources":
			counted = on
		default:
			return true
		}
		ast.Inspect(spec.Values[0], func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "SchemeGroupVersion" {
				v := versions[sel.X.(*ast.Ident).Name]
				if v == "" {
					log.Fatalf("%s: no version of %v", path, sel.X)
				}
				counted[v] = true
			}
			return true
		})
		return false
	})
	for a, s := range table {
		switch {
		case !s.in[minor] || on[a.version]:
		case off[a.version]:
			s.off[minor] = true
		case unstable.MatchString(a.version): // since 1.24 those are off by default
			log.Fatalf("%s: %s is in no list", path, a.version)
		}
	}
}

var unstable = regexp.MustCompile(`v\d+(alpha|beta)\d+$`)

var (
	groupName = regexp.MustCompile(`(?m)^const GroupName = "(.*)"`)
	lifeCycle = regexp.MustCompile(
		`func \(in \*(\w+)\) APILifecycleRemoved\(\) \(major, minor int\) \{\s*return 1, (\d+)`)
)

// removed reads which kinds were removed before the first minor, and how groups are called.
func removed(root string, first int, table map[api]*state, groups map[string]string) {
	var paths []string
	for _, pattern := range []string{"*/*/register.go", "pkg/apis/*/*/register.go"} {
		some, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			log.Fatal(err)
		}
		paths = append(paths, some...)
	}
	if len(paths) == 0 {
		log.Fatalf("%s has no API", root)
	}
	for _, path := range paths {
		dir := filepath.Dir(path)
		version, group := filepath.Base(dir), filepath.Base(filepath.Dir(dir))
		text := read(path)
		m := groupName.FindStringSubmatch(text)
		if m == nil {
			log.Fatalf("%s: no name", path)
		}
		groups[group] = m[1]
		lives, err := os.ReadFile(filepath.Join(dir, "zz_generated.prerelease-lifecycle.go"))
		if err != nil {
			continue
		}
		types := read(filepath.Join(dir, "types.go"))
		for _, l := range lifeCycle.FindAllStringSubmatch(string(lives), -1) {
			kind, by := l[1], minor("1."+l[2])
			if by > first || strings.HasSuffix(kind, "List") || strings.HasSuffix(kind, "Options") ||
				m[1] == "" || m[1] == "admission.k8s.io" {
				continue
			}
			s := at(table, api{m[1] + "/" + version, kind})
			s.gone, s.namespaced = by, !clusterWide(types, kind)
		}
	}
}

// clusterWide says whether the comments before a type tell the generators of clients so.
func clusterWide(types, kind string) bool {
	before, _, found := strings.Cut(types, "\ntype "+kind+" struct")
	if !found {
		log.Fatalf("no type %s", kind)
	}
	return strings.Contains(before[strings.LastIndex(before, "\n}")+1:], "+genclient:nonNamespaced")
}

func read(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	return string(data)
}
