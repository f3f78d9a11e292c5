package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// words of the tables in a language.
type words struct {
	driver, target, check, wants, why string
	passed, failed, judged            string
	notAccepted                       string
	reasons                           func(accepted) (wants, why string)
}

func english() words {
	return words{driver: "driver", target: "checks of", check: "check", wants: "what it wants",
		why: "why it is accepted", passed: "pass", failed: "fail", judged: "need a manual check",
		notAccepted: "**not accepted**", reasons: func(a accepted) (string, string) { return a.wants, a.why }}
}

func chinese() words {
	return words{driver: "驱动", target: "检查对象", check: "检查项", wants: "要求", why: "接受的原因", passed: "通过",
		failed: "失败", judged: "需要人工判断", notAccepted: "**未接受**",
		reasons: func(a accepted) (string, string) { return a.wantsZh, a.whyZh }}
}

// table is what the records say, as Markdown: totals of each driver, then each check that fails or may fail.
func table(list []*Record, w words) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n|---|---|--:|--:|--:|\n", w.driver, w.target, w.passed, w.failed,
		w.judged)
	for _, r := range list {
		for _, c := range counts(r) {
			fmt.Fprintf(&b, "| %s %s | %s: %s | %d | %d | %d |\n", r.Driver, r.Kubernetes, c.node, c.target,
				c.says[pass], c.says[fail], c.says[warn])
		}
	}
	fmt.Fprintf(&b, "\n| %s | %s | %s | %s |\n|---|---|---|---|\n", w.check, w.wants, w.driver, w.why)
	for _, f := range failures(list) {
		wants, why := f.text, w.notAccepted+": "+f.value
		if f.accepted != nil {
			wants, why = w.reasons(*f.accepted)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.id, stand.Cell(wants), strings.Join(f.drivers, ", "),
			stand.Cell(why))
	}
	return b.String()
}

// failure is a check that failed on a node of some drivers.
type failure struct {
	id, text, value string
	drivers         []string
	accepted        *accepted
}

// failures are the checks that failed, in the order of the benchmark. One that is accepted for a driver and not for
// another is two.
func failures(list []*Record) []failure {
	var out []failure
	for _, r := range list {
		for _, c := range r.Checks {
			if c.Says != fail {
				continue
			}
			f := failure{id: c.ID, text: c.Text, value: c.Value}
			if a, ok := acceptedFor(r.Driver, c.ID); ok {
				f.accepted = &a
			}
			i := slices.IndexFunc(out, func(o failure) bool {
				return o.id == f.id && (o.accepted == nil) == (f.accepted == nil)
			})
			if i < 0 {
				i = len(out)
				out = append(out, f)
			}
			if !slices.Contains(out[i].drivers, r.Driver) {
				out[i].drivers = append(out[i].drivers, r.Driver)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b failure) int { return slices.Compare(numbers(a.id), numbers(b.id)) })
	return out
}

// numbers of a check, 1.1.12, to sort by.
func numbers(id string) []int {
	var out []int
	for part := range strings.SplitSeq(id, ".") {
		n := 0
		_, _ = fmt.Sscan(part, &n) // what is no number comes first
		out = append(out, n)
	}
	return out
}
