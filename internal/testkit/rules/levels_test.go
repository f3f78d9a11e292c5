package rules

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the pictures of the packages into the documents")

// drawn is a parsed picture: the imports and the level of each package.
type drawn struct {
	imports map[string][]string
	level   func(string) int
}

// beneath reads from a list the imports between the packages whose names are not "". A package stands one level above
// the highest that it imports.
func beneath(list []pkg, name func(path string) (string, bool)) drawn {
	d, height := drawn{imports: map[string][]string{}}, map[string]int{}
	for _, p := range list {
		from, shown := name(strings.TrimPrefix(p.ImportPath, module))
		if !shown {
			continue
		}
		d.imports[from] = append(d.imports[from], []string{}...)
		for _, to := range p.Imports {
			inside, own := strings.CutPrefix(to, module)
			if to, shown := name(inside); own && shown && to != from && !slices.Contains(d.imports[from], to) {
				d.imports[from] = append(d.imports[from], to)
			}
		}
	}
	d.level = func(p string) int {
		h, known := height[p]
		for _, to := range d.imports[p] {
			if !known {
				h = max(h, d.level(to)+1)
			}
		}
		height[p] = h
		return h
	}
	return d
}

// String draws the packages, the highest first. Of each are named those that it imports and does not have through
// another of them.
func (d drawn) String() string {
	var has func(from, to string) bool
	has = func(from, to string) bool {
		return slices.ContainsFunc(d.imports[from], func(p string) bool { return p == to || has(p, to) })
	}
	order, width := slices.Collect(maps.Keys(d.imports)), 0
	for _, p := range order {
		width = max(width, len(p))
	}
	slices.SortFunc(order, func(a, b string) int { return (d.level(b)-d.level(a))*2 + strings.Compare(a, b) })
	var out strings.Builder
	last := -1
	for _, p := range order {
		at := "  "
		if d.level(p) != last {
			last = d.level(p)
			at = fmt.Sprintf("%2d", last)
		}
		direct := slices.DeleteFunc(slices.Clone(d.imports[p]), func(to string) bool {
			return slices.ContainsFunc(d.imports[p], func(via string) bool { return has(via, to) })
		})
		slices.Sort(direct)
		row := fmt.Sprintf("    %s  %-*s ", at, width, p)
		indent := len(row)
		for _, to := range direct {
			if len(row)+len(to) > 110 {
				out.WriteString(row + "\n")
				row = strings.Repeat(" ", indent)
			}
			row += " " + to
		}
		out.WriteString(strings.TrimRight(row, " ") + "\n")
	}
	return out.String()
}

// phases names what is beneath internal/phases.
func phases(path string) (string, bool) {
	name, in := strings.CutPrefix(path, "internal/phases")
	if name == "" && in {
		return "phases", true
	}
	return strings.TrimPrefix(name, "/"), in && name[0] == '/'
}

// ten names the packages of internal, without what only tests have.
func ten(path string) (string, bool) {
	name := strings.TrimPrefix(top(path), "internal/")
	return name, height(path) > 0 && name != "testkit"
}

// The pictures in the documents agree with the imports.
func TestThePicturesOfThePackages(t *testing.T) {
	list := packages(t)
	of := beneath(list, ten)
	of.level = func(p string) int { return heights()["internal/"+p] }
	pictured(t, "docs/architecture.md", of)
	pictured(t, "docs/development/packages.md", beneath(list, phases))
}

func pictured(t *testing.T, file string, d drawn) {
	t.Helper()
	const from, to = "<!-- levels -->\n\n", "\n<!-- end -->"
	path := filepath.Join(root(), filepath.FromSlash(file))
	head, rest, ok := strings.Cut(read(t, path), from)
	is, tail, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatal(file, "has no place for the levels")
	}
	switch want := d.String(); {
	case is == want:
	case *update:
		if err := os.WriteFile(path, []byte(head+from+want+to+tail), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s does not show the imports; go test ./internal/testkit/rules -run Pictures -args -update does:\n%s",
			file, want)
	}
}

// What the picture is made of, with a chain, a shortcut and one that stands apart.
func TestLevels(t *testing.T) {
	at := func(p string, to ...string) pkg {
		out := pkg{ImportPath: module + p, Imports: []string{"context"}}
		for _, x := range to {
			out.Imports = append(out.Imports, module+x)
		}
		return out
	}
	got := beneath([]pkg{
		at("internal/phases", "internal/phases/b", "internal/phases/a", "internal/phases/c"),
		at("internal/phases/a", "other"), at("internal/phases/b", "internal/phases/a"), at("internal/phases/c"),
		at("internal/phasesinside", "internal/phases"), at("other"),
	}, phases).String()
	want := "     2  phases  b c\n     1  b       a\n     0  a\n        c\n"
	if got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
}
