package main

import "testing"

// TestAgainLosesNoFlag: the command that a run names to go on is the one that was given.
func TestAgainLosesNoFlag(t *testing.T) {
	o := runOptions{state: "/srv/my state", failure: "retry=2", hooks: hookFlags{before: []string{"a.sh,worker"}, beforeKind: "prehook"}}
	if got, want := o.again(), " --state-dir '/srv/my state' --on-failure retry=2 --prehook a.sh,worker"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	d := deleteOptions{drain: 2 * drainTimeout, purge: true, force: true}
	if got, want := d.again([]string{"w1", "192.0.2.5"}), " w1 192.0.2.5 --drain-timeout 10m0s --purge --force"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (&runOptions{}).again(); got != "" {
		t.Errorf("nothing was given, and %q is told", got)
	}
}

// TestHintsFindTheStateDirectory: a command that is told to be copied finds the cluster where this one found it.
func TestHintsFindTheStateDirectory(t *testing.T) {
	s := session{stateDir: "/srv/my state"}
	if got, want := s.elsewhere(), " --state-dir '/srv/my state'"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (&session{}).elsewhere(); got != "" {
		t.Errorf("nothing was given, and %q is told", got)
	}
}
