package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// bad is something that is wrong, and what must be said of it.
type bad struct {
	name string
	// file writes the deploy.yaml from the good one; nil: the good one.
	file func(t *testing.T, c *badLab) string
	// spoil runs on the node, fix takes it back.
	node, spoil, fix string
	args             []string
	code             int
	words            []string // all of them are said
	within           time.Duration
}

type badLab struct {
	*stand.Stand
	good string // a deploy.yaml that is right
}

// vary is the good deploy.yaml with some text replaced.
func (c *badLab) vary(t *testing.T, pairs ...string) string {
	t.Helper()
	file, err := c.Vary(c.good, "bad.yaml", pairs...)
	must(t, "bad.yaml", err)
	return file
}

func (c *badLab) address(t *testing.T, node string) string {
	t.Helper()
	a, err := c.Lab.Address(node)
	must(t, "address", err)
	return a
}

// write writes a file of the test and gives its path.
func (c *badLab) write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(c.Dir, name)
	must(t, name, os.WriteFile(path, data, 0o600))
	return path
}

// TestBadInput: whatever is wrong before a deploy is found before anything is touched, is said with node, cause and
// advice, and has its exit code.
func TestBadInput(t *testing.T) {
	c := &badLab{Stand: newLab(t, 3)}
	var err error
	c.good, err = c.Deploy("good.yaml", "bad", stand.OneAndTwo())
	must(t, "deploy.yaml", err)
	t.Setenv("EGGO_OPS", lab.OpsPassword)
	t.Setenv("EGGO_WRONG", "not-the-password")
	before := untouched(t, c.Stand, 3)
	for _, list := range [][]bad{badAccess(), badMachines(), badBundles()} {
		for _, b := range list {
			t.Run(b.name, func(t *testing.T) { c.refuses(t, b) })
		}
	}
	t.Run("a machine that is off", c.machineOff)
	t.Run("a port that says nothing", c.silentPort)
	t.Run("everything at once", c.everything)
	same(t, before, func() []lab.Snapshot { return snapshots(t, c.Stand, 3) }) // also after the fix
	t.Run("locked", c.locked)
	same(t, before, func() []lab.Snapshot { return snapshots(t, c.Stand, 3) })
}

// refuses spoils something, and wants the deploy to say so and to leave everything as it was.
func (c *badLab) refuses(t *testing.T, b bad) {
	ctx := t.Context()
	file := c.good
	if b.file != nil {
		file = b.file(t, c)
	}
	if b.spoil != "" {
		_, err := c.Lab.Run(ctx, b.node, b.spoil)
		must(t, "spoil "+b.node, err)
		defer func() {
			_, err := c.Lab.Run(ctx, b.node, b.fix)
			must(t, "fix "+b.node, err)
		}()
	}
	var before lab.Snapshot
	if b.spoil != "" { // the others are compared once, at the end
		before = c.snapshot(t, b.node)
	}
	got := try(t, c.Stand, b.code, append([]string{"deploy", "-f", file}, b.args...)...)
	c.said(t, got, append(b.words, "Suggested fix: ")...)
	noChange(t, c.State(), "bad")
	if b.within > 0 && got.Took > b.within {
		t.Errorf("it took %s, more than %s", got.Took, b.within)
	}
	if b.spoil != "" {
		same(t, []lab.Snapshot{before}, func() []lab.Snapshot { return []lab.Snapshot{c.snapshot(t, b.node)} })
	}
}

func (c *badLab) said(t *testing.T, got stand.Try, words ...string) {
	t.Helper()
	err := got.Has(words...)
	if err != nil || testing.Verbose() {
		fmt.Fprintf(c.Out, "----\n%s\n----\n", tail(got.Out, 60))
	}
	if err != nil {
		t.Error(err)
	}
}

func (c *badLab) snapshot(t *testing.T, node string) lab.Snapshot {
	t.Helper()
	snap, err := c.Lab.Snapshot(t.Context(), node)
	must(t, "snapshot", err)
	return snap
}

