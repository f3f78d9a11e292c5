package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// options come from the environment, where make puts what is set on its command line.
type options struct {
	driver, upgrade, focus, rerun string
	workers                       int
	table                         bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		stop()
		os.Exit(1) //nolint:gocritic // the one deferred call was made above
	}
}

func start(ctx context.Context) error {
	o := options{driver: os.Getenv("DRIVER"), upgrade: os.Getenv("UPGRADE"), focus: os.Getenv("FOCUS"),
		rerun: os.Getenv("RERUN"), workers: 3}
	if o.upgrade != "" && o.focus == "" {
		o.focus = "upgrade"
	}
	if p := os.Getenv("PROCS"); p != "" {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 || n > 32 {
			return fmt.Errorf("PROCS=%s: must be 1 to 32", p)
		}
		o.workers = n
	}
	flag.BoolVar(&o.table, "table", false, "write the table of the records into docs/conformance.md, and run nothing")
	flag.Parse()
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	if o.table {
		return tables(root)
	}
	dir := filepath.Join(root, "bin", "conformance")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return conform(ctx, root, dir, o)
}

// records is the directory of the records, which are part of the repository.
func records(root string) string { return filepath.Join(root, "test", "conformance", "records") }

// tables writes the records into the pages.
func tables(root string) error {
	records, err := openAll(records(root))
	if err != nil {
		return err
	}
	docs := filepath.Join(root, "docs")
	return errors.Join(
		stand.WriteTable(filepath.Join(docs, "conformance.md"), program, table(records, english(), false)),
		stand.WriteTable(filepath.Join(docs, "zh", "conformance.md"), program, table(records, chinese(), true)))
}

// conform runs the tests.
func conform(ctx context.Context, root, dir string, o options) error {
	cannot, err := reasons(cannotText)
	if err != nil {
		return err
	}
	l, err := lab.Open(lab.Options{})
	if err != nil {
		return err
	}
	s, err := stand.New(root, filepath.Join(dir, l.Name()), os.Stdout)
	if err != nil {
		return err
	}
	c, err := find(ctx, s, o.driver)
	if err != nil {
		return err
	}
	if o.upgrade != "" {
		if err := c.upgrade(ctx, o.upgrade); err != nil {
			return err
		}
	}
	u, err := build(ctx, s, c.Kubernetes)
	if err != nil {
		return err
	}
	all, err := u.tests(ctx)
	if err != nil {
		return err
	}
	record, err := open(records(root), c.Driver, c.Kubernetes)
	if err != nil {
		return err
	}
	record.settle(all, cannot)
	if err := record.save(); err != nil {
		return err
	}
	chosen, err := focused(all, o.focus)
	if err != nil {
		return err
	}
	tests, err := todo(chosen, record, o.rerun)
	if err != nil {
		return err
	}
	s.Say("Kubernetes %s by the driver %s: %d tests, %d of them chosen, %d to run", c.Kubernetes, c.Driver, len(all),
		len(chosen), len(tests))
	if len(tests) > 0 {
		if err := c.images(ctx, u); err != nil {
			return err
		}
		if err := c.test(ctx, u, record, len(chosen), tests, o.workers); err != nil {
			return fmt.Errorf("%w\nthe record has what was tested: run this again for the rest", err)
		}
	}
	fmt.Print("\n", table([]*Record{record}, english(), false))
	return verdict(record, chosen)
}

// test runs tests against the cluster.
func (c *cluster) test(ctx context.Context, u *suite, record *Record, chosen int, tests []string, workers int) error {
	r := &run{record: record, say: c.Say, now: time.Now}
	url, err := r.listen(ctx)
	if err != nil {
		return err
	}
	calls := &caller{suite: u, dir: filepath.Join(c.Dir, "logs", time.Now().UTC().Format("20060102-150405")),
		kubeconfig: c.kubeconfig, progress: url}
	if err := os.MkdirAll(calls.dir, 0o700); err != nil {
		return err
	}
	c.Say("logs are in %s", calls.dir)
	r.call = calls.run
	return r.start(ctx, chosen, tests, workers)
}

// verdict is an error if a chosen test failed or has not run.
func verdict(r *Record, chosen []string) error {
	failed, none := 0, 0
	for _, t := range chosen {
		switch have, ok := r.Results[t]; {
		case !ok:
			none++
		case have.State == Failed:
			failed++
		}
	}
	if failed+none > 0 {
		return fmt.Errorf("of %d tests %d failed and %d have not run (RERUN=failed runs those that failed again)",
			len(chosen), failed, none)
	}
	return nil
}
