package site

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/story"
)

// Moment of a story: until then it is written, as if it were now.
type Moment struct {
	More  int           // nodes more than the recorded installation has
	Less  bool          // three nodes only
	At    time.Duration // of the run; 0: to its end
	Fails string        // a node whose disk is full
	Ago   time.Duration // that the run ended
}

// Records of the moment, and the plan of the run. Those of a run that goes on end now.
func (m Moment) Records() ([]event.Record, event.PlanMade, error) {
	list, err := story.Recorded()
	if err != nil {
		return nil, event.PlanMade{}, err
	}
	if m.Less {
		list = without(list, "master-2", "master-3")
	}
	if m.More > 0 {
		list = story.Many(list, m.More)
	}
	began := list[0].Time
	if m.At > 0 {
		end := slices.IndexFunc(list, func(r event.Record) bool { return r.Time.Sub(began) > m.At })
		if end >= 0 {
			list = list[:end]
		}
	}
	if m.Fails != "" {
		list = append(list, story.Full(list[len(list)-1], m.Fails)...)
	}
	shift := time.Until(list[len(list)-1].Time) * -1
	if m.At > 0 {
		shift = time.Since(began.Add(m.At))
	}
	var plan event.PlanMade
	for i := range list {
		list[i].Time = list[i].Time.Add(shift - m.Ago)
		list[i].Seq = uint64(i + 1)
		if p, is := list[i].Event.(event.PlanMade); is {
			plan = p
		}
	}
	return list, plan, nil
}

// without is the story without some nodes.
func without(list []event.Record, hosts ...string) []event.Record {
	var out []event.Record
	steps := map[string]bool{}
	for _, r := range list {
		switch e := r.Event.(type) {
		case event.PlanMade:
			e.Hosts = slices.DeleteFunc(slices.Clone(e.Hosts), func(h event.Host) bool {
				return slices.Contains(hosts, h.Name)
			})
			e.Steps = slices.DeleteFunc(slices.Clone(e.Steps), func(s event.Step) bool {
				if slices.Contains(hosts, s.Host) {
					steps[s.ID] = true
				}
				return steps[s.ID]
			})
			r.Event = e
		case event.HostState:
			if slices.Contains(hosts, e.Host) {
				continue
			}
		case event.Output:
			if slices.Contains(hosts, e.Host) {
				continue
			}
		case event.Change:
			if slices.Contains(hosts, e.Host) {
				continue
			}
		case event.Progress:
			if slices.Contains(hosts, e.Host) {
				continue
			}
		case event.Notice:
			if slices.Contains(hosts, e.Host) {
				continue
			}
		}
		if !steps[stepOf(r.Event)] {
			out = append(out, r)
		}
	}
	return out
}

func stepOf(e event.Event) string {
	switch e := e.(type) {
	case event.StepStarted:
		return e.Step
	case event.StepEnded:
		return e.Step
	case event.StepRetry:
		return e.Step
	case event.StepAsked:
		return e.Step
	case event.StepDecided:
		return e.Step
	}
	return ""
}

// Play has a cluster with a run at a moment. One that goes on has to be ended.
func (s *Site) Play(ctx context.Context, cluster, verb string, m Moment) (*Run, error) {
	list, plan, err := m.Records()
	if err != nil {
		return nil, err
	}
	for i := range list {
		if e, is := list[i].Event.(event.RunStarted); is {
			e.Cluster, e.Verb, e.Flags = cluster, verb, []string{"--on-failure", "ask"}
			list[i].Event = e
		}
	}
	if err := s.Install(ctx, cluster, plan); err != nil {
		return nil, err
	}
	r, err := s.Begin(cluster, verb, list[0].Time)
	if err == nil {
		err = r.Write(list)
	}
	if err == nil && m.At == 0 {
		r.End()
	}
	return r, err
}

// Snapshot has a snapshot of etcd of a cluster.
func (s *Site) Snapshot(cluster string, at time.Time) error {
	dir := filepath.Join(s.State, cluster, "snapshots")
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		file := filepath.Join(dir, at.UTC().Format("20060102T150405Z")+".db")
		err = errors.Join(os.WriteFile(file, make([]byte, 3<<20), 0o600), os.Chtimes(file, at, at))
	}
	return err
}

// Reach waits until a cluster is in a state.
func (s *Site) Reach(ctx context.Context, cluster, state string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	last := ""
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if v, err := s.Manager.Cluster(cluster); err == nil {
			if last = string(v.State); last == state {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is %q, not %q: %w", cluster, last, state, ctx.Err())
		case <-tick.C:
		}
	}
}

// Filled is what Fill has made: the newest run of each cluster, and a backup of shanghai-2.
type Filled struct {
	Run    map[string]string
	Backup string
}

// Fill has clusters of all kinds: one that is installed at the moment, with 3, 5, 30 and 100 nodes, one that runs, one
// that failed.
func Fill(ctx context.Context, s *Site) (Filled, error) {
	out := Filled{Run: map[string]string{}}
	for _, c := range []struct {
		name string
		Moment
	}{
		{"shanghai-2", Moment{Ago: 49 * time.Hour}},
		{"lab", Moment{Less: true, At: 79 * time.Second}},
		{"edge-berlin", Moment{At: 79 * time.Second}},
		{"rack-7", Moment{More: 25, At: 79 * time.Second, Fails: "worker-4"}},
		{"plant", Moment{More: 95, At: 94 * time.Second}},
		{"trial", Moment{Ago: 3 * time.Hour}},
	} {
		r, err := s.Play(ctx, c.name, "deploy", c.Moment)
		if err != nil {
			return out, err
		}
		out.Run[c.name] = r.ID()
	}
	for _, ago := range []time.Duration{2 * time.Hour, 26 * time.Hour} {
		if err := s.Snapshot("shanghai-2", time.Now().Add(-ago)); err != nil {
			return out, err
		}
	}
	var err error
	if out.Backup, _, err = s.Backup(ctx, "shanghai-2", time.Now().Add(-5*time.Hour)); err != nil {
		return out, err
	}
	for name, state := range map[string]string{"shanghai-2": "Running", "trial": "Running", "plant": "Updating",
		"rack-7": "Updating"} {
		if err := s.Reach(ctx, name, state); err != nil {
			return out, err
		}
	}
	return out, nil
}
