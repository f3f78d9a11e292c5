package main

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Reason why tests cannot run.
type Reason struct {
	Tests   string `yaml:"tests"`
	Because string `yaml:"because"`
	Zh      string `yaml:"zh"`
	names   *regexp.Regexp
}

//go:embed cannot.yaml
var cannotText []byte

// reasons reads the list of tests that cannot run.
func reasons(text []byte) ([]Reason, error) {
	var out []Reason
	if err := yaml.Unmarshal(text, &out); err != nil {
		return nil, err
	}
	for i, r := range out {
		names, err := regexp.Compile(r.Tests)
		if err != nil || r.Tests == "" || r.Because == "" || r.Zh == "" {
			return nil, fmt.Errorf("entry %d of cannot.yaml says not which tests cannot run, or not why: %w", i+1, err)
		}
		out[i].names = names
	}
	return out, nil
}

func reason(all []Reason, test string) (Reason, bool) {
	i := slices.IndexFunc(all, func(r Reason) bool { return r.names.MatchString(test) })
	if i < 0 {
		return Reason{}, false
	}
	return all[i], true
}

// presets are sets of tests by a name. What an upgrade of nodes can break is in upgrade.
func presets() map[string]string {
	return map[string]string{
		"sig-network": `^\[sig-network\]`,
		"sig-node":    `^\[sig-node\]`,
		"sig-apps":    `^\[sig-apps\]`,
		"upgrade":     `^\[(sig-network|sig-node|sig-apps)\]`,
	}
}

// focused are the tests that a focus means: all, those of a preset, or those that a regular expression matches.
func focused(tests []string, focus string) ([]string, error) {
	if p, ok := presets()[focus]; ok {
		focus = p
	}
	re, err := regexp.Compile(focus)
	if err != nil {
		return nil, fmt.Errorf("FOCUS: %w", err)
	}
	out := slices.DeleteFunc(slices.Clone(tests), func(t string) bool { return !re.MatchString(t) })
	if len(out) == 0 {
		return nil, fmt.Errorf("FOCUS=%s: no test has such a name", focus)
	}
	return out, nil
}

// todo are the tests that are to be run: those without a result, or those of a state, or all of them. What is listed as
// not possible is never run.
func todo(tests []string, r *Record, rerun string) ([]string, error) {
	again := map[string]State{"failed": Failed, "cannot": Cannot}[rerun]
	if again == "" && rerun != "" && rerun != "all" {
		return nil, fmt.Errorf("RERUN=%s: must be failed, cannot or all", rerun)
	}
	var out []string
	for _, t := range tests {
		have, ran := r.Results[t]
		switch {
		case have.Listed:
		case rerun == "" && !ran, rerun == "all", again != "" && have.State == again:
			out = append(out, t)
		}
	}
	return out, nil
}

// isSerial says whether a test must run alone.
func isSerial(test string) bool {
	return strings.Contains(test, "[Serial]") || strings.Contains(test, "[Disruptive]")
}

// parts divides tests into what is run by one call of the suite: few enough that little is lost when it ends early, and
// that all workers have something to do until the end.
func parts(tests []string, workers int) [][]string {
	const most = 8
	size := max(1, min(most, (len(tests)+2*workers-1)/(2*workers)))
	return slices.Collect(slices.Chunk(tests, size))
}
