package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// printed is what kube-bench prints, cut down.
const printed = `{"Controls":[{"id":"1","version":"cis-1.10","text":"Control Plane Security Configuration",
"node_type":"master","tests":[{"section":"1.1","results":[
{"test_number":"1.1.1","test_desc":"files","status":"PASS","actual_value":"permissions=600"},
{"test_number":"1.1.12","test_desc":"owner of the data","status":"FAIL","actual_value":"root:root\n"},
{"test_number":"1.2.1","test_desc":"anonymous","status":"WARN","actual_value":""}]}],
"total_pass":1,"total_fail":1,"total_warn":1,"total_info":0}],"Totals":{"total_pass":1}}`

// A check that fails is shown with what was found, and is refused unless it is accepted.
func TestAFailedCheckIsRefused(t *testing.T) {
	all, err := parse("n1", []byte(printed))
	if err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
	bad := refused(all)
	if len(bad) != 1 || bad[0].ID != "1.1.12" {
		t.Errorf("refused: %+v", bad)
	}
	var b strings.Builder
	if err := report(&b, all); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`n1 +master +1 +1 +1 +0`, `FAIL +n1 +1\.1\.12 .*NOT ACCEPTED: root:root`,
		`WARN +n1 +1\.2\.1 `} {
		if !regexp.MustCompile(want).MatchString(b.String()) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	for _, text := range []string{"", "{}", `{"Controls":[]}`} {
		if _, err := parse("n1", []byte(text)); err == nil {
			t.Errorf("%q says nothing, and is taken", text)
		}
	}
}

// What is accepted is what docs/security.md says, and is little.
func TestAcceptedChecksAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(accepted()); n > 5 {
		t.Errorf("%d checks are accepted", n)
	}
	for id := range accepted() {
		if !strings.Contains(string(page), "| "+id+" |") {
			t.Errorf("docs/security.md has no row for %s", id)
		}
	}
}