// badAccess is what keeps us from logging in.
func badAccess() []bad {
	byPassword := func(from string) func(*testing.T, *badLab) string {
		return func(t *testing.T, c *badLab) string {
			return c.vary(t, "username: root\n", "username: ops\n", "private-key-path: "+c.Lab.IdentityFile()+"\n", "",
				"eggo:\n", "eggo:\n"+from)
		}
	}
	return []bad{
		{name: "wrong password", file: byPassword("  password-from: env:EGGO_WRONG\n"), code: 4,
			words: []string{"ssh.auth", "n1", "n2", "n3", "ops", "tried: ", "password"}},
		{name: "wrong sudo password",
			file: byPassword("  password-from: env:EGGO_OPS\n  sudo-password-from: env:EGGO_WRONG\n"), code: 4,
			words: []string{"ssh.sudo-password", "n1", "ops"}},
		{name: "changed host key", code: 4, words: []string{"ssh.hostkey-changed", "n1: ", "SHA256:"},
			file: func(t *testing.T, c *badLab) string {
				known, err := os.ReadFile(c.Lab.KnownHosts())
				must(t, "known_hosts", err)
				n1, n2 := c.address(t, "n1"), c.address(t, "n2")
				text := strings.NewReplacer(n1, n2, n2, n1).Replace(string(known))
				return c.vary(t, c.Lab.KnownHosts(), c.write(t, "changed_hosts", []byte(text)))
			}},
		{name: "unknown host key", code: 4, args: []string{"--host-keys", "strict"},
			words: []string{"ssh.hostkey-unknown", "n1: ", "n2: ", "n3: ", "SHA256:"},
			file: func(t *testing.T, c *badLab) string {
				return c.vary(t, c.Lab.KnownHosts(), c.write(t, "unknown_hosts", nil))
			}},
		{name: "nothing listens", code: 5, words: []string{"ssh.connect-refused", "n2: ", ":23"}, within: time.Minute,
			file: func(t *testing.T, c *badLab) string {
				at := "ip: " + c.address(t, "n2") + "\n  port: "
				return c.vary(t, at+"22\n", at+"23\n")
			}},
	}
}

// badMachines is what is wrong with a machine that lets us in.
func badMachines() []bad {
	return []bad{
		{name: "no room", node: "n2", code: 5, words: []string{"preflight.disk", "n2", "MiB"},
			spoil: `fallocate -l $(( ($(df --output=avail -B1 / | tail -1) - 104857600) )) /var/log/full`,
			fix:   "rm -f /var/log/full"},
		{name: "clock an hour ahead", node: "n3", code: 5, words: []string{"preflight.clock", "n3", "1h0m0s"},
			spoil: `printf '#!/bin/sh\nexec /usr/bin/date -d "1 hour" "$@"\n' >/usr/local/bin/date; ` +
				"chmod 755 /usr/local/bin/date",
			fix: "rm -f /usr/local/bin/date"},
		{name: "of another cluster", node: "n1", code: 5,
			words: []string{"preflight.other-cluster", "n1", "production"},
			spoil: "mkdir /var/lib/eggo-node; echo production >/var/lib/eggo-node/node",
			fix:   "rm -r /var/lib/eggo-node"},
		{name: "another kubelet", node: "n2", code: 5, words: []string{"preflight.foreign-cluster", "n2", "kubelet"},
			spoil: "systemd-run --quiet --unit=kubelet sleep infinity", fix: "systemctl stop kubelet"},
		{name: "leftovers", node: "n1", code: 5, words: []string{"preflight.leftovers", "n1", "/etc/kubernetes"},
			spoil: "mkdir /etc/kubernetes; touch /etc/kubernetes/admin.conf", fix: "rm -r /etc/kubernetes"},
		{name: "a port is taken", node: "n1", code: 5, words: []string{"preflight.port", "n1", "6443"},
			spoil: "systemd-run --quiet --unit=squatter --socket-property=ListenStream=6443 cat",
			fix:   "systemctl stop squatter.socket"},
	}
}

