package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The examples of the manual, from nothing to an API token, as they stand there: they run in a shell in which the
// server is this one. The example that creates a cluster is run by the tests of internal/server.
func TestTheExamplesOfTheManual(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl; .ci/run installs it")
	}
	for _, page := range []string{"server.md", "zh/server.md"} {
		text, err := os.ReadFile(filepath.Join("../../docs", page))
		if err != nil {
			t.Fatal(err)
		}
		var examples strings.Builder
		n := 0
		for _, block := range strings.Split(string(text), "\n\n") {
			if strings.HasPrefix(block, "    ") && strings.Contains(block, "curl") {
				if n++; n <= 2 {
					examples.WriteString(block + "\n")
				}
			}
		}
		if n != 3 {
			t.Fatalf("%s has %d examples: each needs a test", page, n)
		}
		data := t.TempDir()
		s := start(t, data, t.TempDir())
		if err := os.WriteFile(filepath.Join(data, "bundles", "eggo-amd64.tar.gz"), nil, 0o600); err != nil {
			t.Fatal("the manual has bundles copied to where there is no directory:", err)
		}
		script := strings.NewReplacer("/var/lib/eggo-server", data, "https://localhost:7443", s.url).
			Replace(examples.String())
		cmd := exec.Command("/bin/sh", "-euc", `sudo() { "$@"; }
systemctl() { :; }
jq() { sed -n 's/.*"token": *"\([^"]*\)".*/\1/p'; }
`+strings.ReplaceAll(script, "curl ", "curl -sSf ")+"\necho \"token $TOKEN\"")
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		_, token, _ := strings.Cut(strings.TrimSpace(string(out)), "token eggo_")
		if err != nil || token == "" {
			t.Fatalf("%s: %v\n%s\n%s", page, err, script, out)
		}
		if code, answer, _ := s.call("eggo_"+token, "GET", "/api/v1/clusters", ""); code != 200 {
			t.Error(page, code, answer)
		}
		s.end()
	}
}
