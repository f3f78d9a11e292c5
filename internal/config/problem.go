package config

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Problem is one thing that is wrong with a deploy.yaml, and where. Its sentence is that of Fault in
// internal/output/i18n.
type Problem struct {
	File     string
	Line     int    // from 1
	Col      int    // from 1, in characters as the YAML parser counts them
	Key      string // path of the key: masters[0].ip; "" when the problem is the file's
	Code     string // stable: config.unknown-key, …
	Severity event.Severity
	Args     map[string]string
}

// Fault is the problem as a usage fault, to be shown through internal/output/i18n.
func (p Problem) Fault() *event.Fault {
	return &event.Fault{Code: p.Code, Class: event.ClassUsage, Args: p.Args}
}

// Problems of one file, in the order of its lines.
type Problems []Problem

// HasErrors reports whether the file cannot be used.
func (ps Problems) HasErrors() bool {
	n, _ := ps.Count()
	return n > 0
}

// Count returns how many errors and warnings there are.
func (ps Problems) Count() (errors, warnings int) {
	for _, p := range ps {
		if p.Severity == event.Error {
			errors++
		} else {
			warnings++
		}
	}
	return errors, warnings
}

// Err returns nil without errors, else a fault of class usage that counts them; the problems themselves are shown one
// by one.
func (ps Problems) Err() error {
	n, _ := ps.Count()
	if n == 0 {
		return nil
	}
	return event.NewFault(event.ClassUsage, "config.invalid", nil, "file", ps[0].File, "errors", strconv.Itoa(n))
}

// Sorted puts the problems in the order of the lines and drops those that say the same of the same place.
func (ps Problems) Sorted() Problems {
	ps.provoked()
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Key, b.Key))
	})
	return slices.CompactFunc(ps, func(a, b Problem) bool {
		return a.Line == b.Line && a.Col == b.Col && a.Key == b.Key && a.Code == b.Code && maps.Equal(a.Args, b.Args)
	})
}

// provoked writes down what a test provokes; it does nothing elsewhere.
func (ps Problems) provoked() {
	if event.Recording {
		for _, p := range ps {
			event.Provoked(p.Fault())
		}
	}
}

// position is a place in the file.
type position struct{ line, col int }

func (p position) compare(o position) int {
	return cmp.Or(cmp.Compare(p.line, o.line), cmp.Compare(p.col, o.col))
}

// maxProblems bounds what is reported of one file: users do not read more.
const maxProblems = 200

// clip shortens a value that is shown in a problem.
func clip(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