// badBundles is what can be wrong with the bundle.
func badBundles() []bad {
	with := func(make func(*testing.T, *badLab) string) func(*testing.T, *badLab) string {
		return func(t *testing.T, c *badLab) string { return c.vary(t, c.Bundle, make(t, c)) }
	}
	return []bad{
		{name: "truncated bundle", code: 6, words: []string{"bundle.truncated", "cut.tar.gz"},
			file: with(func(t *testing.T, c *badLab) string {
				return c.copyBundle(t, "cut.tar.gz", func(f *os.File, size int64) error { return f.Truncate(size / 2) })
			})},
		{name: "flipped byte", code: 6, words: []string{"bundle.", "flipped.tar.gz"},
			file: with(func(t *testing.T, c *badLab) string {
				return c.copyBundle(t, "flipped.tar.gz", flip)
			})},
		{name: "bundle of the wrong architecture", code: 6, words: []string{"bundle.wrong-arch", "amd64", "arm64"},
			file: with(func(t *testing.T, c *badLab) string {
				return c.otherArch(t)
			})},
		{name: "no bundle", code: 6, words: []string{"bundle.open", "absent.tar.gz"},
			file: with(func(t *testing.T, c *badLab) string {
				return filepath.Join(c.Dir, "absent.tar.gz")
			})},
	}
}

// copyBundle makes a changed copy of the bundle.
func (c *badLab) copyBundle(t *testing.T, name string, change func(*os.File, int64) error) string {
	t.Helper()
	src, err := os.Open(c.Bundle)
	must(t, "bundle", err)
	defer src.Close()
	path := filepath.Join(c.Dir, name)
	dst, err := os.Create(path)
	must(t, name, err)
	defer dst.Close()
	t.Cleanup(func() { os.Remove(path) })
	size, err := io.Copy(dst, src)
	must(t, name, err)
	must(t, name, change(dst, size))
	return path
}

// flip changes one bit in the middle.
func flip(f *os.File, size int64) error {
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, size/2); err != nil {
		return err
	}
	b[0] ^= 0x10
	_, err := f.WriteAt(b, size/2)
	return err
}

// otherArch is the head of a bundle for another architecture: no more of it is read.
func (c *badLab) otherArch(t *testing.T) string {
	t.Helper()
	a, err := bundle.Open(c.Bundle)
	must(t, "bundle", err)
	text, err := json.Marshal(a.Manifest())
	must(t, "manifest", err)
	text = bytes.ReplaceAll(text, []byte(a.Manifest().Arch), []byte(c.notThis()))
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	must(t, "head", w.WriteHeader(&tar.Header{Name: bundle.ManifestName, Mode: 0o644, Size: int64(len(text)),
		Typeflag: tar.TypeReg}))
	_, err = w.Write(text)
	must(t, "head", err)
	must(t, "head", w.Close())
	must(t, "head", z.Close())
	path := c.write(t, "other.tar.gz", b.Bytes())
	must(t, "size", os.Truncate(path, 64<<20)) // what its head says has to be possible in a file of that size
	return path
}

// notThis is an architecture that the machines are not of.
func (c *badLab) notThis() string {
	if runtime.GOARCH == "arm64" {
		return "amd64"
	}
	return "arm64"
}

func (c *badLab) machineOff(t *testing.T) {
	ctx := t.Context()
	must(t, "power off", c.Lab.Stop(ctx, "n3"))
	got := try(t, c.Stand, 5, "deploy", "-f", c.good)
	must(t, "power on", c.Lab.Start(ctx, "n3"))
	c.said(t, got, "n3: ", c.address(t, "n3")+":22", "Suggested fix: ")
	noChange(t, c.State(), "bad")
	if limit := time.Minute; got.Took > limit {
		t.Errorf("it took %s, more than %s", got.Took, limit)
	}
}

// silentPort is a machine whose port takes connections and never says a word.
func (c *badLab) silentPort(t *testing.T) {
	ln, err := net.Listen("tcp", net.JoinHostPort(c.Lab.HostAddress(), "0"))
	must(t, "listen", err)
	defer ln.Close()
	port := ln.Addr().(*net.TCPAddr).Port
	file := c.vary(t, "ip: "+c.address(t, "n2")+"\n  port: 22\n",
		fmt.Sprintf("ip: %s\n  port: %d\n", c.Lab.HostAddress(), port))
	got := try(t, c.Stand, 5, "deploy", "-f", file)
	c.said(t, got, "ssh.handshake-timeout", "n2: ", ln.Addr().String(), "Suggested fix: ")
	noChange(t, c.State(), "bad")
	if limit := 90 * time.Second; got.Took > limit {
		t.Errorf("it took %s, more than %s", got.Took, limit)
	}
}

