package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
)

// State is what a test came to.
type State string

// The states. A test that is not in the record has not run.
const (
	Passed State = "passed"
	Failed State = "failed"
	Cannot State = "cannot run"
)

// Result of a test.
type Result struct {
	State   State   `json:"state"`
	Seconds float64 `json:"seconds,omitempty"`
	Why     string  `json:"why,omitempty"`    // it failed, or cannot run
	WhyZh   string  `json:"whyZh,omitempty"`  // the same in Chinese, if there is one
	Listed  bool    `json:"listed,omitempty"` // in cannot.yaml
}

// Record of the tests of one version of Kubernetes on clusters of one driver.
type Record struct {
	Kubernetes string            `json:"kubernetes"`
	Driver     string            `json:"driver"`
	Tests      int               `json:"tests"` // that there are
	Results    map[string]Result `json:"results"`
	file       string
}

// recordFile is where the record of a driver is.
func recordFile(dir, driver, kubernetes string) string {
	return filepath.Join(dir, driver+"-"+kubernetes+".json")
}

// open reads a record, or begins one.
func open(dir, driver, kubernetes string) (*Record, error) {
	r := &Record{Kubernetes: kubernetes, Driver: driver, file: recordFile(dir, driver, kubernetes)}
	data, err := os.ReadFile(r.file)
	if err == nil {
		err = json.Unmarshal(data, r)
	}
	if r.Results == nil {
		r.Results = map[string]Result{}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", r.file, err)
	}
	return r, nil
}

// openAll reads the records of a directory: a driver after the other, older versions first.
func openAll(dir string) ([]*Record, error) {
	files, err := filepath.Glob(recordFile(dir, "*", "*"))
	if err != nil {
		return nil, err
	}
	var all []*Record
	for _, f := range files { // they are sorted
		driver, kubernetes, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), ".json"), "-")
		r, err := open(dir, driver, kubernetes)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// save writes the record; what was there is whole until then.
func (r *Record) save() error {
	data, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(r.file), 0o755)
	}
	if err != nil {
		return err
	}
	return renameio.WriteFile(r.file, append(data, '\n'), 0o644)
}

// settle brings the record in line with the suite and with the list of what cannot run: a test that left the list has
// not run, one that left the suite is forgotten.
func (r *Record) settle(tests []string, cannot []Reason) {
	known := map[string]bool{}
	for _, t := range tests {
		known[t] = true
		if why, ok := reason(cannot, t); ok {
			r.Results[t] = Result{State: Cannot, Why: why.Because, WhyZh: why.Zh, Listed: true}
		} else if r.Results[t].Listed {
			delete(r.Results, t)
		}
	}
	for t := range r.Results {
		if !known[t] {
			delete(r.Results, t)
		}
	}
	r.Tests = len(tests)
}
