package server

import (
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// An answer names fields of requests, not flags of the command line, and no files that are gone when it is read.
func TestWordsOfTheAPI(t *testing.T) {
	args := []string{"file", "known_hosts", "path", "/run/x/key", "dir", "/var/lib/eggo", "run", "r1", "what",
		"file:/run/x", "missing", "v1.34.0", "version", "v1.34.0", "arch", "arm64", "is", "v1.33.0", "from", "v1.33.0",
		"to", "v1.35.0", "cluster", "one", "node", "m1", "addr", "192.0.2.1:22", "type", "ed25519", "fingerprint",
		"SHA256:x"}
	for code, field := range map[string]string{"ssh.hostkey-unknown": "host_keys", "ssh.key-file": "ssh.key",
		"ssh.key-missing": "ssh.key",
		"ssh.known-hosts": "ssh.known_hosts", "backup.identity": "identity", "backup.no-key": "recipients",
		"usage.no-run": "/runs", "run.interrupted": "/continue", "upgrade.no-bundles": "bundles",
		"upgrade.arch": "bundles", "upgrade.skipped": "bundles", "upgrade.bundle-version": "bundles",
		"upgrade.bundle-replaced": "bundles", "usage.secret": "secrets"} {
		for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
			f := event.NewFault(event.ClassUsage, code, nil, args...)
			if f.Node = "m1"; i18n.NewPrinter(lang).Has("fault." + code + ".api") {
				f.Cause = "open /run/x/key: no such file"
			}
			text, next := problem.Said(i18n.NewPrinter(lang), f)
			if all := text + next; !strings.Contains(next, field) || strings.Contains(all, "/run/") ||
				strings.Contains(all, " --") || strings.Contains(all, "/var/lib/eggo") ||
				!strings.HasPrefix(text, "m1") && !strings.Contains(text, "m1:") && !strings.Contains(text, "m1：") {
				t.Errorf("%s: no %s in %q %q", code, field, text, next)
			}
		}
	}
}

// An upgrade without bundles continues one; where there is none it is refused at once.
func TestAnUpgradeWithoutBundles(t *testing.T) {
	s := begin(t)
	s.running()
	s.installed()
	a := s.want(s.call("otto", "POST", "/api/v1/clusters/one/upgrade", `{}`), 422, "upgrade.no-bundles")
	if next, _ := a.body["next"].(string); !strings.Contains(next, "bundles") || strings.Contains(next, "--") {
		t.Error(a.text)
	}
}

// What is refused because nothing is in progress is not to be waited for: the cluster is Running already.
func TestAdviceWhereNothingIsInProgress(t *testing.T) {
	s := begin(t)
	s.running()
	wants := map[string]string{"en": "nothing to cancel or to continue", "zh": "没有可取消或继续的操作"}
	for _, what := range []string{"cancel", "continue"} {
		for lang, want := range wants {
			a := s.want(s.call("otto", "POST", "/api/v1/clusters/one/"+what, "", "Accept-Language", lang), 409,
				"manager.state")
			if next, _ := a.body["next"].(string); !strings.Contains(next, want) {
				t.Errorf("%s: %q", what, next)
			}
		}
	}
	f := event.NewFault(event.ClassUsage, "control.not-asked", nil, "step", "s1")
	for lang, want := range map[i18n.Lang]string{i18n.English: "Look at the run", i18n.Chinese: "查看该任务"} {
		if _, next := problem.Said(i18n.NewPrinter(lang), f); !strings.Contains(next, want) {
			t.Errorf("a decision that nobody waits for: %q", next)
		}
	}
}
