package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// suiteReport is the part of ginkgo's JSON report that is read.
type suiteReport struct {
	SpecialSuiteFailureReasons []string
	SpecReports                []specReport
}

type specReport struct {
	ContainerHierarchyTexts []string
	LeafNodeType            string
	LeafNodeText            string
	State                   string
	RunTime                 time.Duration
	Failure                 *struct {
		Message  string
		Location struct {
			FileName   string
			LineNumber int
		}
	}
}

// name is the full name of a test.
func (s specReport) name() string {
	var words []string
	for _, w := range append(append([]string{}, s.ContainerHierarchyTexts...), s.LeafNodeText) {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// why is the message of a failure, or of a test that skips itself.
func (s specReport) why() string {
	if s.Failure == nil {
		return ""
	}
	return strings.TrimSpace(s.Failure.Message)
}

// parse reads the report of a call of the suite: what the tests came to that it was called for. One that was
// interrupted, or not begun, has no result. That the suite could not begin is an error.
func parse(data []byte, tests []string) (map[string]Result, error) {
	var all []suiteReport
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("the report of the suite: %w", err)
	}
	wanted := map[string]bool{}
	for _, t := range tests {
		wanted[t] = true
	}
	out, seen := map[string]Result{}, map[string]bool{}
	var before error
	for _, s := range all {
		for _, spec := range s.SpecReports {
			if strings.HasSuffix(spec.LeafNodeType, "BeforeSuite") && spec.State != "passed" &&
				spec.State != "interrupted" {
				before = fmt.Errorf("the suite cannot begin: %s", spec.why())
			}
			if spec.LeafNodeType != "It" || !wanted[spec.name()] {
				continue
			}
			seen[spec.name()] = true
			if r, ok := result(spec); ok {
				out[spec.name()] = r
			}
		}
	}
	if before != nil {
		return out, before
	}
	if len(seen) == 0 {
		return out, errors.New("the suite knows none of the tests that it was called for")
	}
	for _, t := range tests {
		if !seen[t] {
			out[t] = Result{State: Cannot, Why: "the suite lists it and does not have it"}
		}
	}
	return out, nil
}

// result of a test; ok is false if it has none.
func result(s specReport) (r Result, ok bool) {
	r = Result{Seconds: s.RunTime.Round(100 * time.Millisecond).Seconds(), Why: s.why()}
	switch s.State {
	case "passed":
		r.State, r.Why = Passed, ""
	case "failed", "panicked", "timedout", "aborted":
		r.State = Failed
		if s.Failure != nil && s.Failure.Location.FileName != "" {
			r.Why += fmt.Sprintf(" (%s:%d)", s.Failure.Location.FileName, s.Failure.Location.LineNumber)
		}
	case "skipped": // by itself if it says why
		r.State = Cannot
		return r, r.Why != ""
	default:
		return r, false
	}
	return r, true
}

// event is what the suite says while it runs, of a test that has ended.
func event(data []byte) (test string, state State) {
	var e struct {
		Msg string `json:"msg"`
	}
	if json.Unmarshal(data, &e) != nil {
		return "", ""
	}
	if t, ok := strings.CutPrefix(e.Msg, "PASSED "); ok {
		return t, Passed
	}
	if t, ok := strings.CutPrefix(e.Msg, "FAILED "); ok {
		return t, Failed
	}
	return "", ""
}
