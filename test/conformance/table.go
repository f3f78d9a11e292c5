package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// count of the tests of a SIG.
type count struct{ passed, failed, cannot, all int }

var sigName = regexp.MustCompile(`^\[(sig-[a-z-]+)\]`)

func sigOf(test string) string {
	if m := sigName.FindStringSubmatch(test); m != nil {
		return m[1]
	}
	return "-"
}

// counts are those of a record by SIG, and of all.
func counts(r *Record) (bySIG map[string]count, all count) {
	bySIG = map[string]count{}
	for t, result := range r.Results {
		c := bySIG[sigOf(t)]
		for _, n := range []*count{&c, &all} {
			n.all++
			switch result.State {
			case Passed:
				n.passed++
			case Failed:
				n.failed++
			case Cannot:
				n.cannot++
			}
		}
		bySIG[sigOf(t)] = c
	}
	return bySIG, all
}

// words of the tables in a language.
type words struct{ passed, failed, cannot, all, notRun, none, why, driver string }

func english() words {
	return words{"passed", "failed", "cannot run", "all", "Not run yet: %d of %d tests (%s).",
		"There is no record yet.", "why", "driver"}
}

func chinese() words {
	return words{"通过", "失败", "无法运行", "合计", "尚未运行：%d 项（共 %d 项，%s）。", "还没有记录。", "原因",
		"驱动"}
}

// table is what records say, as Markdown.
func table(records []*Record, w words, zh bool) string {
	var b strings.Builder
	if len(records) == 0 {
		return w.none + "\n"
	}
	b.WriteString("| SIG |")
	rule, sigs := "|---|", map[string]bool{}
	for _, r := range records {
		for _, word := range []string{w.passed, w.failed, w.cannot} {
			fmt.Fprintf(&b, " %s %s: %s |", r.Driver, r.Kubernetes, word)
			rule += "---:|"
		}
		for t := range r.Results {
			sigs[sigOf(t)] = true
		}
	}
	b.WriteString("\n" + rule + "\n")
	names := []string{}
	for s := range sigs {
		names = append(names, s)
	}
	slices.Sort(names)
	for _, name := range append(names, "") {
		title := name
		if name == "" {
			title = w.all
		}
		fmt.Fprintf(&b, "| %s |", title)
		for _, r := range records {
			bySIG, c := counts(r)
			if name != "" {
				c = bySIG[name]
			}
			fmt.Fprintf(&b, " %d | %d | %d |", c.passed, c.failed, c.cannot)
		}
		b.WriteString("\n")
	}
	for _, r := range records {
		if _, c := counts(r); c.all < r.Tests {
			fmt.Fprintf(&b, "\n"+w.notRun+"\n", r.Tests-c.all, r.Tests, r.Driver)
		}
	}
	details(&b, records, Failed, w.failed, w, zh)
	details(&b, records, Cannot, w.cannot, w, zh)
	return b.String()
}

// details are the tests of a state, each with its reason.
func details(b *strings.Builder, records []*Record, state State, title string, w words, zh bool) {
	var rows []string
	for _, r := range records {
		for test, result := range r.Results {
			if result.State != state {
				continue
			}
			why := result.Why
			if zh && result.WhyZh != "" {
				why = result.WhyZh
			}
			rows = append(rows, fmt.Sprintf("| %s | %s | %s |\n", cell(test), r.Driver, cell(why)))
		}
	}
	if len(rows) == 0 {
		return
	}
	slices.Sort(rows)
	fmt.Fprintf(b, "\n| %s | %s | %s |\n|---|---|---|\n", title, w.driver, w.why)
	for _, row := range rows {
		b.WriteString(row)
	}
}

// cell is a text that does not leave its cell of a table.
func cell(text string) string { return "`" + stand.Cell(strings.ReplaceAll(text, "`", "'")) + "`" }

// program is what the pages call this command.
const program = "test/conformance"
