// Command story records what eggo-tui demo plays: an install on five nodes of the lab during which the disk of a
// worker fills up while a package is unpacked, and is freed as soon as that has failed, so that nothing else does. The
// other nodes go on for a while before the step is retried. What names this machine is replaced (see scrub). It runs on
// one Linux machine as root:
//
//	go run ./test/e2e/cmd/story
//
// With -log FILE it takes the log of such a run instead of making one.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/control"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

const (
	cluster = "demo"
	worker  = "worker-2"                          // whose disk fills up
	step    = "infrastructure.packages/" + worker // that fails
	moment  = "Unpacking containerd "             // what it prints when the disk fills up: this takes seconds
	// patience is how long the run waits for the decision: the other nodes go on meanwhile.
	patience = 20 * time.Second
)

// named is a node of the lab with the name that it has in the story.
type named struct {
	name string
	stand.Node
}

func nodes() []named {
	return []named{
		{"master-1", stand.Node{Name: "n1", Roles: "me"}}, {"master-2", stand.Node{Name: "n2", Roles: "me"}},
		{"master-3", stand.Node{Name: "n3", Roles: "me"}}, {"worker-1", stand.Node{Name: "n4", Roles: "nl"}},
		{worker, stand.Node{Name: "n5", Roles: "n"}},
	}
}

func main() {
	dir := flag.String("dir", filepath.Join("bin", "story"), "where the bundle and the state directory are made")
	log := flag.String("log", "", "the log of a run that was recorded before")
	out := flag.String("o", filepath.Join("assets", "demo", "install.jsonl.gz"), "the recording")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *dir, *log, *out); err != nil {
		fmt.Fprintln(os.Stderr, "story:", err)
		stop()
		os.Exit(1) //nolint:gocritic // the one deferred call was made above
	}
}

