package phases_test

import (
	"context"
	"io"
	"io/fs"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// hostile is a value that no deploy.yaml and no bundle gets through validation; if one did, no shell may run what is in
// it.
const hostile = "x'\"$(touch PWNED1)`touch PWNED2`;touch PWNED3 & touch PWNED4|<>*?~#\\ -n %s ${IFS}"

// forgiving is a node on which every script seems to succeed, so that a plan's steps continue to their last script.
type forgiving struct {
	*phasestest.Node
	t    *testing.T
	name string
	w    *walker
}

func (f forgiving) Name() string { return f.name }

func (f forgiving) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	f.w.does(addr)
	return f.Node.Dial(ctx, network, addr)
}

func (f forgiving) Run(ctx context.Context, c shell.Command) (shell.Result, error) {
	check := exec.CommandContext(f.t.Context(), "/bin/sh", "-n")
	check.Stdin = strings.NewReader(c.Script)
	if out, err := check.CombinedOutput(); err != nil {
		f.t.Errorf("not a script: %v: %s\n%s", err, out, c.Script)
	}
	f.w.does(c.Script)
	// A script has its own time: where its step is given up it continues to its end.
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	r, err := f.Node.Run(own, c)
	if own.Err() != nil {
		f.t.Errorf("it does not end: %s", c.Script)
	}
	r.Status = 0
	return r, err
}

func (forgiving) Upload(context.Context, shell.Upload) (bool, error) { return true, nil }

// chest is a bundle in which every name is hostile.
type chest struct{}

func (chest) Manifest() *bundle.Manifest {
	all := bundle.AllRoles()
	return &bundle.Manifest{Name: hostile, Arch: "amd64", Kubernetes: hostile,
		OS: bundle.OS{Family: "debian", Codename: "bookworm"},
		Members: []bundle.Member{
			{Path: hostile, Kind: bundle.Binary, Name: hostile, Dst: "/usr/local/" + hostile, Roles: all,
				SHA256: hostile},
			{Path: "etcd" + hostile, Kind: bundle.Binary, Name: hostile, Dst: "/usr/local/" + hostile,
				Roles: []bundle.Role{bundle.Etcd}},
			{Path: hostile + ".deb", Kind: bundle.Deb, Name: hostile, Version: hostile},
			{Path: "Packages", Kind: bundle.Metadata, SHA256: hostile},
		},
		Images: []bundle.Image{{Name: hostile + "/pause:1", Digest: hostile, Roles: all},
			{Name: hostile + "/coredns:1", Digest: hostile, Roles: all}},
		Install: []bundle.Package{{Name: hostile, Roles: all}},
	}
}

func (chest) Open(string) (io.ReadSeekCloser, error) { return nil, io.EOF }
func (chest) Images(context.Context, []string) (bundle.File, error) {
	return bundle.File{Size: 1, SHA256: hostile}, nil
}

// walker runs all functions of all steps, one after the other, whatever comes of them. One that does the same again and
// again waits for a component that never comes; it is given up, for nothing else follows.
type walker struct {
	mu     sync.Mutex
	times  map[string]int // by script or address, of the function that runs
	cancel context.CancelFunc
}

func (w *walker) does(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.times[what]++; w.times[what] > 3 {
		w.cancel()
	}
}

func (w *walker) walk(t *testing.T, p *engine.Plan) {
	try := func(f func(context.Context) error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		w.mu.Lock()
		w.times, w.cancel = map[string]int{}, cancel
		w.mu.Unlock()
		defer func() { _ = recover() }() // steps of the API without an API
		_ = f(ctx)
	}
	for _, s := range p.Steps {
		if s.When != nil {
			try(func(ctx context.Context) error { _, _, err := s.When(ctx); return err })
		}
		if s.Check != nil {
			try(func(ctx context.Context) error { _, err := s.Check(ctx); return err })
		}
		if s.Apply != nil {
			try(s.Apply)
		}
		if s.Verify != nil && (strings.HasPrefix(s.ID, "preflight.") || strings.HasPrefix(s.ID, "infrastructure.")) {
			try(s.Verify)
		}
	}
}

func TestNoValueReachesAShellUnquoted(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	c := *l.Cluster
	c.Nodes = append([]config.Node{}, c.Nodes...)
	names := map[string]string{}
	for i := range c.Nodes {
		was := c.Nodes[i].Name
		c.Nodes[i].Name = was + hostile
		names[c.Nodes[i].Name] = was
	}
	c.Name, c.EtcdToken, c.DNSDomain, c.PauseImage = hostile, hostile, hostile, hostile
	c.CNIBinDirs = []string{"/opt/" + hostile}
	env := l.Env(func(event.Event) error { return nil })
	env.Cluster = &c
	env.StateDir = t.TempDir()
	env.Stage = func(context.Context, config.BundleSource) (phases.Bundle, error) { return chest{}, nil }
	w := &walker{}
	env.Connect = func(_ context.Context, n config.Node) (node.Host, error) {
		return forgiving{l.Nodes[names[n.Name]], t, n.Name, w}, nil
	}
	w.walk(t, phases.Deploy(env))
	for _, n := range l.Nodes {
		for _, kind := range []string{"unit", "file", "tree", "emptied", "dir", "sysctl", "module", "block", "package",
			"rpm", "table"} {
			put(t, n.Path("/var/lib/eggo-node/record"),
				readFile(t, n.Path("/var/lib/eggo-node/record"))+kind+"\t/opt/"+hostile+"\tpurge\n"+kind+"\t"+hostile+
					"\t"+hostile+"\n")
		}
	}
	w.walk(t, phases.Cleanup(env, false))
	w.walk(t, phases.Cleanup(env, true))
	scripts := 0
	for _, n := range l.Nodes {
		for _, cmd := range n.Commands() {
			if strings.Contains(cmd.Script, "touch PWNED1") {
				scripts++
			}
		}
	}
	if scripts < 20 {
		t.Errorf("only %d scripts had a hostile value in them", scripts)
	}
	err := filepath.WalkDir(l.Dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), "PWNED") {
			t.Error("a value was executed:", p)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
