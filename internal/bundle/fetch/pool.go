package fetch

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
)

// Connections is how many blobs All fetches at once if it is not told: over a link that is slow for each connection by
// itself, the largest layer alone then decides how long everything takes.
const Connections = 16

// Job is one blob of many.
type Job struct {
	Source
	Sinks func() []Sink // called when its turn comes; nil for none
	Done  func(Blob)    // called from the goroutine that fetched it, when it is in the cache; nil for nobody
}

// All gets all jobs, connections at once (0: Connections), the largest first; those whose size is unknown before all
// others. Two jobs with the same sum are one fetch that feeds the sinks of both.
//
// An error of one job does not stop the others: all are returned together, joined in the order of the jobs (see
// Faults). A full disk ends everything at once, as nothing else can succeed, and so does the context, whose error is
// then returned alone.
func (c *Client) All(ctx context.Context, jobs []Job, connections int) error {
	groups := grouped(jobs)
	if connections <= 0 {
		connections = Connections
	}
	order := slices.Clone(groups)
	slices.SortStableFunc(order, func(a, b *group) int { return cmp.Compare(b.weight(), a.weight()) })

	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		wg   sync.WaitGroup
		next = make(chan *group)
	)
	for range min(connections, len(order)) {
		wg.Go(func() {
			for g := range next {
				if g.err = c.group(inner, g); diskFull(g.err) {
					cancel()
				}
			}
		})
	}
feed:
	for _, g := range order {
		select {
		case next <- g:
		case <-inner.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	var all []error
	for _, g := range groups {
		if g.err != nil && !(inner.Err() != nil && canceled(g.err)) {
			all = append(all, g.err)
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return errors.Join(all...)
}

// group is the jobs with the same sum.
type group struct {
	jobs []Job
	err  error
}

func (g *group) weight() int64 {
	if s := g.jobs[0].Size; s >= 0 {
		return s
	}
	return math.MaxInt64
}

// grouped keeps the order of the first job of each. Jobs that differ about the size of a sum stay apart: one of them is
// wrong and must fail.
func grouped(jobs []Job) []*group {
	sized := map[string]int64{}
	for _, j := range jobs {
		if _, ok := sized[j.SHA256]; !ok && j.Size >= 0 {
			sized[j.SHA256] = j.Size
		}
	}
	type key struct {
		sum  string
		size int64
	}
	by := map[key]*group{}
	var all []*group
	for _, j := range jobs {
		if n, ok := sized[j.SHA256]; ok && j.Size < 0 && j.SHA256 != "" {
			j.Size = n
		}
		k := key{j.SHA256, j.Size}
		if g := by[k]; g != nil && j.SHA256 != "" {
			g.jobs = append(g.jobs, j)
			continue
		}
		g := &group{jobs: []Job{j}}
		by[k] = g
		all = append(all, g)
	}
	return all
}

func (c *Client) group(ctx context.Context, g *group) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var sinks []Sink
	for _, j := range g.jobs {
		if j.Sinks != nil {
			sinks = append(sinks, j.Sinks()...)
		}
	}
	b, err := c.Get(ctx, g.jobs[0].Source, sinks...)
	if err != nil {
		return err
	}
	for _, j := range g.jobs {
		if j.Done != nil {
			j.Done(b)
		}
	}
	return nil
}
