package e2e

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// TestDebianPackage installs the package of a release on a machine, and purges it.
func TestDebianPackage(t *testing.T) {
	full(t)
	s := newStand(t)
	ctx := t.Context()
	deb := debianPackage(t, s)
	t.Cleanup(func() {
		if err := s.Lab.Down(context.WithoutCancel(ctx), true); err != nil {
			t.Error(err)
		}
	})
	must(t, "lab", s.Lab.Up(ctx, 1))
	on := func(want int, line string) string {
		t.Helper()
		cmd := s.Lab.SSH(ctx, "n1", line)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want {
			t.Fatalf("%s: %v, want exit code %d\n%s", line, err, want, out)
		}
		return string(out)
	}
	file, err := os.Open(deb)
	must(t, "package", err)
	defer file.Close()
	cmd := s.Lab.SSH(ctx, "n1", "cat >/root/eggo.deb")
	cmd.Stdin = file
	must(t, "copy the package", cmd.Run())

	on(0, "dpkg -i /root/eggo.deb")
	owned := strings.Fields(on(0, "dpkg -L eggo"))
	for _, program := range []string{"eggo-tui", "eggo", "eggo-bundle"} {
		if out := on(0, program+" --version"); !strings.HasPrefix(out, program+" ") || !strings.Contains(out, "next") {
			t.Errorf("%s --version: %q", program, out)
		}
		on(0, "gzip -t /usr/share/man/man1/"+program+".1.gz")
		on(0, ". /usr/share/bash-completion/completions/"+program+" && complete -p "+program)
		on(0, "test -s /usr/share/fish/vendor_completions.d/"+program+".fish")
		on(0, "test -s /usr/share/zsh/vendor-completions/_"+program)
	}
	if out := on(0, "zcat /usr/share/man/man1/eggo-tui-deploy.1.gz"); !strings.Contains(out, `\-\-on\-failure`) {
		t.Errorf("the page of deploy: %s", out)
	}
	if out := on(0, "eggo __complete list --output ''"); !strings.HasPrefix(out, "text\njson\n") {
		t.Errorf("completion: %q", out)
	}
	on(2, "eggo-tui deploy -f /nowhere.yaml") // it runs as far as that

	on(0, "dpkg --purge eggo")
	left := on(0, "for f in "+strings.Join(owned, " ")+"; do [ -d $f ] || ! [ -e $f -o -L $f ] || echo $f; done")
	if left != "" {
		t.Errorf("the purge left behind:\n%s", left)
	}
	on(0, "! test -e /usr/share/doc/eggo")
	on(0, "! command -v eggo-tui && ! command -v eggo && ! command -v eggo-bundle")
	on(1, "dpkg -s eggo")
}

// debianPackage makes the package for this machine's architecture as a release does, without the rest of one.
func debianPackage(t *testing.T, s *stand.Stand) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Root, ".goreleaser.yaml"))
	must(t, "release", err)
	var conf map[string]any
	must(t, "release", yaml.Unmarshal(text, &conf))
	var builds []any
	for _, b := range conf["builds"].([]any) {
		if b := b.(map[string]any); b["goos"].([]any)[0] == "linux" {
			b["goarch"] = []string{runtime.GOARCH}
			builds = append(builds, b)
		}
	}
	conf["builds"], conf["dist"] = builds, filepath.Join(s.Dir, "dist")
	delete(conf, "archives") // and what is made of them
	delete(conf, "sboms")
	conf["nfpms"].([]any)[0].(map[string]any)["formats"] = []string{"deb"}
	text, err = yaml.Marshal(conf)
	must(t, "release", err)
	only := filepath.Join(s.Dir, "goreleaser.yaml")
	must(t, "release", os.WriteFile(only, text, 0o644))
	s.Say("making the package")
	must(t, "make release-snapshot", s.Command(t.Context(), "make", "-s", "-C", s.Root, "release-snapshot",
		"RELEASE=-f "+only+" --skip=archive").Run())
	found, err := filepath.Glob(filepath.Join(s.Dir, "dist", "*.deb"))
	must(t, "package", err)
	if len(found) != 1 {
		t.Fatalf("packages: %v", found)
	}
	return found[0]
}
