// Command deploy times how a cluster of three control planes and two workers comes up on machines of the lab: by
// eggo-tui deploy with each driver, by a careful script of the steps of the binary driver, and by kubeadm by hand
// (test/bench/careful), in turns, each on machines that were just booted. It asserts nothing. Run it as root at the
// root of the repository: "make bench-deploy".
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab/upstream"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

const cluster = "bench"

// shape is three control planes that are nodes too, as every control plane of ours is, and two workers.
func shape() []stand.Node {
	return []stand.Node{{Name: "n1", Roles: "me"}, {Name: "n2", Roles: "me"}, {Name: "n3", Roles: "me"},
		{Name: "n4", Roles: "n"}, {Name: "n5", Roles: "n"}}
}

type bench struct {
	*stand.Stand
	dir, kubernetes, coredns string
	kubeadm                  string            // the bundle that has what kubeadm asks for
	contents                 map[string]string // of the bundle of each driver, unpacked
	hand                     struct {
		pause    string // the image of sandboxes
		packages []string
	} // what who installs by hand is told
}

func run(ctx context.Context, args []string) (err error) {
	f := flag.NewFlagSet("deploy", flag.ContinueOnError)
	rounds := f.Int("rounds", 2, "of each way")
	which := f.String("ways", strings.Join(names(), ","), "which ways, separated by commas")
	dir := f.String("dir", filepath.Join("bin", "bench-deploy"), "for what is made")
	if err := f.Parse(args); err != nil {
		return err
	}
	b := &bench{}
	ways, err := choose(b.all(), *which)
	if err != nil {
		return err
	}
	if *rounds < 1 {
		return fmt.Errorf("-rounds=%d: must be 1 or more", *rounds)
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	if b.dir, err = filepath.Abs(*dir); err != nil {
		return err
	}
	if b.Stand, err = stand.New(root, b.dir, os.Stderr); err != nil {
		return err
	}
	if err := b.prepare(ctx, ways); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Lab.Down(context.WithoutCancel(ctx), true)) }()
	before := load()
	defer func() { tell(os.Stdout, ways, before, load()) }() // what was measured, even if a later round fails
	for range *rounds {
		for _, w := range ways {
			if err := b.round(ctx, w); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	return nil
}

// prepare makes all that the ways have before their clocks start: programs, the bundles of the drivers, and these
// unpacked for the scripts.
func (b *bench) prepare(ctx context.Context, ways []*way) error {
	if err := b.Build(ctx); err != nil {
		return err
	}
	spec, err := upstream.LoadSpec("")
	if err != nil {
		return err
	}
	b.kubernetes, b.contents = spec.Kubernetes, map[string]string{}
	if uses(ways, stand.Binary) {
		if err := errors.Join(b.Pack(ctx), b.unpack(ctx, stand.Binary, b.Bundle)); err != nil {
			return err
		}
	}
	if uses(ways, stand.Kubeadm) {
		if b.kubeadm, err = b.PackKubeadm(ctx, b.kubernetes); err != nil {
			return err
		}
		if b.hand.pause, b.hand.packages, err = stand.ByHand(b.kubeadm); err != nil {
			return err
		}
		if err := b.unpack(ctx, stand.Kubeadm, b.kubeadm); err != nil {
			return err
		}
	}
	text, err := assets.CoreDNS(assets.CoreDNSParams{Image: "registry.k8s.io/coredns/coredns:v1.12.1",
		Domain: "cluster.local", Address: "10.32.0.10", Replicas: 2})
	if err != nil {
		return err
	}
	b.coredns = filepath.Join(b.dir, "coredns.yaml")
	return os.WriteFile(b.coredns, text, 0o600)
}

// unpack unpacks the bundle of a driver.
func (b *bench) unpack(ctx context.Context, driver, bundle string) error {
	to := filepath.Join(b.dir, "contents-"+driver)
	b.contents[driver] = to
	if err := errors.Join(os.RemoveAll(to), os.MkdirAll(to, 0o755)); err != nil {
		return err
	}
	return b.Command(ctx, "tar", "-xzf", bundle, "-C", to).Run()
}

// round boots fresh machines and takes one way.
func (b *bench) round(ctx context.Context, w *way) error {
	if err := b.Lab.Down(ctx, true); err != nil {
		return err
	}
	if err := errors.Join(b.Lab.Up(ctx, len(shape())), os.RemoveAll(b.State())); err != nil {
		return err
	}
	b.Say("%s …", w.name)
	took, told, err := w.up(ctx)
	if err != nil {
		return err
	}
	b.Say("%s: %.1f s", w.name, took.Seconds())
	if len(w.took) == 0 || took < slices.Min(w.took) {
		w.told = told
	}
	w.took = append(w.took, took)
	return nil
}

// script runs one of test/bench/careful, with more in its environment.
func (b *bench) script(ctx context.Context, name, driver string, env ...string) (time.Duration, string, error) {
	work := filepath.Join(b.dir, "by-hand")
	if err := os.RemoveAll(work); err != nil {
		return 0, "", err
	}
	var masters, workers []string
	for _, n := range shape() {
		ip, err := b.Lab.Address(n.Name)
		if err != nil {
			return 0, "", err
		}
		if strings.Contains(n.Roles, "m") {
			masters = append(masters, n.Name+"="+ip)
		} else {
			workers = append(workers, n.Name+"="+ip)
		}
	}
	c := exec.CommandContext(ctx, filepath.Join(b.Root, "test", "bench", "careful", name))
	c.Env = append(append(os.Environ(), "CONTENTS="+b.contents[driver], "SSH_CONFIG="+b.Lab.SSHConfig(), "WORK="+work,
		"CONTROL_PLANES="+strings.Join(masters, " "), "WORKERS="+strings.Join(workers, " ")), env...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return 0, "", err
	}
	began := time.Now()
	if err := c.Start(); err != nil {
		return 0, "", err
	}
	var told strings.Builder
	for s := bufio.NewScanner(out); s.Scan(); {
		fmt.Fprintln(&told, s.Text())
		b.Say("%s", s.Text())
	}
	err = c.Wait()
	return time.Since(began), told.String(), err
}

// services is the careful script of the binary driver's steps.
func (b *bench) services(ctx context.Context) (time.Duration, string, error) {
	return b.script(ctx, "cluster-up.sh", stand.Binary, "COREDNS="+b.coredns)
}

// pods is kubeadm by hand.
func (b *bench) pods(ctx context.Context) (time.Duration, string, error) {
	return b.script(ctx, "kubeadm-up.sh", stand.Kubeadm, "KUBERNETES="+b.kubernetes, "PAUSE="+b.hand.pause,
		"PACKAGES="+strings.Join(b.hand.packages, " "),
		"NODE_SCRIPT="+filepath.Join(b.Root, "test", "e2e", "stand", "byhand.sh"))
}

// binary is eggo-tui deploy.
func (b *bench) binary(ctx context.Context) (time.Duration, string, error) {
	file, err := b.Deploy("deploy.yaml", cluster, shape())
	if err != nil {
		return 0, "", err
	}
	return b.deploy(ctx, file)
}

// static is eggo-tui deploy with the kubeadm driver.
func (b *bench) static(ctx context.Context) (time.Duration, string, error) {
	other := *b.Stand // of the other bundle
	other.Bundle = b.kubeadm
	file, err := other.Deploy("deploy.yaml", cluster, shape())
	if err != nil {
		return 0, "", err
	}
	if file, err = other.ByKubeadm(file, "kubeadm.yaml"); err != nil {
		return 0, "", err
	}
	return b.deploy(ctx, file)
}

// deploy runs eggo-tui deploy.
func (b *bench) deploy(ctx context.Context, file string) (time.Duration, string, error) {
	began := time.Now()
	got, err := b.Try(ctx, "", "deploy", "-f", file)
	took := time.Since(began)
	if err != nil {
		return 0, "", err
	}
	if got.Code != 0 {
		return 0, "", fmt.Errorf("exit code %d\n%s", got.Code, got.Out)
	}
	runs, err := stand.Runs(b.State(), cluster)
	if err != nil {
		return 0, "", err
	}
	state := state.New()
	for _, r := range runs[len(runs)-1] {
		state.Apply(r)
	}
	return took, report.TimingTable(state, i18n.NewPrinter(i18n.English)), nil
}

func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "load unknown"
	}
	return "load " + strings.Join(strings.Fields(string(text))[:2], " ")
}
