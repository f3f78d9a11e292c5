package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// run is one call of this program: which tests it runs, and what they came to.
type run struct {
	record *Record
	say    func(format string, args ...any)
	call   func(ctx context.Context, number int, tests []string) (map[string]Result, error)
	now    func() time.Time

	mu     sync.Mutex
	all    int // tests that were chosen, those with a result of before too
	done   int // of all
	before int // of done, when the run began
	began  time.Time
	left   map[string]bool
	failed int
	parts  int
}

// start runs tests in parts, those that may run beside others by several workers first.
func (r *run) start(ctx context.Context, chosen int, tests []string, workers int) error {
	r.all, r.done, r.began, r.left = chosen, chosen-len(tests), r.now(), map[string]bool{}
	r.before = r.done
	var beside, alone []string
	for _, t := range tests {
		r.left[t] = true
		if isSerial(t) {
			alone = append(alone, t)
		} else {
			beside = append(beside, t)
		}
	}
	if err := r.work(ctx, parts(beside, workers), workers); err != nil {
		return err
	}
	return r.work(ctx, parts(alone, 1), 1)
}

// work runs parts. That the suite cannot begin ends it, for it would not the next time either.
func (r *run) work(ctx context.Context, parts [][]string, workers int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := make(chan []string, len(parts))
	for _, p := range parts {
		queue <- p
	}
	close(queue)
	var wg sync.WaitGroup
	errs := make(chan error, workers)
	for range workers {
		wg.Go(func() {
			for p := range queue {
				if ctx.Err() != nil {
					return
				}
				if err := r.part(ctx, p); err != nil {
					errs <- err
					cancel()
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	var all error
	for err := range errs {
		all = errors.Join(all, err)
	}
	if all == nil {
		all = ctx.Err()
	}
	return all
}

// part runs one, and records what it came to.
func (r *run) part(ctx context.Context, tests []string) error {
	r.mu.Lock()
	number := r.parts
	r.parts++
	for _, t := range tests { // the old result of a test that is run again says nothing any more
		delete(r.record.Results, t)
	}
	r.mu.Unlock()
	results, err := r.call(ctx, number, tests)
	for t, result := range results {
		err = errors.Join(err, r.note(t, result))
	}
	return err
}

// note records what a test came to, and says how far the run is.
func (r *run) note(test string, result Result) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.record.Results[test] = result
	if r.left[test] {
		delete(r.left, test)
		r.done++
		if result.State == Failed {
			r.failed++
		}
		r.say("%d of %d, %d failed, about %s left: %s: %s", r.done, r.all, r.failed, r.remaining(), result.State, test)
	}
	return r.record.save()
}

// remaining is how long the rest takes if it goes on like this.
func (r *run) remaining() time.Duration {
	ran := r.done - r.before
	each := r.now().Sub(r.began) / time.Duration(max(1, ran))
	return (each * time.Duration(r.all-r.done)).Round(time.Minute)
}

// listen is told by the suites of every test that ends, so that a run that is killed loses little, and the screen
// moves. The report of the part says more later. It gives its URL.
func (r *run) listen(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, req *http.Request) {
			data, err := io.ReadAll(io.LimitReader(req.Body, 1<<20))
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			if err := r.heard(data); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		})}
	go func() { _ = s.Serve(l) }()
	context.AfterFunc(ctx, func() { _ = s.Close() })
	return "http://" + l.Addr().String() + "/", nil
}

// heard takes what a suite says of a test that has ended, unless its report was there first.
func (r *run) heard(data []byte) error {
	test, state := event(data)
	r.mu.Lock()
	news := r.left[test]
	r.mu.Unlock()
	if !news {
		return nil
	}
	return r.note(test, Result{State: state})
}
