package deb

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// graph writes a random archive of n packages: alternatives, virtual packages with and without versions, several
// versions, conflicts, Multi-Arch, priorities.
func graph(r *rand.Rand, n int, conflicts float64) string {
	var b strings.Builder
	name := func() string { return fmt.Sprintf("p%02d", r.IntN(n)) }
	virtual := func() string { return fmt.Sprintf("v%d", r.IntN(n/6)) }
	relation := func() string {
		switch x := r.IntN(20); {
		case x < 4:
			return virtual()
		case x == 4:
			return fmt.Sprintf("%s (>= %d)", virtual(), r.IntN(2))
		case x < 8:
			return fmt.Sprintf("%s (>= %d)", name(), r.IntN(2))
		case x == 8:
			return fmt.Sprintf("%s (<< %d)", name(), 4+r.IntN(3))
		case x == 9:
			return name() + ":any | " + name()
		}
		return name()
	}
	clause := func() string {
		c := relation()
		for r.IntN(3) == 0 {
			c += " | " + relation()
		}
		return c
	}
	field := func(key string, most int, of func() string) {
		var parts []string
		for range r.IntN(most + 1) {
			parts = append(parts, of())
		}
		if len(parts) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", key, strings.Join(parts, ", "))
		}
	}
	for i := range n {
		for v := range 1 + r.IntN(10)/8 {
			fmt.Fprintf(&b, "Package: p%02d\nVersion: %d\nArchitecture: %s\n", i, v+r.IntN(4),
				[]string{"amd64", "all"}[r.IntN(2)])
			if m := r.IntN(8); m < 3 {
				fmt.Fprintf(&b, "Multi-Arch: %s\n", multiArch[1+m])
			}
			fmt.Fprintf(&b, "Priority: %s\n", priorities[min(3, r.IntN(8))])
			field("Pre-Depends", r.IntN(2), clause)
			field("Depends", 3, clause)
			field("Suggests", r.IntN(2), clause)
			if r.Float64() < conflicts {
				field("Conflicts", 1, relation)
				field("Breaks", 1, relation)
			}
			if r.IntN(3) == 0 {
				field("Provides", 2, func() string {
					if r.IntN(3) == 0 {
						return fmt.Sprintf("%s (= %d)", virtual(), r.IntN(4))
					}
					return virtual()
				})
			}
			fmt.Fprintf(&b, "Filename: ./p%02d_%d.deb\nSize: 1\nSHA256: %064x\n\n", i, v, r.Uint64())
		}
	}
	return b.String()
}

// TestRandomGraphsAreApts holds closures of random archives against apt's simulation of installing the same. Whatever
// apt finds by its first rule we find; where only its second one, which scores packages and changes choices made
// before, has an answer, we may refuse or find another.
func TestRandomGraphsAreApts(t *testing.T) {
	needApt(t)
	if testing.Short() {
		t.Skip("some ten seconds")
	}
	var sets, equal, other, refused, repaired, more int
	for seed := range uint64(9) {
		r := rand.New(rand.NewPCG(seed, 3))
		text := graph(r, 60, []float64{0, 0.1, 0.2}[seed%3])
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "Packages"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		apt := newApt(t, "amd64", "deb [trusted=yes] file:"+dir+" ./\n")
		x := NewIndex("amd64")
		if err := x.Add(strings.NewReader(text), ""); err != nil {
			t.Fatal(err)
		}
		for range 12 {
			roots := random(x, r, 1+r.IntN(4))
			sets++
			want, problem := apt.closure(t, roots)
			chosen, err := x.Closure(roots)
			switch {
			case problem != "" && err != nil:
				refused++
			case problem != "":
				more++
				consistent(t, "amd64", chosen, roots)
			case err != nil:
				repaired++
				t.Logf("seed %d %v: apt chose %v, we: %v", seed, roots, want, Problems(err)[0].Args)
			default:
				if same(t, chosen, want) {
					equal++
				} else {
					other++
					consistent(t, "amd64", chosen, roots)
				}
			}
		}
	}
	t.Logf("%d sets: %d equal, %d other but whole, %d refused by both, %d where only apt's repair has an answer, %d "+
		"where an older version does",
		sets, equal, other, refused, repaired, more)
	if equal < sets/3 || repaired+other > sets/20 {
		t.Errorf("too few have the same answer")
	}
}
