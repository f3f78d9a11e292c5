package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

func TestTable(t *testing.T) {
	t.Parallel()
	first := &Record{Driver: binary, Kubernetes: "v1.34.2", Tests: 4, Results: map[string]Result{
		dns: {State: Passed}, pods: {State: Failed, Why: "a|b\n  `c` " + strings.Repeat("long ", 100)},
		taints: {State: Cannot, Why: "no kernel", WhyZh: "内核"}}}
	second := &Record{Driver: kubeadm, Kubernetes: "v1.34.2", Tests: 1,
		Results: map[string]Result{dns: {State: Passed}}}
	got := table([]*Record{first, second}, english(), false)
	const want = "| SIG | binary v1.34.2: passed | binary v1.34.2: failed | binary v1.34.2: cannot run | " +
		"kubeadm v1.34.2: passed | kubeadm v1.34.2: failed | kubeadm v1.34.2: cannot run |\n" +
		"|---|---:|---:|---:|---:|---:|---:|\n" +
		"| sig-network | 1 | 0 | 0 | 1 | 0 | 0 |\n" +
		"| sig-node | 0 | 1 | 1 | 0 | 0 | 0 |\n" +
		"| all | 1 | 1 | 1 | 1 | 0 | 0 |\n" +
		"\nNot run yet: 1 of 4 tests (binary).\n" +
		"\n| failed | driver | why |\n|---|---|---|\n"
	if !strings.HasPrefix(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	for _, row := range []string{"| `" + pods + "` | binary | `a\\|b 'c' long ",
		"…` |\n\n| cannot run | driver | why |\n",
		"| `" + taints + "` | binary | `no kernel` |\n"} {
		if !strings.Contains(got, row) {
			t.Errorf("no %q in\n%s", row, got)
		}
	}
	if zh := table([]*Record{first}, chinese(), true); !strings.Contains(zh, "| `内核` |") ||
		!strings.Contains(zh, "尚未运行：1 项") || strings.Contains(zh, "cannot") {
		t.Error(zh)
	}
	if none := table(nil, english(), false); none != "There is no record yet.\n" {
		t.Error(none)
	}
}

// Both pages have a place for the table.
func TestThePagesHaveAPlaceForTheTable(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"conformance.md", filepath.Join("zh", "conformance.md")} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", file))
		must(t, err)
		if _, err := stand.InPage(string(text), program, "x"); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