func run(ctx context.Context, dir, log, out string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	s, err := stand.New(root, dir, os.Stdout)
	if err != nil {
		return err
	}
	if log == "" {
		if log, err = install(ctx, s); err != nil {
			return err
		}
		s.Say("the log as it was: %s", log)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	clean, err := scrub(s, string(text))
	if err != nil {
		return err
	}
	return pack(out, clean)
}

// install makes the run on new nodes, and says where its log is.
func install(ctx context.Context, s *stand.Stand) (string, error) {
	defer func() { _ = s.Lab.Down(context.WithoutCancel(ctx), true) }()
	if err := errors.Join(s.Lab.Down(ctx, true), os.RemoveAll(s.State())); err != nil {
		return "", err
	}
	if err := s.Build(ctx); err != nil {
		return "", err
	}
	if err := s.Pack(ctx); err != nil {
		return "", err
	}
	if err := s.Lab.Up(ctx, len(nodes())); err != nil {
		return "", err
	}
	log, err := record(ctx, s)
	if err != nil {
		return "", err
	}
	path := filepath.Join(s.Dir, "events.jsonl")
	return path, os.WriteFile(path, log, 0o600)
}

// record installs the cluster, has a disk fill up on the way, frees it, and gives the event log.
func record(ctx context.Context, s *stand.Stand) ([]byte, error) {
	var list []stand.Node
	var names []string
	for _, n := range nodes() {
		list = append(list, n.Node)
		names = append(names, "name: "+n.Name+"\n", "name: "+n.name+"\n")
	}
	file, err := s.Deploy("lab.yaml", cluster, list)
	if err != nil {
		return nil, err
	}
	if file, err = s.Vary(file, "deploy.yaml", names...); err != nil {
		return nil, err
	}
	r, err := s.Start(ctx, "", "deploy", "-f", file, "--on-failure", "ask")
	if err != nil {
		return nil, err
	}
	err = fillAndFree(ctx, s)
	if err != nil {
		_ = r.Signal(syscall.SIGINT)
	}
	got, waited := r.Wait()
	if err := errors.Join(err, waited); err != nil || got.Code != 0 {
		return nil, fmt.Errorf("deploy: exit code %d: %w\n%s", got.Code, err, got.Out)
	}
	return s.LastRun(cluster)
}

// fillAndFree fills the disk while the step runs, frees it when that is said, and has the step retried.
func fillAndFree(ctx context.Context, s *stand.Stand) error {
	says := func(words string) error {
		return until(ctx, s, func(r event.Record) bool {
			e, ok := r.Event.(event.Output)
			return ok && e.Step == step && strings.Contains(e.Line, words)
		})
	}
	if err := says(moment); err != nil {
		return err
	}
	out, err := s.FillDisk(ctx, "n5")
	if err != nil {
		return err
	}
	s.Say("the disk of %s is full:\n%s", worker, out)
	if err := errors.Join(says("No space left on device"), s.FreeDisk(ctx, "n5")); err != nil {
		return err
	}
	if err := until(ctx, s, func(r event.Record) bool {
		e, ok := r.Event.(event.StepAsked)
		return ok && e.Step == step
	}); err != nil {
		return err
	}
	s.Say("%s is asked about", step)
	select {
	case <-time.After(patience):
	case <-ctx.Done():
		return ctx.Err()
	}
	dirs, err := filepath.Glob(filepath.Join(s.State(), cluster, "runs", "*"))
	if err != nil || len(dirs) != 1 {
		return fmt.Errorf("not one run: %v: %w", dirs, err)
	}
	if err := (control.Client{Dir: dirs[0]}).Decide(step, event.TryAgain); err != nil {
		return err
	}
	also := ""
	err = until(ctx, s, func(r event.Record) bool {
		if e, ok := r.Event.(event.StepAsked); ok && e.Step != step {
			also = e.Step
		}
		_, over := r.Event.(event.RunEnded)
		return over || also != ""
	})
	if also != "" { // what it wrote at that moment failed too: no two runs are alike
		return fmt.Errorf("%s failed as well: record again", also)
	}
	return err
}

// until waits for a record of the run.
func until(ctx context.Context, s *stand.Stand, is func(event.Record) bool) error {
	ctx, stop := context.WithTimeout(ctx, 10*time.Minute)
	defer stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		runs, err := stand.Runs(s.State(), cluster)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, r := range slices.Concat(runs...) {
			if is(r) {
				return nil
			}
			if e, over := r.Event.(event.RunEnded); over {
				return fmt.Errorf("the run ended: %s", e.Outcome)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// scrub replaces what names this machine: directories, the host, addresses. It fails when something is left. What is
// told of limits that only nodes of the lab have is dropped.
func scrub(s *stand.Stand, log string) (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	pairs := []string{s.State(), "/var/lib/eggo", s.Dir, "/root", s.Root, "/root", host, "control-host"}
	words := []string{s.Dir, s.Root, host, `"/tmp/`, `=/tmp/`, ` /tmp/`}
	for i, n := range nodes() {
		ip, err := s.Lab.Address(n.Name)
		if err != nil {
			return "", err
		}
		pairs = append(pairs, ip, fmt.Sprintf("192.168.0.%d", 11+i))
		words = append(words, ip[:strings.LastIndex(ip, ".")+1]) // of the network's other addresses
	}
	log = strings.NewReplacer(pairs...).Replace(log)
	for _, w := range words {
		if i := strings.Index(log, w); i >= 0 {
			return "", fmt.Errorf("%q is left: %s", w, log[max(0, i-200):min(len(log), i+200)])
		}
	}
	var out strings.Builder
	n := 0
	for line := range strings.Lines(log) {
		if strings.Contains(line, `"key":"notice.no-sysresource"`) ||
			strings.Contains(line, `"key":"notice.no-conntrack"`) {
			continue
		}
		n++
		_, rest, _ := strings.Cut(line, ",") // after the record's number
		fmt.Fprintf(&out, `{"seq":%d,%s`, n, rest)
	}
	return out.String(), nil
}

// pack writes the recording: the same log gives the same bytes.
func pack(path, log string) error {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write([]byte(log)); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