// everything: a full disk, a wrong clock, an unknown host key and a damaged bundle are told by one run.
func (c *badLab) everything(t *testing.T) {
	ctx := t.Context()
	full, clock := badMachines()[0], badMachines()[1]
	full.node, clock.node = "n1", "n2"
	for _, b := range []bad{full, clock} {
		_, err := c.Lab.Run(ctx, b.node, b.spoil)
		must(t, "spoil "+b.node, err)
		defer func() {
			_, err := c.Lab.Run(ctx, b.node, b.fix)
			must(t, "fix "+b.node, err)
		}()
	}
	known, err := os.ReadFile(c.Lab.KnownHosts())
	must(t, "known_hosts", err)
	var text strings.Builder
	for line := range strings.Lines(string(known)) {
		if !strings.HasPrefix(line, c.address(t, "n3")+",") {
			text.WriteString(line)
		}
	}
	head := filepath.Join(c.Dir, "absent.tar.gz")
	noBundle := c.vary(t, c.Lab.KnownHosts(), c.write(t, "some_hosts", []byte(text.String())), c.Bundle, head)
	got := try(t, c.Stand, 4, "deploy", "-f", noBundle)
	// Without the bundle nobody knows how much room is needed: the disk is not judged.
	c.said(t, got, "ssh.hostkey-unknown", "n3: ", "preflight.clock", "n2", "bundle.open", "absent.tar.gz")
	noChange(t, c.State(), "bad")
	got = try(t, c.Stand, 4, "deploy", "-f", c.vary(t, c.Lab.KnownHosts(), filepath.Join(c.Dir, "some_hosts")))
	c.said(t, got, "ssh.hostkey-unknown", "n3: ", "preflight.clock", "n2", "preflight.disk", "n1")
	noChange(t, c.State(), "bad")
}

// locked: while one deploy is at work, another one on the same jump host and one on another jump host are told who it
// is. The first is then stopped by Ctrl-C.
func (c *badLab) locked(t *testing.T) {
	ctx := t.Context()
	first := otherJumpHost(t, c.Stand, "locked") // it unpacks the bundle again and so stays in preflight for seconds
	r, err := c.Start(ctx, first, "deploy", "-f", c.good, "--foreground")
	must(t, "deploy", err)
	reached, err := r.When(ctx, "bad", func(runs [][]event.Record) bool { return looked(runs) == 3 })
	must(t, "watch", err)
	if !reached {
		got, err := r.Wait()
		t.Fatalf("it did not lock the nodes: %v\n%s", err, tail(got.Out, 20))
	}
	must(t, "stop", r.Signal(syscall.SIGSTOP))
	other := try(t, c.Stand, 11, "deploy", "-f", c.good)
	same := tryFrom(t, c.Stand, first, 11, "deploy", "-f", c.good)
	must(t, "go on", r.Signal(syscall.SIGINT))
	must(t, "go on", r.Signal(syscall.SIGCONT))
	got, err := r.Wait()
	must(t, "deploy", err)
	pid := fmt.Sprint(r.PID())
	c.said(t, same, "lock.cluster-held", pid, "deploy", "→ ")
	c.said(t, other, "lock.node-held", "pid "+pid, "n1: ", "n2: ", "n3: ", "Suggested fix: ")
	c.said(t, got, "interrupted")
	if got.Code != 130 {
		t.Errorf("after Ctrl-C the exit code is %d", got.Code)
	}
	runs, err := stand.Runs(first, "bad")
	must(t, "event logs", err)
	if n := changes(runs); n > 0 {
		t.Errorf("%d changes were made", n)
	}
}

// looked counts the nodes whose facts are known.
func looked(runs [][]event.Record) int {
	n := 0
	for _, run := range runs {
		for _, r := range run {
			if e, ok := r.Event.(event.StepEnded); ok && strings.HasPrefix(e.Step, "preflight.facts/") &&
				e.Outcome == event.OK {
				n++
			}
		}
	}
	return n
}
