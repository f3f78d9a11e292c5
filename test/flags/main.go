// Flags writes internal/config/flags.txt, the table of the flags of every component in every minor of Kubernetes.
//
//	go run ./test/flags -bin DIR -version v1.34.4 -mod "$(go env GOMODCACHE)" v1.30.14 … v1.36.3
//	>internal/config/flags.txt
//
// The flags of one version come from the programs themselves (DIR/kubelet --help). Those of the others are these, less
// those and more those whose registration differs in the sources: the string literals that are given to pflag in all
// packages that a component's main package imports, compared with the same of the one version. The modules must be in
// the module cache (go mod download).
package main

import (
	"context"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var components = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet"}

func main() {
	log.SetFlags(0)
	bin := flag.String("bin", "", "directory of the programs of one version")
	version := flag.String("version", "", "their version")
	mod := flag.String("mod", "", "the module cache")
	flag.Parse()
	all := flag.Args()
	if !slices.Contains(all, *version) {
		log.Fatalf("%s is not among %v", *version, all)
	}
	fmt.Printf("# The flags of Kubernetes' components: name, kind of value (b bool, i integer, d duration, s "+
		"other), and the minors that have it,\n"+
		"# if not all of %s to %s. Made by test/flags from %s.\n", minor(all[0]), minor(all[len(all)-1]),
		strings.Join(all, " "))
	for _, c := range components {
		truth, err := help(filepath.Join(*bin, c))
		if err != nil {
			log.Fatal(err)
		}
		have := map[string]map[string]string{} // minor → flag → kind
		base := registered(*mod, *version, c)
		for _, v := range all {
			have[minor(v)] = differ(truth, base, registered(*mod, v, c))
		}
		write(c, all, have)
	}
}

// differ is truth as the other version would have it.
func differ(truth, base, other map[string]string) map[string]string {
	out := maps.Clone(truth)
	for name := range truth {
		if base[name] != "" && other[name] == "" && name != "feature-gates" { // once registered by a constant
			delete(out, name)
		}
	}
	for name, kind := range other {
		if base[name] == "" {
			out[name] = kind
		}
	}
	return out
}

func minor(version string) string { return strings.Split(version, ".")[1] }

func write(component string, all []string, have map[string]map[string]string) {
	fmt.Printf("\n%s\n", component)
	names := map[string]string{}
	for _, m := range have {
		maps.Copy(names, m)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		var in []string
		for _, v := range all {
			if have[minor(v)][name] != "" {
				in = append(in, minor(v))
			}
		}
		switch line := name + " " + names[name]; {
		case len(in) == len(all):
			fmt.Println(line)
		default:
			fmt.Println(line, in[0]+"-"+in[len(in)-1])
		}
	}
}

var helpLine = regexp.MustCompile(`^ {2,6}(?:-[a-z], )?--([a-z0-9][a-z0-9-]*)(?: (\S+))?(?:\[=\S*\])?(?: {2,}|$)`)

// help reads the flags that a program tells of itself.
func help(program string) (map[string]string, error) {
	text, err := exec.CommandContext(context.Background(), program, "--help").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --help: %w", program, err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if m := helpLine.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil && m[1] != "help" &&
			m[1] != "version" {
			out[m[1]] = kindOf(m[2])
		}
	}
	return out, nil
}

func kindOf(word string) string {
	switch {
	case word == "":
		return "b"
	case word == "duration":
		return "d"
	case strings.HasPrefix(word, "int"), strings.HasPrefix(word, "uint"), word == "Level":
		return "i"
	}
	return "s"
}

var (
	setter = regexp.MustCompile(
		`^(Var|(Bool|String|Int|Int32|Int64|Uint|Uint32|Float32|Float64|Duration|IP|IPNet)(Slice|Array|ToString)?(Var)?)P?$`)
	flagName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
)

// idle are the packages and files that a component imports without taking over their flags.
var idle = func() map[string][]string {
	all := []string{"k8s.io/apiserver/pkg/server/options/deprecated_insecure_serving.go"}
	all = append(all, "k8s.io/cloud-provider/")
	node := append([]string{"k8s.io/apiserver/", "k8s.io/controller-manager/", "k8s.io/component-base/compatibility/",
		"k8s.io/component-base/featuregate/"}, all...)
	bare := append([]string{"k8s.io/controller-manager/"}, all...)
	return map[string][]string{"kube-apiserver": bare, "kube-controller-manager": all, "kube-scheduler": bare,
		"kube-proxy": node, "kubelet": node}
}()

// registered are the names given to pflag in the packages that the component is made of.
func registered(mod, version, component string) map[string]string {
	out, seen := map[string]string{}, map[string]bool{}
	todo := []string{"k8s.io/kubernetes/cmd/" + component}
	for len(todo) > 0 {
		pkg := todo[0]
		todo = todo[1:]
		if seen[pkg] {
			continue
		}
		seen[pkg] = true
		files, _ := filepath.Glob(filepath.Join(source(mod, version, pkg), "*.go"))
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_windows.go") {
				continue
			}
			counted := out
			if slices.ContainsFunc(idle[component], func(p string) bool {
				return strings.HasPrefix(pkg+"/"+filepath.Base(name), p)
			}) {
				counted = nil
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				log.Fatal(err)
			}
			for _, i := range f.Imports {
				if p, _ := strconv.Unquote(i.Path.Value); strings.HasPrefix(p, "k8s.io/") {
					todo = append(todo, p)
				}
			}
			if counted != nil {
				ast.Inspect(f, func(n ast.Node) bool { note(n, counted); return true })
			}
		}
	}
	return out
}

// note keeps the flag that a call registers.
func note(n ast.Node, out map[string]string) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !setter.MatchString(sel.Sel.Name) || len(call.Args) < 3 {
		return
	}
	for _, a := range call.Args[:2] {
		if lit, ok := a.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if name, _ := strconv.Unquote(lit.Value); flagName.MatchString(name) {
				out[name] = callKind(sel.Sel.Name)
			}
			return
		}
	}
}

func callKind(setter string) string {
	switch {
	case strings.Contains(setter, "Slice"), strings.Contains(setter, "Array"), strings.Contains(setter, "To"):
		return "s"
	case strings.HasPrefix(setter, "Bool"):
		return "b"
	case strings.HasPrefix(setter, "Int"), strings.HasPrefix(setter, "Uint"):
		return "i"
	case strings.HasPrefix(setter, "Duration"):
		return "d"
	}
	return "s"
}

// source is the directory of a package of Kubernetes in that version.
func source(mod, version, pkg string) string {
	parts := strings.SplitN(pkg, "/", 3)
	if len(parts) == 2 {
		parts = append(parts, "")
	}
	v := "v0." + strings.TrimPrefix(version, "v1.")
	if parts[1] == "kubernetes" {
		v = version
	}
	dir := filepath.Join(mod, "k8s.io", parts[1]+"@"+v, parts[2])
	if _, err := os.Stat(filepath.Join(mod, "k8s.io", parts[1]+"@"+v)); err != nil {
		return "" // of another repository
	}
	return dir
}
