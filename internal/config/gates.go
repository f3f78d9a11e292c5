package config

import (
	_ "embed"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/output/spelling"
)

//go:embed gates.txt
var gatesText string

// gateInfo is a feature gate: the minors that have it, and those in which it is locked to a value.
type gateInfo struct {
	from, to int
	lock     map[bool][2]int
}

// gates reads the table. Components share their gates; all and half of them have a name of their own.
func gates() map[string]gateInfo {
	every := gateInfo{from: bundle.OldestMinor, to: bundle.NewestMinor}
	out := map[string]gateInfo{"AllAlpha": every, "AllBeta": every}
	for line := range strings.Lines(gatesText) {
		w := strings.Fields(line)
		if len(w) == 0 || w[0] == "#" {
			continue
		}
		g := gateInfo{from: bundle.OldestMinor, to: bundle.NewestMinor, lock: map[bool][2]int{}}
		for _, word := range w[1:] {
			value, span, locked := strings.Cut(word, ":")
			if !locked {
				span = word
			}
			a, b, _ := strings.Cut(span, "-")
			from, _ := strconv.Atoi(a)
			to, _ := strconv.Atoi(b)
			if locked {
				g.lock[value == "true"] = [2]int{from, to}
			} else {
				g.from, g.to = from, to
			}
		}
		out[w[0]] = g
	}
	return out
}

// gateProblem is a problem with a feature gate in a version.
type gateProblem struct {
	gate, code string
	args       []string
}

// checkGates says which gates of a list, as NAME=true,…, keep a component of this minor from its start. A component
// that does not know a gate ends; so does one in which it is locked to the other value. What is wrong with the list
// itself gets the key.
func checkGates(list string, minor int) []gateProblem {
	known := gates()
	var out []gateProblem
	for word := range strings.SplitSeq(list, ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(word), "=")
		value, err := strconv.ParseBool(text)
		if err != nil {
			continue
		}
		g, ok := known[name]
		lock := g.lock[!value]
		switch {
		case !ok && minor > bundle.NewestMinor: // it may be new
		case !ok:
			args := []string{"version", minorWord(minor)}
			code := "config.gate-unknown"
			if like := spelling.Nearest(name, slices.Sorted(maps.Keys(known))); like != "" {
				code, args = "config.gate-misspelt", append(args, "like", like)
			}
			out = append(out, gateProblem{name, code, args})
		case minor < g.from:
			out = append(out, gateProblem{name, "config.gate-newer", []string{"version", minorWord(g.from)}})
		case minor > g.to && g.to < bundle.NewestMinor:
			out = append(out, gateProblem{name, "config.gate-removed", []string{"version", minorWord(g.to + 1)}})
		case lock[0] > 0 && lock[0] <= minor && (minor <= lock[1] || lock[1] == bundle.NewestMinor):
			out = append(out, gateProblem{name, "config.gate-locked", []string{"version", minorWord(lock[0]),
				"given", strconv.FormatBool(value)}})
		}
	}
	return out
}
