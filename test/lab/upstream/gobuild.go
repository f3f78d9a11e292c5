package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"
)

// goModule is a throw-away main module from which programs of published modules are built.
type goModule struct {
	name    string            // of its directory under work/
	version string            // the go line
	require []moduleVersion   // what is built
	replace []moduleVersion   // path => path version
	others  []replacement     // path => another path version
	files   map[string][]byte // its own sources, by name
}

type moduleVersion struct{ path, version string }

type replacement struct {
	path string
	by   moduleVersion
}

// published is what the go command tells of a downloaded module.
type published struct {
	GoMod, Dir, Info, Error string
	Time                    time.Time `json:"-"` // of the release, from the Info file
}

// goMod is the text of the module's go.mod.
func (m goModule) goMod() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "module lab/%s\n\ngo %s\n", m.name, m.version)
	for _, r := range m.require {
		fmt.Fprintf(&b, "\nrequire %s %s\n", r.path, r.version)
	}
	for _, r := range m.replace {
		fmt.Fprintf(&b, "\nreplace %s => %s %s\n", r.path, r.path, r.version)
	}
	for _, r := range m.others {
		fmt.Fprintf(&b, "\nreplace %s => %s %s\n", r.path, r.by.path, r.by.version)
	}
	return b.Bytes()
}

// write makes the module again in dir/work, so that nothing of an interrupted build is left in it.
func (m goModule) write(dir string) (string, error) {
	d := filepath.Join(dir, "work", m.name)
	if err := os.RemoveAll(d); err != nil {
		return "", err
	}
	if err := os.MkdirAll(d, 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(d, "go.mod"), m.goMod(), 0o644); err != nil {
		return "", err
	}
	for name, body := range m.files {
		if err := os.WriteFile(filepath.Join(d, name), body, 0o644); err != nil {
			return "", err
		}
	}
	return d, nil
}

// goBuild compiles packages into out (a directory with a trailing slash, or a file), static and without paths of this
// machine.
func (b *builder) goBuild(ctx context.Context, m goModule, arch, out, ldflags string, packages ...string) error {
	d, err := m.write(b.dir)
	if err != nil {
		return err
	}
	args := append([]string{"build", "-v", "-trimpath", "-ldflags", strings.TrimSpace("-s -w " + ldflags), "-o", out},
		packages...)
	_, err = b.goRun(ctx, d, arch, args...)
	return err
}

// goRun runs the go command and returns its output. Its messages (with build -v: the packages as they are compiled) go
// to the progress; the last of them are in the error.
func (b *builder) goRun(ctx context.Context, dir, arch string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, b.goCommand, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOFLAGS=-buildvcs=false -mod=mod",
		"GOWORK=off", "PWD="+dir)
	var out bytes.Buffer
	cmd.Stdout = &out
	err := b.run(ctx, cmd)
	return out.Bytes(), err
}

// run runs a command that builds something. What it says, its output included unless that goes elsewhere, goes to the
// progress; the last of it is in the error.
func (b *builder) run(ctx context.Context, cmd *exec.Cmd) error {
	// The compilers are children of the command: an interrupt must end them too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if cmd.Stdout == nil {
		cmd.Stdout = cmd.Stderr
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var last []string
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		b.line(lines.Text())
		if last = append(last, lines.Text()); len(last) > 20 {
			last = last[1:]
		}
	}
	_, _ = io.Copy(io.Discard, stderr) // behind a line that is too long for the scanner
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(cmd.Path), cmd.Args[1], err, strings.Join(last, "\n"))
	}
	return nil
}

// download fetches a published module through the go command, which verifies it against the checksum database.
func (b *builder) download(ctx context.Context, path, version string) (published, error) {
	var p published
	out, err := b.goRun(ctx, b.dir, b.host, "mod", "download", "-json", path+"@"+version)
	if err == nil {
		err = json.Unmarshal(out, &p)
	}
	if err == nil && p.Error != "" {
		err = fmt.Errorf("%s", p.Error)
	}
	if err != nil {
		return p, fmt.Errorf("module %s@%s: %w", path, version, err)
	}
	info, err := os.ReadFile(p.Info)
	if err != nil {
		return p, err
	}
	var t struct{ Time time.Time }
	if err := json.Unmarshal(info, &t); err != nil {
		return p, fmt.Errorf("%s: %w", p.Info, err)
	}
	p.Time = t.Time.UTC()
	return p, nil
}

// modFile is the part of `go mod edit -json` that is used here.
type modFile struct {
	Go      string
	Require []struct{ Path, Version string }
	Replace []struct {
		Old struct{ Path string }
		New struct{ Path, Version string }
	}
}

// kubernetesModule is the module from which the programs of Kubernetes are built. In its repository the staging modules
// are replaced by directories, which the published module does not have; the same code is published as k8s.io/NAME
// v0.MINOR.PATCH.
func (b *builder) kubernetesModule(ctx context.Context, version string) (goModule, time.Time, error) {
	const path = "k8s.io/kubernetes"
	m := goModule{name: "kubernetes-" + version, require: []moduleVersion{{path, version}}}
	p, err := b.download(ctx, path, version)
	if err != nil {
		return m, time.Time{}, err
	}
	out, err := b.goRun(ctx, b.dir, b.host, "mod", "edit", "-json", p.GoMod)
	if err != nil {
		return m, p.Time, err
	}
	var mod modFile
	if err := json.Unmarshal(out, &mod); err != nil {
		return m, p.Time, err
	}
	m.version = mod.Go
	m.replace = staging(mod, "v0."+strings.TrimPrefix(version, "v1."))
	return m, p.Time, nil
}

// staging lists the staging modules of a go.mod of Kubernetes at the version that they are published as.
func staging(mod modFile, version string) []moduleVersion {
	set := map[string]bool{}
	for _, r := range mod.Replace {
		if strings.HasPrefix(r.New.Path, "./staging/") {
			set[r.Old.Path] = true
		}
	}
	for _, r := range mod.Require { // releases that keep the replacements in go.work
		if strings.HasPrefix(r.Path, "k8s.io/") && r.Version == "v0.0.0" {
			set[r.Path] = true
		}
	}
	out := make([]moduleVersion, 0, len(set))
	for p := range set {
		out = append(out, moduleVersion{p, version})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].path < out[j].path })
	return out
}

// kubernetesVersionFlags are the linker flags that Kubernetes' own build sets; the commit stays empty, since the module
// does not tell it.
func kubernetesVersionFlags(version string, released time.Time) string {
	minor, _, _ := strings.Cut(strings.TrimPrefix(version, "v1."), ".")
	var b strings.Builder
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, kv := range []string{"gitVersion=" + version, "gitMajor=1", "gitMinor=" + minor, "gitTreeState=clean",
			"gitCommit=", "buildDate=" + released.Format(time.RFC3339)} {
			fmt.Fprintf(&b, " -X %s.%s", pkg, kv)
		}
	}
	return b.String()
}
