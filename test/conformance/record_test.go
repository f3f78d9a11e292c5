package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsToBeRun(t *testing.T) {
	t.Parallel()
	all := []string{dns, pods, sets, taints}
	r := &Record{Results: map[string]Result{dns: {State: Passed}, pods: {State: Failed}, sets: {State: Cannot},
		taints: {State: Cannot, Listed: true}}}
	for rerun, want := range map[string][]string{"": nil, "failed": {pods}, "cannot": {sets},
		"all": {dns, pods, sets}} {
		got, err := todo(all, r, rerun)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("RERUN=%s: %s", rerun, diff)
		}
	}
	if _, err := todo(all, r, "some"); err == nil {
		t.Error("RERUN=some is taken")
	}
	delete(r.Results, dns)
	if got, err := todo(all, r, ""); err != nil || !slices.Equal(got, []string{dns}) {
		t.Error(got, err)
	}
}

func TestFocus(t *testing.T) {
	t.Parallel()
	all := []string{dns, pods, sets, "[sig-auth] ServiceAccounts should mount [Conformance]"}
	for focus, want := range map[string]int{"": 4, "sig-network": 1, "upgrade": 3, "should (mount|list)": 2} {
		if got, err := focused(all, focus); err != nil || len(got) != want {
			t.Errorf("FOCUS=%s: %v, %v", focus, got, err)
		}
	}
	for _, focus := range []string{"(", "no such test"} {
		if got, err := focused(all, focus); err == nil {
			t.Errorf("FOCUS=%s: %v", focus, got)
		}
	}
	re := regexp.MustCompile(focus([]string{dns, taints}))
	if !re.MatchString(description+" "+taints) || re.MatchString(description+" "+taints+" again") ||
		re.MatchString(description+" "+pods) {
		t.Error("not just the tests that are meant:", re)
	}
}

// A part is small, so that little is lost, and every worker has one.
func TestParts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tests, workers, parts, first int }{
		{0, 3, 0, 0}, {1, 3, 1, 1}, {6, 3, 6, 1}, {100, 3, 13, 8}, {20, 1, 3, 8},
	} {
		got := parts(make([]string, c.tests), c.workers)
		if len(got) != c.parts || c.parts > 0 && len(got[0]) != c.first {
			t.Errorf("%+v: %d parts", c, len(got))
		}
	}
}

// What the list says is in the record; what leaves the list has not run.
func TestTheListOfWhatCannotRun(t *testing.T) {
	t.Parallel()
	list, err := reasons([]byte("- {tests: '^\\[sig-network\\]', because: no kernel, zh: 内核}\n"))
	must(t, err)
	r, err := open(t.TempDir(), binary, "v1.34.2")
	must(t, err)
	r.Results["[sig-old] gone"] = Result{State: Passed}
	r.settle([]string{dns, pods}, list)
	want := map[string]Result{dns: {State: Cannot, Why: "no kernel", WhyZh: "内核", Listed: true}}
	if diff := cmp.Diff(want, r.Results); diff != "" {
		t.Error(diff)
	}
	r.settle([]string{dns, pods}, nil)
	if len(r.Results) != 0 || r.Tests != 2 {
		t.Errorf("%+v", r)
	}
	for _, bad := range []string{"- {tests: '(', because: a, zh: b}", "- {tests: a, because: b}",
		"- {because: a, zh: b}", "x"} {
		if _, err := reasons([]byte(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	if _, err := reasons(cannotText); err != nil {
		t.Error(err)
	}
}

// world answers for the suite.
type world struct {
	mu     sync.Mutex
	calls  [][]string
	answer func(test string) (Result, bool)
	err    func(tests []string) error
}

func (w *world) call(_ context.Context, _ int, tests []string) (map[string]Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, tests)
	out := map[string]Result{}
	for _, t := range tests {
		if r, ok := w.answer(t); ok {
			out[t] = r
		}
	}
	if w.err != nil {
		return out, w.err(tests)
	}
	return out, nil
}

func passes(string) (Result, bool) { return Result{State: Passed, Seconds: 1}, true }

func numbered(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("[sig-node] number %03d [Conformance]", i))
	}
	return out
}

func newRun(w *world, r *Record) (*run, *[]string) {
	var said []string
	clock := time.Unix(0, 0)
	return &run{record: r, call: w.call,
		say: func(f string, args ...any) { said = append(said, fmt.Sprintf(f, args...)) },
		now: func() time.Time { clock = clock.Add(time.Minute); return clock }}, &said
}

