// Package stand sets up what an end-to-end test and the demo need: the programs, the upstream of the lab, a bundle of
// the default spec, and booted nodes. Everything is made by the project's own programs, from the same spec that users
// get.
package stand

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/test/lab"
	"github.com/eggo-k8s/eggo/test/lab/upstream"
)

// Stand is a place to try the programs for real.
type Stand struct {
	Root   string // of the repository
	Dir    string // for what is made
	Out    io.Writer
	Lab    *lab.Lab
	Bundle string // path of the bundle of this machine's architecture
	// Admin is the control plane on which kubectl runs.
	Admin string
	began time.Time
}

// New makes the stand's directory and opens the lab.
func New(root, dir string, out io.Writer) (*Stand, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	l, err := lab.Open(lab.Options{Out: out})
	if err != nil {
		return nil, err
	}
	bundle := os.Getenv("EGGO_E2E_BUNDLE")
	if bundle == "" {
		bundle = filepath.Join(dir, "eggo-"+runtime.GOARCH+".tar.gz")
	}
	return &Stand{Root: root, Dir: dir, Out: out, Lab: l, began: time.Now(), Bundle: bundle, Admin: "n1"}, nil
}

// Say prints a line with the time since the stand was made.
func (s *Stand) Say(format string, args ...any) {
	fmt.Fprintf(s.Out, "[%6s] %s\n", time.Since(s.began).Round(time.Second), fmt.Sprintf(format, args...))
}

// Program is the path of one of the project's programs.
func (s *Stand) Program(name string) string { return filepath.Join(s.Root, "bin", name) }

// Build builds the programs, unless EGGO_E2E_BUILT says that they are there: while one lab uses them, another one must
// not write them again.
func (s *Stand) Build(ctx context.Context) error {
	if os.Getenv("EGGO_E2E_BUILT") != "" {
		return nil
	}
	s.Say("building bin/eggo-tui and bin/eggo-bundle")
	return s.Command(ctx, "make", "-s", "-C", s.Root, "build").Run()
}

// Command runs a program with its output going to the stand's.
func (s *Stand) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Stdout, c.Stderr = s.Out, s.Out
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 20 * time.Second
	return c
}

// Pack makes the upstream, if it is not cached, and packs the bundle from it. A bundle that EGGO_E2E_BUNDLE names is
// taken as it is.
func (s *Stand) Pack(ctx context.Context) error {
	if os.Getenv("EGGO_E2E_BUNDLE") != "" {
		s.Say("the bundle is %s", s.Bundle)
		return nil
	}
	return s.packFromLab(ctx)
}

// PackFromAnywhere packs the bundle from the public upstream, else from the lab's: where the public one cannot be
// reached, and where it cannot give all that the bundle needs.
func (s *Stand) PackFromAnywhere(ctx context.Context) error {
	if os.Getenv("EGGO_E2E_BUNDLE") != "" {
		return s.Pack(ctx)
	}
	text, err := assets.BundleSpec(upstream.System)
	if err != nil {
		return err
	}
	probes, err := Probes(text)
	if err != nil {
		return err
	}
	return fallback{
		say:    s.Say,
		reach:  func(ctx context.Context) error { return Reaches(ctx, http.DefaultTransport, probes, probeTimeout) },
		public: s.packFromPublic,
		lab:    s.packFromLab,
	}.pack(ctx)
}

// fallback packs from the public upstream, else from the lab's.
type fallback struct {
	say                func(format string, args ...any)
	reach, public, lab func(context.Context) error
}

