package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	dns    = "[sig-network] DNS should provide DNS for the cluster [Conformance]"
	pods   = "[sig-node] Pods should get a host IP [NodeConformance] [Conformance]"
	taints = "[sig-node] NoExecuteTaintManager Single Pod [Serial] removing taint cancels eviction [Disruptive] " +
		"[Conformance]"
	sets = "[sig-apps] StatefulSet should list, patch and delete a collection of StatefulSets [Conformance]"
)

// spec is one of ginkgo's report, which has the texts of the containers and that of the test apart.
func spec(state, failure string, texts ...string) string {
	if failure != "" {
		failure = `,"Failure":{"Message":"` + failure + `","Location":{"FileName":"k8s.io/dns.go","LineNumber":7}}`
	}
	last := len(texts) - 1
	return `{"ContainerHierarchyTexts":["` + strings.Join(texts[:last], `","`) +
		`"],"LeafNodeType":"It","LeafNodeText":"` + texts[last] + `","State":"` + state + `","RunTime":5034000000` +
		failure + `}`
}

func before(state string) string {
	return `{"ContainerHierarchyTexts":null,"LeafNodeType":"SynchronizedBeforeSuite","LeafNodeText":"","State":"` +
		state + `","RunTime":1,"Failure":{"Message":"no nodes"}}`
}

func reportOf(specs ...string) []byte {
	return []byte(`[{"SuiteSucceeded":false,"SpecReports":[` + strings.Join(specs, ",") + `]}]`)
}

func TestReport(t *testing.T) {
	t.Parallel()
	other := spec("skipped", "", "[sig-cli]", "of no interest")
	for name, c := range map[string]struct {
		report []byte
		tests  []string
		want   map[string]Result
		err    string
	}{
		"each state": {
			report: reportOf(before("passed"), other,
				spec("passed", "", "[sig-network] DNS", "", "should provide DNS for the cluster [Conformance]"),
				spec("failed", "timed out", "[sig-node] Pods", "should get a host IP [NodeConformance] [Conformance]"),
				spec("skipped", "needs SSH", "[sig-apps] StatefulSet",
					"should list, patch and delete a collection of StatefulSets [Conformance]")),
			tests: []string{dns, pods, sets},
			want: map[string]Result{dns: {State: Passed, Seconds: 5},
				pods: {State: Failed, Seconds: 5, Why: "timed out (k8s.io/dns.go:7)"},
				sets: {State: Cannot, Seconds: 5, Why: "needs SSH"}},
		},
		"interrupted: what was not begun, and what was not ended, has no result": {
			report: reportOf(before("passed"),
				spec("interrupted", "by user", "[sig-node] Pods",
					"should get a host IP [NodeConformance] [Conformance]"),
				spec("skipped", "", "[sig-network] DNS", "should provide DNS for the cluster [Conformance]")),
			tests: []string{dns, pods},
			want:  map[string]Result{},
		},
		"a test that panics, and one that takes too long, fail": {
			report: reportOf(spec("panicked", "", dns), spec("timedout", "", pods)),
			tests:  []string{dns, pods},
			want:   map[string]Result{dns: {State: Failed, Seconds: 5}, pods: {State: Failed, Seconds: 5}},
		},
		"the cluster is not fit": {
			report: reportOf(before("failed"), spec("skipped", "", dns)), tests: []string{dns},
			want: map[string]Result{}, err: "the suite cannot begin: no nodes",
		},
		"a test that the suite lists and does not have": {
			report: reportOf(spec("passed", "", dns)), tests: []string{dns, pods},
			want: map[string]Result{dns: {State: Passed, Seconds: 5},
				pods: {State: Cannot, Why: "the suite lists it and does not have it"}},
		},
		"no test was found":  {report: reportOf(other), tests: []string{dns}, want: map[string]Result{}, err: "none"},
		"nothing in it":      {report: []byte("[]"), tests: []string{dns}, want: map[string]Result{}, err: "none"},
		"a file of somebody": {report: []byte("{"), tests: []string{dns}, err: "report"},
	} {
		got, err := parse(c.report, c.tests)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
	}
}

func TestEvent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		test  string
		state State
	}{
		`{"msg":"PASSED ` + dns + `","total":0,"completed":1}`: {dns, Passed},
		`{"msg":"FAILED ` + dns + `","failures":["x"]}`:        {dns, Failed},
		`{"msg":"Test Suite starting","total":5}`:              {},
		`nonsense`: {},
	} {
		if test, state := event([]byte(text)); test != want.test || state != want.state {
			t.Errorf("%s: %q %q", text, test, state)
		}
	}
}

func TestTheNamesOfTheList(t *testing.T) {
	t.Parallel()
	got, err := testNames([]byte("- testname: A\n  codename: '" + pods + "'\n- codename: '" + dns +
		"'\n  file: x\n- codename: '" + dns + "'\n"))
	if diff := cmp.Diff([]string{dns, pods}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for _, text := range []string{"", "[]", "x: y", "- codename: a"} {
		if _, err := testNames([]byte(text)); err == nil {
			t.Errorf("%q is taken for a list of tests", text)
		}
	}
}
