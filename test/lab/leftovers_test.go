package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// machineState holds the parts of the machine that a lab must not change.
func machineState(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, f := range []string{"net/ipv4/ip_forward", "net/ipv4/conf/all/forwarding",
		"net/ipv4/conf/default/forwarding", "kernel/panic", "kernel/panic_on_oops",
		"kernel/hostname", "kernel/keys/root_maxkeys", "vm/overcommit_memory", "vm/panic_on_oom"} {
		text, err := os.ReadFile("/proc/sys/" + f)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s=%s", f, text)
	}
	if programExists("nft") { // a bare machine gets it from the first Up
		rules, err := program(t.Context(), "nft", "--stateless", "list", "ruleset").output()
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(rules)
	}
	return b.String()
}

func nothingLeft(t *testing.T, l *Lab) {
	t.Helper()
	for _, pattern := range []string{"/run/netns/" + l.name + "-*", "/sys/class/net/" + l.name + "-*",
		"/sys/fs/cgroup/*/" + l.cgroup(), "/sys/fs/cgroup/" + l.cgroup(), l.dir} {
		left, err := filepath.Glob(pattern)
		if err != nil || len(left) > 0 {
			t.Errorf("left: %v %v", left, err)
		}
	}
	if loops := loopsOf(l.dir); len(loops) > 0 {
		t.Errorf("loop devices left: %v", loops)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), l.dir) {
		t.Errorf("mounts left: %v", err)
	}
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range commands {
		if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), l.dir+"/") {
			t.Errorf("process left: %s", strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
}