func (f fallback) pack(ctx context.Context) error {
	if err := f.reach(ctx); err != nil {
		f.say("using the lab's upstream, because the public one cannot be reached: %v", err)
		return f.lab(ctx)
	}
	f.say("using the public upstream: packing the bundle")
	err := f.public(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	f.say("using the lab's upstream, because packing from the public one failed: %v", err)
	if labErr := f.lab(ctx); labErr != nil {
		return errors.Join(fmt.Errorf("from the public upstream: %w", err), fmt.Errorf("from the lab's: %w", labErr))
	}
	return nil
}

func (s *Stand) packFromPublic(ctx context.Context) error {
	return s.Command(ctx, s.Program("eggo-bundle"), "build", "--arch", runtime.GOARCH, "-o", s.Dir,
		"--lock", filepath.Join(s.Dir, "real.lock")).Run() // what the lab's lock pins is not upstream's
}

func (s *Stand) packFromLab(ctx context.Context) error {
	spec, err := upstream.LoadSpec("")
	if err != nil {
		return err
	}
	s.Say("the lab's upstream: built once from source, then cached (the first time takes 10 to 20 minutes)")
	if err := upstream.Build(ctx, upstream.Options{Spec: spec, Report: upstream.Printer(s.Out)}); err != nil {
		return err
	}
	srv, err := upstream.Serve(ctx, "", "127.0.0.1:0", spec)
	if err != nil {
		return err
	}
	defer srv.Close()
	mirrors := filepath.Join(s.Dir, "mirrors")
	if err := upstream.WriteMirrors(mirrors, srv.Addr); err != nil {
		return err
	}
	s.Say("packing the bundle")
	return s.Command(ctx, s.Program("eggo-bundle"), "build", "--arch", runtime.GOARCH, "-o", s.Dir, "--mirrors",
		mirrors).Run()
}

// Node of a deploy.yaml, by the lab's name.
type Node struct {
	Name  string
	Roles string // of m (master), n (node), e (etcd), l (load balancer)
}

// Deploy writes a deploy.yaml for the nodes, reached as root by key, and returns its path.
func (s *Stand) Deploy(name, cluster string, nodes []Node) (string, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "cluster-id: %s\nusername: root\nprivate-key-path: %s\n", cluster, s.Lab.IdentityFile())
	for _, part := range []struct{ key, role string }{{"masters", "m"}, {"nodes", "n"}, {"etcds", "e"}} {
		fmt.Fprintf(&b, "%s:\n", part.key)
		for _, n := range nodes {
			if !strings.Contains(n.Roles, part.role) {
				continue
			}
			ip, err := s.Lab.Address(n.Name)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "- name: %s\n  ip: %s\n  port: 22\n  arch: %s\n", n.Name, ip, s.arch(n.Name))
		}
	}
	for _, n := range nodes {
		if !strings.Contains(n.Roles, "l") {
			continue
		}
		ip, err := s.Lab.Address(n.Name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "loadbalance:\n  name: %s\n  ip: %s\n  port: 22\n  arch: %s\n  bind-port: 8443\n", n.Name, ip,
			s.arch(n.Name))
	}
	src := map[string]string{"amd64": "x86src", "arm64": "armsrc"}[runtime.GOARCH]
	fmt.Fprintf(&b, `service:
  cidr: 10.32.0.0/16
  dnsaddr: 10.32.0.10
  gateway: 10.32.0.1
  dns: {corednstype: pod, replicas: 2}
network:
  podcidr: 10.244.0.0/16
  plugin: flannel
runtime: containerd
addons:
- {type: file, filename: kube-flannel.yml}
package-src:
  type: tar.gz
  %s: %s
eggo:
  known-hosts: %s
  host-keys: strict
`, src, s.Bundle, s.Lab.KnownHosts())
	path := filepath.Join(s.Dir, name)
	return path, os.WriteFile(path, b.Bytes(), 0o600)
}

// arch is the architecture of a node: a virtual machine may have another than this machine.
func (s *Stand) arch(node string) string {
	if vm := s.Lab.Disk(node).VM; vm != "" {
		return vm
	}
	return runtime.GOARCH
}

// OneAndTwo is the shape of the demo: a control plane with etcd, and two workers.
func OneAndTwo() []Node { return []Node{{"n1", "me"}, {"n2", "n"}, {"n3", "n"}} }
