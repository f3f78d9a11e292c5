package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/eggo-k8s/eggo/internal/shell"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// benchmark is the newest that kube-bench has.
const benchmark = "cis-1.10"

//go:embed config.yaml
var config []byte

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "cis:", err)
		stop()
		os.Exit(1) //nolint:gocritic // the one deferred call was made above
	}
}

func run(ctx context.Context) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	s, err := stand.New(root, filepath.Join(root, "bin", "cis"), os.Stdout)
	if err != nil {
		return err
	}
	nodes, err := cluster(ctx, s)
	if err != nil {
		return err
	}
	archive, err := pack(ctx, s)
	if err != nil {
		return err
	}
	var all []Check
	for _, n := range nodes {
		s.Say("kube-bench on %s", n)
		checks, err := bench(ctx, s, n, archive)
		if err != nil {
			return err
		}
		all = append(all, checks...)
	}
	if err := report(os.Stdout, all); err != nil {
		return err
	}
	if bad := refused(all); len(bad) > 0 {
		return fmt.Errorf("%d checks fail and are not accepted (docs/security.md)", len(bad))
	}
	return nil
}

// pack builds kube-bench, and packs it with its checks and our configuration for the nodes.
func pack(ctx context.Context, s *stand.Stand) ([]byte, error) {
	const module = "github.com/aquasecurity/kube-bench"
	from := filepath.Join(s.Root, "test", "cis", "kube-bench")
	to := filepath.Join(s.Dir, "kube-bench")
	s.Say("building kube-bench (some minutes the first time)")
	if err := os.RemoveAll(to); err != nil {
		return nil, err
	}
	build := s.Command(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(to, "kube-bench"),
		module)
	build.Dir, build.Env = from, append(os.Environ(), "CGO_ENABLED=0")
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("building kube-bench: %w", err)
	}
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	list.Dir = from
	dir, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("where kube-bench's checks are: %w", err)
	}
	checks := filepath.Join(strings.TrimSpace(string(dir)), "cfg", benchmark)
	if err := os.CopyFS(filepath.Join(to, "cfg", benchmark), os.DirFS(checks)); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(to, "cfg", "config.yaml"), config, 0o600); err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, "tar", "-C", to, "-cz", ".").Output()
}

// cluster gives the nodes of the lab's cluster, which is installed if there is none.
func cluster(ctx context.Context, s *stand.Stand) ([]string, error) {
	if out, err := s.Kubectl(ctx, "get", "nodes", "-o", "name"); err == nil {
		s.Say("taking the cluster that runs in the lab")
		return names(out), nil
	}
	if err := s.Build(ctx); err != nil {
		return nil, err
	}
	if err := s.PackFromAnywhere(ctx); err != nil {
		return nil, err
	}
	if err := s.Lab.Up(ctx, 2); err != nil {
		return nil, err
	}
	file, err := s.Deploy("deploy.yaml", "cis", []stand.Node{{Name: "n1", Roles: "me"}, {Name: "n2", Roles: "n"}})
	if err != nil {
		return nil, err
	}
	if code, err := s.Eggo(ctx, "deploy", "-f", file); err != nil || code != 0 {
		return nil, errors.Join(err, fmt.Errorf("deploy ended with %d", code))
	}
	out, err := s.Kubectl(ctx, "get", "nodes", "-o", "name")
	return names(out), err
}

// names are those of Nodes as kubectl lists them.
func names(list string) []string {
	var out []string
	for word := range strings.FieldsSeq(list) {
		out = append(out, strings.TrimPrefix(word, "node/"))
	}
	return out
}

// script runs kube-bench on a node.
//
//go:embed bench.sh
var script string

// bench runs kube-bench on a node.
func bench(ctx context.Context, s *stand.Stand, node string, archive []byte) ([]Check, error) {
	c := s.Lab.SSH(ctx, node, "sh -c "+shell.Quote(script)+" bench "+benchmark)
	var stderr bytes.Buffer
	c.Stdin, c.Stderr = bytes.NewReader(archive), &stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("kube-bench on %s: %w\n%s", node, err, &stderr)
	}
	return parse(node, out)
}
