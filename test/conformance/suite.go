package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab/upstream"
)

// suite is upstream's suite of a version of Kubernetes.
type suite struct {
	kubernetes string
	dir        string // the cache directory that it was built in
	images     []string
}

// build builds the suite and the images of its tests, unless they are there.
func build(ctx context.Context, s *stand.Stand, kubernetes string) (*suite, error) {
	dir, err := upstream.SuiteDir()
	if err != nil {
		return nil, err
	}
	base, err := upstream.LoadSpec("")
	if err != nil {
		return nil, err
	}
	ready := func(images []string) error {
		return upstream.Build(ctx, upstream.Options{Dir: dir, Spec: base.Suite(kubernetes, images),
			Report: upstream.Printer(s.Out)})
	}
	s.Say("upstream's end-to-end suite of Kubernetes %s (the first time: ten minutes and more)", kubernetes)
	if err := ready(nil); err != nil {
		return nil, err
	}
	u := &suite{kubernetes: kubernetes, dir: dir}
	list, err := u.ask(ctx, "--list-images")
	if err != nil {
		return nil, err
	}
	u.images = imageNames(list)
	if len(u.images) == 0 {
		return nil, errors.New("the suite names no image that can be made: its list is read wrongly")
	}
	s.Say("%d images of the suite", len(u.images))
	return u, ready(u.images)
}

// imageNames are the images that the suite lists, in an order that changes, and that can be made. The others are of
// tests that are not [Conformance].
func imageNames(list []byte) []string {
	names := slices.DeleteFunc(strings.Fields(string(list)), func(n string) bool { return !upstream.CanMake(n) })
	slices.Sort(names)
	return slices.Compact(names)
}

func (u *suite) program(name string) string {
	return upstream.SuiteProgram(u.dir, u.kubernetes, runtime.GOARCH, name)
}

// ask runs the suite for what it prints.
func (u *suite) ask(ctx context.Context, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, u.program("e2e.test"), args...)
	out, err := c.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return out, err
}

// tests are the names of the [Conformance] tests, sorted.
func (u *suite) tests(ctx context.Context) ([]string, error) {
	out, err := u.ask(ctx, "--list-conformance-tests")
	if err != nil {
		return nil, err
	}
	return testNames(out)
}

func testNames(list []byte) ([]string, error) {
	var all []struct {
		Codename string `yaml:"codename"`
	}
	if err := yaml.Unmarshal(list, &all); err != nil {
		return nil, fmt.Errorf("the list of the suite: %w", err)
	}
	var names []string
	for _, t := range all {
		names = append(names, t.Codename)
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) < 2 {
		return nil, errors.New("the suite lists no tests")
	}
	return names, nil
}

// description is what ginkgo puts before the names of tests when it compares them.
const description = "Kubernetes e2e suite"

// focus is a regular expression of just these tests.
func focus(tests []string) string {
	quoted := make([]string, 0, len(tests))
	for _, t := range tests {
		quoted = append(quoted, regexp.QuoteMeta(t))
	}
	return "^" + description + " (" + strings.Join(quoted, "|") + ")$"
}

// caller runs parts of the tests against a cluster.
type caller struct {
	*suite
	dir, kubeconfig, progress string // where logs and reports go, …, the URL that is told of every test
}

// longest is how long a part may take before ginkgo ends it.
const longest = 2 * time.Hour

// run calls the suite for some tests. What it prints is in the log of that number.
func (c *caller) run(ctx context.Context, number int, tests []string) (map[string]Result, error) {
	base := filepath.Join(c.dir, fmt.Sprintf("part-%03d", number))
	report := base + ".json"
	if err := os.Remove(report); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	log, err := os.Create(base + ".log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.CommandContext(ctx, c.program("e2e.test"), "--kubeconfig", c.kubeconfig, "--provider", "skeleton",
		"--kubectl-path", c.program("kubectl"), "--repo-root", "", "--e2e-output-dir", c.dir,
		"--disable-log-dump", "--progress-report-url", c.progress,
		"--ginkgo.focus", focus(tests), "--ginkgo.json-report", report, "--ginkgo.no-color", "--ginkgo.v",
		"--ginkgo.timeout", longest.String())
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "KUBECACHEDIR="+filepath.Join(c.dir, "kubectl-cache"), "KUBECONFIG="+c.kubeconfig)
	// An interrupt of the terminal reaches the whole group; a second one would keep the suite from removing what it
	// made in the cluster.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 2 * time.Minute
	ended := cmd.Run()
	data, err := os.ReadFile(report)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the suite left no report, see %s.log", base), ended, err)
	}
	results, err := parse(data, tests)
	if err != nil {
		return results, fmt.Errorf("%w (%s.log)", err, base)
	}
	return results, os.Remove(report)
}
