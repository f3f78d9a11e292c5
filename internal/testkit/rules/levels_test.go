package rules

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the levels of internal/phases into docs/architecture.md")

// levels draws the packages of a layer by their imports: one stands a level above the highest that it imports. Of each
// are named those that it imports and does not have through another of them.
func levels(list []pkg, root string) string {
	imports, height := map[string][]string{}, map[string]int{}
	name := func(path string) string { return strings.TrimPrefix(strings.TrimPrefix(path, root), "/") }
	for _, p := range list {
		if path := strings.TrimPrefix(p.ImportPath, module); path == root || strings.HasPrefix(path, root+"/") {
			imports[name(path)] = nil
			for _, to := range p.Imports {
				if to = strings.TrimPrefix(to, module); to == root || strings.HasPrefix(to, root+"/") {
					imports[name(path)] = append(imports[name(path)], name(to))
				}
			}
		}
	}
	var level func(string) int
	level = func(p string) int {
		h, known := height[p]
		for _, to := range imports[p] {
			if !known {
				h = max(h, level(to)+1)
			}
		}
		height[p] = h
		return h
	}
	var has func(from, to string) bool
	has = func(from, to string) bool {
		return slices.ContainsFunc(imports[from], func(p string) bool { return p == to || has(p, to) })
	}
	var order []string
	for p := range imports {
		level(p)
		order = append(order, p)
	}
	slices.SortFunc(order, func(a, b string) int {
		return (height[b]-height[a])*2 + strings.Compare(a, b)
	})
	var out strings.Builder
	last := -1
	for _, p := range order {
		at := "  "
		if height[p] != last {
			last = height[p]
			at = fmt.Sprintf("%2d", last)
		}
		direct := slices.DeleteFunc(slices.Clone(imports[p]), func(to string) bool {
			return slices.ContainsFunc(imports[p], func(via string) bool { return has(via, to) })
		})
		slices.Sort(direct)
		title := p
		if p == "" {
			title = "phases"
		}
		row := fmt.Sprintf("    %s  %-13s", at, title)
		for _, d := range direct {
			if len(row)+len(d) > 100 {
				out.WriteString(row + "\n")
				row = strings.Repeat(" ", 21)
			}
			row += " " + d
		}
		out.WriteString(strings.TrimRight(row, " ") + "\n")
	}
	return out.String()
}

// The picture of internal/phases in docs/architecture.md is what the imports draw.
func TestThePictureOfPhases(t *testing.T) {
	const file = "../../../docs/architecture.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := bytes.Cut(text, []byte("<!-- levels -->\n\n"))
	is, tail, ok2 := bytes.Cut(rest, []byte("\n<!-- end -->"))
	if !ok || !ok2 {
		t.Fatal(file, "has no place for the levels")
	}
	want := levels(packages(t), "internal/phases")
	if string(is) == want {
		return
	}
	if *update {
		all := slices.Concat(head, []byte("<!-- levels -->\n\n"), []byte(want), []byte("\n<!-- end -->"), tail)
		if err := os.WriteFile(file, all, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s does not show the imports (go test ./internal/testkit/rules -run Picture -update writes them):\n%s",
		file, want)
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
	got := levels([]pkg{
		at("in", "in/b", "in/a", "in/c"), at("in/a", "other"), at("in/b", "in/a"), at("in/c"), at("inside", "in"),
		at("other"),
	}, "in")
	want := "     2  phases        b c\n     1  b             a\n     0  a\n        c\n"
	if got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
}
