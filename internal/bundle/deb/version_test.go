package deb

import (
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
)

var versionTable = []struct {
	a, op, b string
}{
	{"1.0", "=", "1.0-0"}, {"1.0", "<<", "1.0-1"}, {"1.0~rc1", "<<", "1.0"}, {"1.0~~", "<<", "1.0~"},
	{"1.0~", "<<", "1.0"}, {"1:0", ">>", "2"}, {"0:1", "=", "1"},
	{"1.10", ">>", "1.9"}, {"1.09", "=", "1.9"}, {"1a", "<<", "1+"}, {"1a", ">>", "1"},
	{"1.0-1~bpo12+1", "<<", "1.0-1"}, {"1.0-1+b1", ">>", "1.0-1"}, {"1-2-3", ">>", "1-2-2"},
	{"20241115132648123456789", ">>", "20241115132648123456788"},
	{"0.0~git99999999999999999999", "<<", "0.0~git100000000000000000000"},
	{"2.36-9+deb12u10", ">>", "2.36-9+deb12u9"}, {"1.2.3", "<<", "1.2.3a"}, {"1.2.", ">>", "1.2"}, {"1A", "<<", "1a"},
	{"1:1:1", ">>", "1:1.1"}, {"00:1", "=", "1"},
}

func TestCompare(t *testing.T) {
	for _, tt := range versionTable {
		want := map[string]int{"<<": -1, "=": 0, ">>": 1}[tt.op]
		if Compare(tt.a, tt.b) != want || Compare(tt.b, tt.a) != -want {
			t.Errorf("%s %s %s: %d, %d", tt.a, tt.op, tt.b, Compare(tt.a, tt.b), Compare(tt.b, tt.a))
		}
	}
}

// TestCompareIsDpkgs asks dpkg about the table and about random pairs.
func TestCompareIsDpkgs(t *testing.T) {
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("needs dpkg")
	}
	r := rand.New(rand.NewPCG(1, 2))
	some := func() string {
		const chars = "0019aZ.+~-"
		v := []string{"", "", "", "1:", "0:"}[r.IntN(5)] + string(rune('0'+r.IntN(3)))
		for range r.IntN(7) {
			v += string(chars[r.IntN(len(chars))])
		}
		if strings.HasSuffix(v, "-") {
			v += "1" // dpkg wants a revision after a hyphen
		}
		return v
	}
	pairs := [][2]string{}
	for _, tt := range versionTable {
		// dpkg's numbers end at an int.
		if len(tt.a) < 22 {
			pairs = append(pairs, [2]string{tt.a, tt.b})
		}
	}
	for range 300 {
		pairs = append(pairs, [2]string{some(), some()})
	}
	for _, p := range pairs {
		op := map[int]string{-1: "lt", 0: "eq", 1: "gt"}[Compare(p[0], p[1])]
		if out, err := exec.Command("dpkg", "--compare-versions", p[0], op, p[1]).CombinedOutput(); err != nil {
			t.Errorf("we say %q %s %q: %v %s", p[0], op, p[1], err, out)
		}
	}
}

func FuzzCompare(f *testing.F) {
	f.Add("1:2.3-4~", "1.0+b1", "2")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if Compare(a, b) != -Compare(b, a) || Compare(a, a) != 0 {
			t.Fatalf("%q %q: not antisymmetric", a, b)
		}
		if Compare(a, b) <= 0 && Compare(b, c) <= 0 && Compare(a, c) > 0 {
			t.Fatalf("%q %q %q: not transitive", a, b, c)
		}
	})
}
