package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// benchmark is the newest that kube-bench has.
const benchmark = "cis-1.10"

//go:embed config.yaml
var config []byte

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "cis:", err)
		stop()
		os.Exit(1) //nolint:gocritic // the one deferred call was made above
	}
}

// start takes the driver from the environment, where make puts what is set on its command line.
func start(ctx context.Context) error {
	table := flag.Bool("table", false, "write the table of the records into docs/security.md, and run nothing")
	kubernetes := flag.String("kubernetes", "", "the version whose records the table is of (default the bundle's)")
	flag.Parse()
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, "test", "cis", "records")
	if *table {
		return tables(root, dir, *kubernetes)
	}
	return run(ctx, root, dir, os.Getenv("DRIVER"))
}

// run checks the nodes of the lab's cluster. Each lab has a directory of its own beneath bin/cis. The record of a
// driver goes to dir, which is part of the repository.
func run(ctx context.Context, root, dir, driver string) error {
	l, err := lab.Open(lab.Options{})
	if err != nil {
		return err
	}
	s, err := stand.New(root, filepath.Join(root, "bin", "cis", l.Name()), os.Stdout)
	if err != nil {
		return err
	}
	c, err := s.Take(ctx, "cis", driver, []stand.Node{{Name: "n1", Roles: "me"}, {Name: "n2", Roles: "n"}})
	if err != nil {
		return err
	}
	archive, err := pack(ctx, s)
	if err != nil {
		return err
	}
	r := &Record{Kubernetes: c.Kubernetes, Driver: c.Driver, Benchmark: benchmark}
	for _, n := range c.Nodes {
		s.Say("kube-bench on %s", n)
		checks, err := bench(ctx, s, n, archive)
		if err != nil {
			return err
		}
		r.Checks = append(r.Checks, checks...)
	}
	if err := errors.Join(r.save(dir), report(os.Stdout, r)); err != nil {
		return err
	}
	if bad := refused(r); len(bad) > 0 {
		return fmt.Errorf("%d checks fail and are not accepted (docs/security.md)", len(bad))
	}
	return nil
}

// pack builds kube-bench, and the jq that the scripts of its checks call, and packs them with the checks and our
// configuration for the nodes.
func pack(ctx context.Context, s *stand.Stand) ([]byte, error) {
	const module = "github.com/aquasecurity/kube-bench"
	from := filepath.Join(s.Root, "test", "cis", "kube-bench")
	to := filepath.Join(s.Dir, "kube-bench")
	s.Say("building kube-bench (some minutes the first time)")
	if err := os.RemoveAll(to); err != nil {
		return nil, err
	}
	for path, program := range map[string]string{module: "kube-bench",
		"github.com/itchyny/gojq/cmd/gojq": filepath.Join("bin", "jq")} {
		build := s.Command(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(to, program), path)
		build.Dir, build.Env = from, append(os.Environ(), "CGO_ENABLED=0")
		if err := build.Run(); err != nil {
			return nil, fmt.Errorf("building %s: %w", program, err)
		}
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
