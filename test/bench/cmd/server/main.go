// Command server times eggo-server on loopback, with clusters in a state directory of its own: requests beside a bare
// handler with TLS that answers as many bytes, and viewers of a run that is being written. All is real but the API
// servers of the clusters, which this process answers for. It reports; it asserts nothing. Run it at the root of the
// repository: "make bench".
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
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

type options struct {
	scale float64
	long  time.Duration
	rate  int
	log   int
	// program is an eggo-server that was built before; "": that of the tree is built.
	program  string
	clusters int  // 0: sizes
	alone    bool // requests without viewers
}

func run(ctx context.Context, args []string) error {
	var o options
	scale := 1.0
	if text := os.Getenv("EGGO_BENCH_SCALE"); text != "" {
		var err error
		if scale, err = strconv.ParseFloat(text, 64); err != nil {
			return fmt.Errorf("EGGO_BENCH_SCALE: %w", err)
		}
	}
	f := flag.NewFlagSet("server", flag.ContinueOnError)
	f.Float64Var(&o.scale, "scale", scale, "of clusters and viewers: 1 is 10, 100 and 1,000 (EGGO_BENCH_SCALE)")
	f.DurationVar(&o.long, "for", 10*time.Second, "how long each kind of request, and each log, is measured")
	f.IntVar(&o.rate, "rate", 20, "events a second of the run that is viewed")
	f.IntVar(&o.log, "log", 2000, "events that the run has when its viewers come")
	f.StringVar(&o.program, "program", "", "an eggo-server to measure in place of that of the tree")
	f.IntVar(&o.clusters, "clusters", 0, "measure so many clusters alone, in place of 10, 100 and 1,000")
	f.BoolVar(&o.alone, "requests", false, "measure requests alone, without viewers")
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.scale <= 0 || o.rate < 1 || o.log < 1 || o.long <= 0 || o.clusters < 0 {
		return errors.New("scale, time, rate, log and clusters must be positive")
	}
	dir, err := os.MkdirTemp("", "eggo-server-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := o.program
	if program == "" {
		program = filepath.Join(dir, "eggo-server")
		if err := build(ctx, program); err != nil {
			return err
		}
	}
	fmt.Printf("# The server, measured\n\n%s, %d cores, %s, scale %g.\n",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), runtime.NumCPU(), runtime.Version(), o.scale)
	err = o.requests(ctx, dir, program)
	if !o.alone {
		err = errors.Join(err, o.viewers(ctx, dir, program))
	}
	return err
}

// build builds the eggo-server of the tree.
func build(ctx context.Context, program string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "./cmd/eggo-server")
	cmd.Env, cmd.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building eggo-server: %w", err)
	}
	return nil
}

// settling is how long a server works at what it has found when it starts, and how long it looks at the health of all
// clusters once.
const settling = 10 * time.Second

// sizes are how many clusters and viewers there are.
func (o options) sizes() []int {
	if o.clusters > 0 {
		return []int{o.clusters}
	}
	var out []int
	for _, n := range []float64{10, 100, 1000} {
		out = append(out, max(1, int(math.Round(n*o.scale))))
	}
	return slices.Compact(out)
}

// requests measures a server with more and more clusters.
func (o options) requests(ctx context.Context, dir, program string) error {
	fmt.Printf("\n## Requests\n\nOne client by itself, then %d, each on a connection that it keeps, %s of each "+
		"kind. CPU is that of the server for one request.\n\n", clients, o.long)
	fmt.Println("| clusters | request | bytes | p50 ms alone | CPU ms | a second | p50 ms | p99 ms | " +
		"floor a second | x floor | not as expected |\n|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	var idle []string
	for _, n := range o.sizes() {
		w, err := start(ctx, filepath.Join(dir, fmt.Sprintf("requests-%d", n)), program, n)
		if err != nil {
			return err
		}
		sleep(ctx, settling)
		before, begun := w.cpu(), time.Now()
		sleep(ctx, max(o.long, settling))
		busy := 100 * (w.cpu() - before).Seconds() / time.Since(begun).Seconds()
		quiet := w.memory()
		for _, q := range kinds() {
			if err = w.measure(ctx, n, q, o.long); err != nil {
				break
			}
		}
		idle = append(idle, fmt.Sprintf("| %d | %.1f | %.1f | %.1f | %.1f |", n, w.ready.Seconds(), busy, quiet,
			w.memory()))
		if err = errors.Join(err, w.close()); err != nil {
			return err
		}
	}
	fmt.Printf("\nThe server itself:\n\n| clusters | s until all are ready | %% of a core without requests | " +
		"RSS MB | after the requests |\n|--:|--:|--:|--:|--:|\n")
	fmt.Println(strings.Join(idle, "\n"))
	return nil
}

// kind of request. The status is what is expected of it.
type kind struct {
	name, method, path, body string
	status                   int
}

func kinds() []kind {
	one := "/api/v1/clusters/" + cluster(0)
	return []kind{
		{"list (100 at most)", http.MethodGet, "/api/v1/clusters", "", http.StatusOK},
		{"get", http.MethodGet, one, "", http.StatusOK},
		{"health history", http.MethodGet, one + "/health/history", "", http.StatusOK},
		{"a change of an older record, refused and recorded", http.MethodPut, one, `{"nodes":[]}`,
			http.StatusPreconditionFailed},
	}
}

func (w *world) measure(ctx context.Context, n int, q kind, long time.Duration) error {
	before := w.cpu()
	alone, err := load(ctx, w.client, 1, long, q, w.url, w.token)
	if err != nil {
		return err
	}
	each := (w.cpu() - before).Seconds() * 1000 / float64(max(len(alone.took), 1))
	got, err := load(ctx, w.client, clients, long, q, w.url, w.token)
	if err != nil {
		return err
	}
	floor := bare(got.bytes)
	defer floor.Close()
	root := kind{method: http.MethodGet, path: "/", status: http.StatusOK}
	least, err := load(ctx, floor.Client(), clients, long, root, floor.URL, "")
	if err != nil {
		return err
	}
	fmt.Printf("| %d | %s | %d | %.2f | %.2f | %.0f | %.2f | %.2f | %.0f | %.1f | %d |\n", n, q.name, got.bytes,
		alone.at(0.5), each, got.rate(), got.at(0.5), got.at(0.99), least.rate(),
		least.rate()/max(got.rate(), 1e-9), alone.odd+got.odd)
	return nil
}

// viewers measures more and more viewers of one run.
func (o options) viewers(ctx context.Context, dir, program string) error {
	fmt.Printf("\n## Viewers of one run\n\nA log of %d events, then %d events a second for %s. From the write of an "+
		"event to its receipt.\n\n| viewers | by | received | missing | p50 ms | p99 ms | %% of a core | KB RSS a "+
		"viewer |\n|--:|---|--:|--:|--:|--:|--:|--:|\n", o.log, o.rate, o.long)
	for _, n := range o.sizes() {
		for _, by := range []string{"SSE", "WebSocket"} {
			w, err := start(ctx, filepath.Join(dir, fmt.Sprintf("viewers-%d-%s", n, by)), program, 1)
			if err != nil {
				return err
			}
			if err := errors.Join(o.view(ctx, w, n, by), w.close()); err != nil {
				return err
			}
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
