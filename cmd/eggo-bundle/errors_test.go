package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/exitcode"
)

// Everything that went wrong is told, once, whatever the tree of errors looks like.
func TestAllFaultsAreTold(t *testing.T) {
	lacks := func(arch, what string) error {
		return event.NewFault(event.ClassFailed, "build.locked", nil, "what", what, "arch", arch, "file", "bundle.lock")
	}
	damaged := event.NewFault(event.ClassBundle, "bundle.not-gzip", nil, "file", "a.tar.gz")
	for _, c := range []struct {
		name string
		err  error
		code exitcode.Code
		told []string // a beginning of each line with an error
	}{
		{"nothing", nil, exitcode.OK, nil},
		{"one", damaged, exitcode.Bundle, []string{"a.tar.gz is not"}},
		{"both architectures", errors.Join(lacks("arm64", "kubelet"), lacks("amd64", "kubelet")), exitcode.Failed,
			[]string{"kubelet"}},
		{"joined in joined, wrapped", fmt.Errorf("all: %w",
			errors.Join(errors.Join(lacks("amd64", "kubelet"), lacks("amd64", "etcd")), damaged)), exitcode.Failed,
			[]string{"kubelet", "etcd", "a.tar.gz"}},
		{"one kind", errors.Join(damaged, event.NewFault(event.ClassBundle, "bundle.not-gzip", nil, "file",
			"b.tar.gz")), exitcode.Bundle, []string{"a.tar.gz", "b.tar.gz"}},
		{"no fault at all", errors.New("boom"), exitcode.Failed, []string{""}},
		{"said before", silent{exitcode.Failed}, exitcode.Failed, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			if code := printErrors(&environment{Stderr: &out, P: i18n.NewPrinter(i18n.English)},
				c.err); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			var got []string
			for _, line := range strings.Split(out.String(), "\n") {
				if text, ok := strings.CutPrefix(line, "error: "); ok {
					got = append(got, text)
				}
			}
			if len(got) != len(c.told) {
				t.Fatalf("told:\n%s", &out)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], c.told[i]) {
					t.Errorf("%q does not begin with %q", got[i], c.told[i])
				}
			}
			if c.name == "both architectures" && !strings.Contains(got[0], "amd64, arm64") {
				t.Errorf("not both are named: %s", got[0])
			}
		})
	}
}

// A problem with a place is told with it, as compilers do, and its fields stand in the JSON line.
func TestAPlaceIsTold(t *testing.T) {
	f := event.NewFault(event.ClassUsage, "spec.unknown-key", nil, "file", "s\x1b[31m.yaml", "line", "3", "key",
		"packges", "known", "packages")
	var out bytes.Buffer
	env := &environment{Stdout: &out, Stderr: &out, P: i18n.NewPrinter(i18n.English)}
	printErrors(env, f)
	if got := out.String(); !strings.HasPrefix(got, "error: s[31m.yaml:3: Unknown key packges") {
		t.Errorf("%q", got)
	}
	out.Reset()
	env.json = true
	printErrors(env, f)
	lines := strings.Split(out.String(), "\n")
	if !strings.HasPrefix(lines[0], `{"type":"version","schema":1,`) ||
		!strings.Contains(lines[1], `"key":"packges","line":"3"`) {
		t.Errorf("%s", &out)
	}
}
