package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

const stepsEach = 20

func step(node, k int) string { return fmt.Sprintf("infrastructure.step-%d/node-%d", k, node) }

func plan(nodes int) event.PlanMade {
	p := event.PlanMade{Phases: []event.Phase{{ID: "infrastructure", Title: event.M("phase.infrastructure")}}}
	for n := range nodes {
		name := fmt.Sprintf("node-%d", n)
		p.Hosts = append(p.Hosts, event.Host{Name: name, Addr: fmt.Sprintf("192.0.2.%d", n), Roles: []string{"worker"}})
		for k := range stepsEach {
			p.Steps = append(p.Steps, event.Step{ID: step(n, k), Phase: "infrastructure", Host: name,
				Title: event.M("step.infrastructure.packages", "node", name)})
		}
	}
	return p
}

// stamped is when events were written, by their sequence number.
type stamped struct {
	mu sync.Mutex
	at map[uint64]time.Time
}

// Emit implements event.Sink: it is called before the event is in the log.
func (s *stamped) Emit(r event.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at[r.Seq] = time.Now()
	return nil
}

// viewer is one that reads the stream of a run.
type viewer struct {
	got map[uint64]time.Time
	err error
}

// view has n viewers see a run that is being written.
func (o options) view(ctx context.Context, w *world, n int, by string) error {
	j, lock, err := w.journalOf(cluster(0))
	if err != nil {
		return err
	}
	defer lock.Unlock() //nolint:errcheck // the directory is removed
	log, err := j.NewRun("deploy", time.Now())
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // it is removed, too
	times := &stamped{at: map[uint64]time.Time{}}
	bus := event.NewBus(nil, times, log)
	if err := errors.Join(lock.Writes(log.ID()), bus.Emit(event.RunStarted{Run: log.ID(), Cluster: cluster(0),
		Verb: "deploy"}), bus.Emit(plan(100))); err != nil {
		return err
	}
	for i := range o.log {
		if err := bus.Emit(output(i)); err != nil {
			return err
		}
	}
	last := uint64(o.log + 2)
	sleep(ctx, time.Second) // what is written is in the file
	before := w.memory()
	reading, stop := context.WithCancel(ctx)
	defer stop()
	path := fmt.Sprintf("/api/v1/clusters/%s/runs/%s/events?from=%d", cluster(0), log.ID(), last)
	var all sync.WaitGroup
	var there atomic.Int64
	list := make([]viewer, n)
	for i := range list {
		v := &list[i]
		v.got = map[uint64]time.Time{}
		all.Go(func() { v.err = w.read(reading, by, path, v.got, last, func() { there.Add(1) }) })
	}
	for since := time.Now(); there.Load() < int64(n) && time.Since(since) < patience && ctx.Err() == nil; {
		sleep(ctx, 100*time.Millisecond)
	}
	used, began := w.cpu(), time.Now()
	for i := range int(o.long.Seconds() * float64(o.rate)) {
		sleep(ctx, time.Until(began.Add(time.Duration(i)*time.Second/time.Duration(o.rate))))
		if err := bus.Emit(output(i)); err != nil {
			return err
		}
	}
	busy := 100 * (w.cpu() - used).Seconds() / time.Since(began).Seconds()
	sleep(ctx, 3*time.Second) // the last ones arrive
	memory := w.memory()
	stop()
	all.Wait()
	tell(list, times, last, by, busy, (memory-before)*1000/float64(n))
	return ctx.Err()
}

func output(i int) event.Output {
	host := i % 100
	return event.Output{Host: fmt.Sprintf("node-%d", host), Step: step(host, i/100%stepsEach), Stream: "stdout",
		Line: fmt.Sprintf("Setting up something-%d (1.%d.3-1) ...", i, i)}
}

func tell(list []viewer, times *stamped, last uint64, by string, busy, each float64) {
	var took []time.Duration
	received, wanted, failed := 0, 0, error(nil)
	for seq, at := range times.at {
		if seq <= last {
			continue
		}
		for i := range list {
			wanted++
			if got, is := list[i].got[seq]; is {
				received++
				took = append(took, got.Sub(at))
			}
		}
	}
	for _, v := range list {
		if v.err != nil && !errors.Is(v.err, context.Canceled) {
			failed = v.err
		}
	}
	slices.Sort(took)
	fmt.Printf("| %d | %s | %d | %d | %.0f | %.0f | %.0f | %.0f |\n", len(list), by, received, wanted-received,
		percentile(took, 0.5), percentile(took, 0.99), busy, each)
	if failed != nil {
		fmt.Printf("\nA viewer ended: %v\n\n", failed)
	}
}

// read reads a stream until ctx ends. there is called when the event last has come: the viewer has caught up.
func (w *world) read(
	ctx context.Context, by, path string, got map[uint64]time.Time, last uint64, there func(),
) error {
	take := func(seq uint64) {
		if got[seq] = time.Now(); seq == last {
			there()
		}
	}
	if by == "WebSocket" {
		c, _, err := websocket.Dial(ctx, "wss"+strings.TrimPrefix(w.url, "https")+path, &websocket.DialOptions{
			HTTPClient: w.client, HTTPHeader: http.Header{"Authorization": {"Bearer " + w.token}}})
		if err != nil {
			return err
		}
		defer c.CloseNow() //nolint:errcheck // it has ended
		for {
			_, text, err := c.Read(ctx)
			if err != nil {
				return ended(ctx, err)
			}
			var r struct{ Seq uint64 }
			if err := json.Unmarshal(text, &r); err != nil {
				return err
			}
			take(r.Seq)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Accept", "text/event-stream")
	res, err := w.client.Do(req)
	if err != nil {
		return ended(ctx, err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if id, is := strings.CutPrefix(lines.Text(), "id: "); is {
			seq, err := strconv.ParseUint(id, 10, 64)
			if err != nil {
				return err
			}
			take(seq)
		}
	}
	return ended(ctx, lines.Err())
}

// ended is why a stream ended before its reader did.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	if err == nil {
		err = errors.New("the stream ended")
	}
	return err
}
