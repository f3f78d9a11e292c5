package remote

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Renewals that come one after another, as they do when a node stood still for a while, hold nothing up: a shell that
// has just been started drops the signal that ends it. Nothing of the lease is left when the session has ended.
func TestRenewalsOneAfterAnother(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	lease := strconv.Itoa(100000 + os.Getpid()) // of this test alone
	node := exec.CommandContext(ctx, "sh", "-c", agentScript)
	node.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	node.Stdin = strings.NewReader("word\n" + lease + "\n" + strings.Repeat("l\n", 40) + "q\n")
	node.WaitDelay = time.Second
	out, err := node.Output()
	if err != nil || !strings.Contains(string(out), "word ready 0 0") {
		t.Fatalf("%v\n%s", err, out)
	}
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		if line, _ := os.ReadFile(file); string(line) == "sleep\x00"+lease+"\x00" {
			t.Errorf("%s is left", file)
		}
	}
}