// A run that ends early is taken up by the next one: what has a result is not run again, a test that was interrupted
// is.
func TestARunIsTakenUp(t *testing.T) {
	t.Parallel()
	dir, tests := t.TempDir(), append(numbered(20), taints)
	first, err := open(dir, binary, "v1.34.2")
	must(t, err)
	w := &world{answer: func(test string) (Result, bool) {
		if test == tests[11] {
			return Result{State: Failed, Why: "too slow"}, true
		}
		return Result{State: Passed}, test < tests[10] || test == taints
	}}
	w.err = func(part []string) error {
		if slices.Contains(part, tests[12]) {
			return errors.New("the suite left no report")
		}
		return nil
	}
	r, said := newRun(w, first)
	if err := r.start(t.Context(), len(tests), tests, 1); err == nil || !strings.Contains(err.Error(), "no report") {
		t.Fatal(err)
	}
	if slices.ContainsFunc(w.calls, func(part []string) bool { return slices.Contains(part, taints) }) {
		t.Error("after the suite could not be called, serial tests were run")
	}
	if want := "1 of 21, 0 failed, about 20m0s left: passed: "; !strings.HasPrefix((*said)[0], want) {
		t.Errorf("%q, not %q", (*said)[0], want)
	}

	second, err := open(dir, binary, "v1.34.2")
	must(t, err)
	if len(second.Results) != 11 || second.Results[tests[11]].Why != "too slow" {
		t.Fatalf("the record has %d results: %+v", len(second.Results), second.Results)
	}
	rest, err := todo(tests, second, "")
	must(t, err)
	w = &world{answer: passes}
	r, said = newRun(w, second)
	must(t, r.start(t.Context(), len(tests), rest, 3))
	if len(rest) != 10 || len(*said) != 10 {
		t.Errorf("%d tests are left, %d lines", len(rest), len(*said))
	}
	if last := w.calls[len(w.calls)-1]; !slices.Equal(last, []string{taints}) {
		t.Errorf("the serial test is not run alone and last: %q", last)
	}
	if !strings.Contains((*said)[9], "21 of 21, 0 failed, about 0s left: passed: "+taints) {
		t.Error((*said)[9])
	}
	if err := verdict(second, tests); err == nil || !strings.Contains(err.Error(), "1 failed and 0 have not run") {
		t.Error(err)
	}
	failed, err := todo(tests, second, "failed")
	must(t, err)
	r, _ = newRun(w, second)
	must(t, r.start(t.Context(), len(tests), failed, 3))
	must(t, verdict(second, tests))
}

// What a suite says while it runs is in the record at once; the report says why it failed.
func TestASuiteIsHeardWhileItRuns(t *testing.T) {
	t.Parallel()
	record, err := open(t.TempDir(), kubeadm, "v1.34.2")
	must(t, err)
	w := &world{}
	r, said := newRun(w, record)
	url, err := r.listen(t.Context())
	must(t, err)
	r.call = func(ctx context.Context, _ int, tests []string) (map[string]Result, error) {
		for _, text := range []string{"FAILED " + dns, "FAILED " + dns, "PASSED " + pods, "PASSED of another",
			"nothing"} {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"msg":"`+text+`"}`))
			if err != nil {
				return nil, err
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				return nil, err
			}
			_ = res.Body.Close()
		}
		kept, err := os.ReadFile(record.file)
		if err == nil && (!strings.Contains(string(kept), pods) || strings.Contains(string(kept), "another")) {
			err = fmt.Errorf("while the suite runs the record is %s", kept)
		}
		return map[string]Result{dns: {State: Failed, Why: "no answer"}, pods: {State: Passed, Seconds: 3}}, err
	}
	must(t, r.start(t.Context(), 2, []string{dns, pods}, 1))
	want := map[string]Result{dns: {State: Failed, Why: "no answer"}, pods: {State: Passed, Seconds: 3}}
	if diff := cmp.Diff(want, record.Results); diff != "" || len(*said) != 2 {
		t.Error(diff, *said)
	}
}

func TestWhichImagesANodeGets(t *testing.T) {
	t.Parallel()
	const pause, agnhost, busybox = "registry.k8s.io/pause:3.10", "registry.k8s.io/e2e-test-images/agnhost:2.56",
		"registry.k8s.io/e2e-test-images/busybox:1"
	list := "REF TYPE DIGEST SIZE PLATFORMS LABELS\n" + pause + " application/x sha256:of-the-cluster 1 MiB linux -\n" +
		agnhost + " application/x sha256:old 1 MiB linux -\n" + busybox + " application/x sha256:b 1 MiB linux -\n"
	digests := map[string]string{pause: "sha256:p", agnhost: "sha256:a", busybox: "sha256:b"}
	got := lacking([]string{pause, agnhost, busybox, "new:1"}, digests, list)
	if diff := cmp.Diff([]string{agnhost, "new:1"}, got); diff != "" {
		t.Error(diff)
	}
	const invalid = "invalid.registry.k8s.io/invalid/alpine:3.1"
	listed := imageNames([]byte(strings.Join([]string{pause, agnhost, invalid, pause, ""}, "\n")))
	if diff := cmp.Diff([]string{agnhost, pause}, listed); diff != "" {
		t.Error(diff)
	}
}
