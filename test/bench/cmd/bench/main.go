// Command bench times how eggo-bundle and its peers build one workload; see package bench. Run it at the root of the
// repository: "make bench".
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/eggo-k8s/eggo/test/bench"
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

// run does one of the things that need a process of their own, or all of it.
func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "make": // DIR SCALE
			scale, err := strconv.ParseFloat(args[2], 64)
			if err == nil {
				_, err = bench.Make(args[1], scale)
			}
			return err
		case "serve": // DIR
			return serve(args[1])
		case "floor": // FLOOR DIR SERVER ARCH OUT SET
			w, err := bench.Load(args[2])
			if err != nil {
				return err
			}
			return bench.RunFloor(ctx, bench.Floor(args[1]), w, args[3], args[4], args[5], bench.Set(args[6]))
		}
	}
	var o options
	if err := o.parse(args); err != nil {
		return err
	}
	return o.all(ctx)
}

type options struct {
	dir    string
	scale  float64
	rounds int
	only   *regexp.Regexp
}

func env(name, or string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return or
}

func (o *options) parse(args []string) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	scale, err := strconv.ParseFloat(env("EGGO_BENCH_SCALE", "1"), 64)
	if err != nil {
		return fmt.Errorf("EGGO_BENCH_SCALE: %w", err)
	}
	rounds, err := strconv.Atoi(env("EGGO_BENCH_ROUNDS", "5"))
	if err != nil {
		return fmt.Errorf("EGGO_BENCH_ROUNDS: %w", err)
	}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&o.dir, "dir", env("EGGO_BENCH_DIR", filepath.Join(cache, "eggo-bench")),
		"where the workload is kept and bundles are built (EGGO_BENCH_DIR); about 6 GB at scale 1")
	f.Float64Var(&o.scale, "scale", scale, "of all sizes: 1 is 712 MB an architecture (EGGO_BENCH_SCALE)")
	f.IntVar(&o.rounds, "rounds", rounds, "of each case; slow ones have fewer (EGGO_BENCH_ROUNDS)")
	only := f.String("only", os.Getenv("EGGO_BENCH_ONLY"),
		"run only cases whose \"SECTION / CASE\" this regular expression matches (EGGO_BENCH_ONLY)")
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.only, err = regexp.Compile(*only); err != nil {
		return err
	}
	if o.scale <= 0 || o.rounds < 1 {
		return errors.New("scale and rounds must be positive")
	}
	return nil
}

func logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func (o *options) all(ctx context.Context) error {
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	tools, built := filepath.Join(dir, "tools"), filepath.Join(dir, "built")
	if err := errors.Join(os.RemoveAll(built), os.MkdirAll(built, 0o755), os.MkdirAll(tools, 0o755)); err != nil {
		return err
	}
	defer os.RemoveAll(built)
	logf("building eggo-bundle")
	eggo := filepath.Join(tools, "eggo-bundle")
	if err := command(ctx, []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", eggo,
		"./cmd/eggo-bundle"); err != nil {
		return err
	}
	crane, version := crane(ctx, tools)
	work := filepath.Join(dir, fmt.Sprintf("workload-%g-%s", o.scale, runtime.Version()))
	logf("making the workload in %s, unless it is there", work)
	if err := command(ctx, nil, self, "make", work, fmt.Sprint(o.scale)); err != nil {
		return err
	}
	w, err := bench.Load(work)
	if err != nil {
		return err
	}
	address, end, err := server(self, work)
	if err != nil {
		return err
	}
	defer end()
	b := &bench.Bench{Workload: w, Dir: built, Server: address, Self: self, Eggo: eggo, Crane: crane}
	o.head(ctx, version)
	r := &bench.Report{Sections: b.Sections()}
	for _, s := range r.Sections {
		s.Cases = slices.DeleteFunc(s.Cases, func(c *bench.Case) bool {
			return !o.only.MatchString(s.Title + " / " + c.Name)
		})
		results, err := s.Run(ctx, address, o.rounds, logf)
		if err != nil {
			return err
		}
		if len(s.Cases) > 0 {
			s.Table(os.Stdout, results)
		}
		r.Results = append(r.Results, results)
	}
	r.Goals(os.Stdout)
	fmt.Printf("\nAt the end: %s\n", load())
	return nil
}

func command(ctx context.Context, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", filepath.Base(name), strings.Join(args, " "), err)
	}
	return nil
}

// crane builds go-containerregistry's own program at the version that go.mod has. Without it the benchmark goes on.
func crane(ctx context.Context, dir string) (path, version string) {
	const module = "github.com/google/go-containerregistry"
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", module).Output()
	if err != nil {
		logf("crane: %v", err)
		return "", ""
	}
	version = strings.TrimSpace(string(out))
	path = filepath.Join(dir, "crane-"+version)
	if _, err := os.Stat(path); err == nil {
		return path, version
	}
	logf("building crane %s", version)
	if err := command(ctx, []string{"GOBIN=" + dir, "CGO_ENABLED=0", "GOFLAGS=-mod=mod"}, "go", "install",
		module+"/cmd/crane@"+version); err != nil {
		logf("crane: %v", err)
		return "", ""
	}
	if err := os.Rename(filepath.Join(dir, "crane"), path); err != nil {
		logf("crane: %v", err)
		return "", ""
	}
	return path, version
}

// serve answers on a port of loopback, which it says, until its input ends.
func serve(dir string) error {
	w, err := bench.Load(dir)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // it ends with the process that started this one
		l.Close()
	}()
	if err := bench.Serve(l, w); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// server starts one in a process of its own.
func server(self, dir string) (address string, end func(), err error) {
	cmd := exec.Command(self, "serve", dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	if _, err := fmt.Fscanln(out, &address); err != nil {
		in.Close()
		return "", nil, errors.Join(fmt.Errorf("the server did not start: %w", err), cmd.Wait())
	}
	return "http://" + address, func() { in.Close(); _ = cmd.Wait() }, nil
}

// head says what is measured, and where.
func (o *options) head(ctx context.Context, crane string) {
	fmt.Printf("# Building bundles, measured\n\n%s, %d cores, %s, scale %g, %d rounds; at the beginning: %s.\n",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"),
		runtime.NumCPU(), runtime.Version(), o.scale, o.rounds, load())
	peers := []string{"crane " + crane}
	for _, c := range [][]string{{"skopeo", "--version"}, {"pigz", "--version"}, {"curl", "--version"},
		{"tar", "--version"}} {
		said, err := exec.CommandContext(ctx, c[0], c[1:]...).CombinedOutput()
		if err == nil {
			line, _, _ := strings.Cut(string(said), "\n")
			peers = append(peers, strings.Join(strings.Fields(line)[:min(4, len(strings.Fields(line)))], " "))
		}
	}
	fmt.Printf("Peers: %s.\n", strings.Join(peers, "; "))
}

func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "load unknown"
	}
	f := strings.Fields(string(text))
	return "load " + strings.Join(f[:min(3, len(f))], " ")
}
