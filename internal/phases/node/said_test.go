package node_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// saying is a machine on which every script ends so.
type saying struct {
	node.Host
	result shell.Result
}

func (s saying) Name() string                                             { return "n1" }
func (s saying) Run(context.Context, shell.Command) (shell.Result, error) { return s.result, nil }

// faultOf is the fault of a script that ended with the status and these last words.
func faultOf(t testing.TB, status int, said string) *event.Fault {
	t.Helper()
	n := node.New(saying{result: shell.Result{Status: status, Stderr: []byte(said)}},
		func(event.Event) error { return nil })
	_, err := n.Change(context.Background(), node.Change{Desc: event.M("x"), Script: "true"})
	return event.AsFault(err)
}

// A node says which of the few faults of our scripts it was; it does not choose among all, nor what is written into the
// log.
func TestANodeDoesNotChooseTheFault(t *testing.T) {
	for _, code := range []string{"lock.node-held", "ssh.auth", "etcd.no-quorum", "run.interrupted", "x",
		"node.file-exists\x1b[2J", "../../x", ""} {
		f := faultOf(t, 90, "eggo-fault "+code+" /etc/x\n")
		if f.Code != "node.command-failed" || f.Args["status"] != "90" || strings.ContainsRune(f.Cause, 0x1b) {
			t.Errorf("%q became %q %v", code, f.Code, f.Args)
		}
	}
	if f := faultOf(t, 1, "eggo-fault node.file-exists /etc/x\n"); f.Code != "node.command-failed" {
		t.Errorf("with another status it became %q", f.Code)
	}
	f := faultOf(t, 90, "eggo-fault node.file-exists /etc/\x1b[31m"+strings.Repeat("x", 64<<10)+"\u202e\n")
	if w := f.Args["what"]; f.Code != "node.file-exists" || len(w) > event.MaxArg ||
		strings.ContainsAny(w, "\x1b\u202e") {
		t.Errorf("%s with %d bytes: %.80q", f.Code, len(w), w)
	}
}

// Every fault that a script of ours ends with is known.
func TestFaultsOfScriptsAreKnown(t *testing.T) {
	fails := regexp.MustCompile(`\bfail ([a-z]+(?:\.[a-z-]+)+)`)
	n := 0
	for file, text := range sources(t) {
		for _, m := range fails.FindAllStringSubmatch(text, -1) {
			n++
			if f := faultOf(t, 90, "eggo-fault "+m[1]+" x\n"); f.Code != m[1] {
				t.Errorf("%s: %s is not in scriptFault", file, m[1])
			}
		}
	}
	if n < 6 {
		t.Errorf("%d found: the scripts say it in another way", n)
	}
}

// Whatever a node says, the fault is bounded and clean.
func FuzzSaid(f *testing.F) {
	f.Add(90, "eggo-fault node.file-exists /etc/x\n")
	f.Add(90, "eggo-fault a.b \x1b]0;x\x07\xff\u202e")
	f.Add(1, "E1122 10:00:00 x\n{\"level\":\"error\",\"msg\":\"a\\u001b\",\"error\":\"b\"}")
	f.Fuzz(func(t *testing.T, status int, said string) {
		fault := faultOf(t, status, said)
		if fault == nil {
			return
		}
		total := len(fault.Cause)
		for k, v := range fault.Args {
			total += len(k) + len(v)
			if k != "command" && event.Clean(v) != v || !utf8.ValidString(v) {
				t.Errorf("%s is %q", k, v)
			}
		}
		if event.Clean(fault.Cause) != fault.Cause || total > event.MaxCause+3*event.MaxArg {
			t.Errorf("%d bytes, cause %q", total, fault.Cause)
		}
		if c := fault.Code; c != "node.command-failed" && !strings.HasPrefix(c, "node.") && c != "packages.locked" {
			t.Errorf("the code %q", c)
		}
	})
}
