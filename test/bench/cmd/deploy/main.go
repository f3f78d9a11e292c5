// Command deploy times how a cluster of three control planes and two workers comes up on machines of the lab: by
// eggo-tui deploy, and by a careful script of the same steps (test/bench/careful), in turns, each on machines that were
// just booted. It asserts nothing. Run it as root at the root of the repository: "make bench-deploy".
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
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/i18n"
	"github.com/eggo-k8s/eggo/internal/report"
	"github.com/eggo-k8s/eggo/internal/runstate"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
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
	dir, contents, coredns string
}

// way is one way to a cluster; it gives how long it took and where the time went.
type way struct {
	name string
	up   func(context.Context) (time.Duration, string, error)
	took []time.Duration
	told string // of the fastest round
}

func run(ctx context.Context, args []string) (err error) {
	f := flag.NewFlagSet("deploy", flag.ContinueOnError)
	rounds := f.Int("rounds", 2, "of each way")
	dir := f.String("dir", filepath.Join("bin", "bench-deploy"), "for what is made")
	if err := f.Parse(args); err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	b := &bench{}
	if b.dir, err = filepath.Abs(*dir); err != nil {
		return err
	}
	if b.Stand, err = stand.New(root, b.dir, os.Stderr); err != nil {
		return err
	}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Lab.Down(context.WithoutCancel(ctx), true)) }()
	ways := []*way{{name: "careful script", up: b.script}, {name: "eggo-tui deploy", up: b.eggo}}
	before := load()
	for range *rounds {
		for _, w := range ways {
			if err := b.round(ctx, w); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	tell(ways, before)
	return nil
}

// prepare makes all that both ways have before their clocks start: programs, the bundle, and the bundle unpacked for
// the script.
func (b *bench) prepare(ctx context.Context) error {
	if err := errors.Join(b.Build(ctx), b.Pack(ctx)); err != nil {
		return err
	}
	b.contents = filepath.Join(b.dir, "contents")
	if err := errors.Join(os.RemoveAll(b.contents), os.MkdirAll(b.contents, 0o755)); err != nil {
		return err
	}
	if err := b.Command(ctx, "tar", "-xzf", b.Bundle, "-C", b.contents).Run(); err != nil {
		return err
	}
	text, err := assets.CoreDNS(assets.CoreDNSParams{Image: "registry.k8s.io/coredns/coredns:v1.12.1",
		Domain: "cluster.local", Address: "10.32.0.10", Replicas: 2})
	if err != nil {
		return err
	}
	b.coredns = filepath.Join(b.dir, "coredns.yaml")
	return os.WriteFile(b.coredns, text, 0o600)
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

func (b *bench) script(ctx context.Context) (time.Duration, string, error) {
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
	c := exec.CommandContext(ctx, filepath.Join(b.Root, "test", "bench", "careful", "cluster-up.sh"))
	c.Env = append(os.Environ(), "CONTENTS="+b.contents, "SSH_CONFIG="+b.Lab.SSHConfig(), "WORK="+work,
		"COREDNS="+b.coredns,
		"CONTROL_PLANES="+strings.Join(masters, " "), "WORKERS="+strings.Join(workers, " "))
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

func (b *bench) eggo(ctx context.Context) (time.Duration, string, error) {
	file, err := b.Deploy("deploy.yaml", cluster, shape())
	if err != nil {
		return 0, "", err
	}
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
	state := runstate.New()
	for _, r := range runs[len(runs)-1] {
		state.Apply(r)
	}
	return took, report.TimingTable(state, i18n.NewPrinter(i18n.English)), nil
}

func tell(ways []*way, before string) {
	fmt.Printf("# A cluster of three control planes and two workers, measured\n\n%s, %d cores, %s; at the "+
		"beginning: %s, at the end: %s.\n\n", time.Now().UTC().Format("2006-01-02 15:04 UTC"),
		runtime.NumCPU(), runtime.Version(), before, load())
	fmt.Println("| way | rounds | least s | all s | x script |\n|---|--:|--:|---|--:|")
	base := slices.Min(ways[0].took)
	for _, w := range ways {
		var all []string
		for _, t := range w.took {
			all = append(all, fmt.Sprintf("%.1f", t.Seconds()))
		}
		least := slices.Min(w.took)
		fmt.Printf("| %s | %d | %.1f | %s | %.2f |\n", w.name, len(w.took), least.Seconds(), strings.Join(all, ", "),
			float64(least)/float64(base))
	}
	for _, w := range ways {
		fmt.Printf("\n## Time per phase: %s\n\n%s", w.name, w.told)
	}
}

func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "load unknown"
	}
	return "load " + strings.Join(strings.Fields(string(text))[:2], " ")
}
