// Command demo builds everything, installs a cluster of three nodes in the lab with live progress, and leaves it
// running. It runs on one Linux machine as root.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		stop()
		code := 1
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			code = exit.ExitCode()
		}
		os.Exit(code) //nolint:gocritic // the one deferred call was made above
	}
}

func run(ctx context.Context) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, "bin", "demo")
	if len(os.Args) > 1 && os.Args[1] == "down" {
		l, err := lab.Open(lab.Options{Out: os.Stdout})
		if err != nil {
			return err
		}
		return errors.Join(l.Down(ctx, true), os.RemoveAll(dir))
	}
	s, err := stand.New(root, dir, os.Stdout)
	if err != nil {
		return err
	}
	if err := s.Build(ctx); err != nil {
		return err
	}
	if err := s.PackFromAnywhere(ctx); err != nil {
		return err
	}
	s.Say("booting three nodes")
	if err := s.Lab.Up(ctx, 3); err != nil {
		return err
	}
	file, err := s.Deploy("deploy.yaml", "demo", stand.OneAndTwo())
	if err != nil {
		return err
	}
	s.Say("eggo-tui deploy -f %s", file)
	state := filepath.Join(dir, "state")
	if err := s.Command(ctx, s.Program("eggo-tui"), "deploy", "-f", file, "--state-dir", state).Run(); err != nil {
		return err
	}
	s.Say("the cluster runs. Look at it:")
	fmt.Println("  make lab-ssh NODE=n1        then: kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes -o wide")
	fmt.Printf("  %s status --id demo --state-dir %s\n", s.Program("eggo-tui"), state)
	fmt.Println("  make demo-down              removes it")
	return nil
}
