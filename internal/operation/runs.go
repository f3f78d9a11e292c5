package operation

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

// learnFrom is how many earlier runs Usual learns from.
const learnFrom = 10

// Runs are those of a cluster, newest first.
func Runs(ctx context.Context, st Store, cluster string) ([]request.Run, error) {
	files, err := st.Read(ctx, cluster)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	runs, err := runsOf(files.Journal(), cluster)
	if len(runs) > 0 && runs[0].Status == request.Running {
		var c request.ClusterInfo
		lastRun(&c, files.Journal())
		runs[0].Waits = c.Waits
	}
	return runs, err
}

func runsOf(runs *journal.Cluster, cluster string) ([]request.Run, error) {
	ids, err := runs.Runs()
	if err != nil {
		return nil, err
	}
	var out []request.Run
	for _, id := range slices.Backward(ids) {
		r := runInfo(runs.RunDir(id))
		r.Ref = request.Ref{Cluster: cluster, Run: id}
		if r.Verb == "" {
			r.Verb = runs.Verb(id)
		}
		if r.Status == "" {
			r.Status = request.Interrupted
			if runs.Writing(id) {
				r.Status = request.Running
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// runInfo reads the beginning and the end of a run's log: it may be large. Status is "" when the log has no end.
func runInfo(dir string) request.Run {
	var r request.Run
	records, closeLog, err := journal.OpenReader(dir)
	if err != nil {
		return r
	}
	defer closeLog()
	for r.At.IsZero() { // a join gathers facts before its plan is made
		rec, err := records.Next()
		if err != nil {
			break
		}
		switch e := rec.Event.(type) {
		case event.RunStarted:
			r.Verb, r.File, r.Version, r.At = e.Verb, e.File, e.Version, rec.Time
		case event.PlanMade:
			r.At = rec.Time
		}
	}
	rec, err := journal.Last(dir)
	if err != nil || rec.Event == nil {
		return r
	}
	if !r.At.IsZero() {
		r.Took = rec.Time.Sub(r.At)
	}
	if e, ok := rec.Event.(event.RunEnded); ok {
		r.Outcome, r.Exit, r.Fault, r.Status = e.Outcome, e.Exit, e.Fault, statusOf(e.Outcome, r.Verb)
	}
	return r
}

// FindRun gives the run with the ID (or the beginning of one), the newest if it is "", among the runs of one cluster or
// of all.
func FindRun(ctx context.Context, st Store, cluster, run string) (request.Ref, error) {
	names := []string{cluster}
	if cluster == "" {
		var err error
		if names, err = st.Known(ctx); err != nil {
			return request.Ref{}, err
		}
	}
	var best request.Ref
	for _, name := range names {
		ids, err := idsOf(ctx, st, name)
		if err != nil && cluster != "" {
			return request.Ref{}, err
		}
		for _, id := range ids {
			if strings.HasPrefix(id, run) && id > best.Run {
				best = request.Ref{Cluster: name, Run: id}
			}
		}
	}
	if best.Run == "" && run == "" {
		return best, event.NewFault(event.ClassUsage, "usage.no-runs", nil, "dir", st.Where(), "cluster", cluster)
	}
	if best.Run == "" {
		return best, event.NewFault(event.ClassUsage, "usage.no-run", nil, "run", run, "dir", st.Where())
	}
	return best, nil
}

// idsOf are the IDs of a cluster's runs, oldest first.
func idsOf(ctx context.Context, st Store, cluster string) ([]string, error) {
	files, err := st.Read(ctx, cluster)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	return files.Journal().Runs()
}

// FindLogged gives the run with an ID, else the newest whose status is wanted ("" any; who wants interrupted ones takes
// those that failed, too), of a cluster or of all. It is the LastRun of what is returned.
func FindLogged(ctx context.Context, st Store, cluster, run, status string) (request.ClusterInfo, error) {
	var found request.ClusterInfo
	clusters, err := Clusters(ctx, st)
	if err != nil {
		return found, err
	}
	for _, c := range clusters {
		if cluster != "" && c.Name != cluster {
			continue
		}
		ids, err := idsOf(ctx, st, c.Name)
		if err != nil {
			return found, err
		}
		wanted := status == "" || c.Status == status || status == request.Interrupted && c.Status == request.Failed
		switch {
		case run != "" && slices.Contains(ids, run):
			c.LastRun = run
			return c, nil
		case run == "" && c.LastRun > found.LastRun && wanted:
			found = c
		}
	}
	if found.LastRun == "" && run == "" {
		return found, event.NewFault(event.ClassUsage, "logs.none", nil, "dir", st.Where())
	}
	if found.LastRun == "" {
		return found, event.NewFault(event.ClassUsage, "logs.no-run", nil, "run", run, "dir", st.Where())
	}
	return found, nil
}

// Install is a deploy that made a cluster.
type Install struct {
	Cluster string
	Nodes   int
	At      time.Time
	Took    time.Duration
}

// Installs are the newest deploys that ended well and did most of their steps: one that found the work done, or a part
// of it, says nothing of how long an install takes.
func Installs(ctx context.Context, st Store) []Install {
	var out []Install
	names, err := st.Known(ctx)
	if err != nil {
		return nil
	}
	for _, name := range names {
		files, err := st.Read(ctx, name)
		if err != nil {
			continue // of one that cannot be read nothing is learnt
		}
		runs := files.Journal()
		ids, _ := runs.Runs()
		for _, id := range ids {
			if runs.Verb(id) != string(request.VerbDeploy) {
				continue
			}
			if x, ok := install(runs.RunDir(id)); ok {
				x.Cluster = name
				out = append(out, x)
			}
		}
		files.Close()
	}
	slices.SortFunc(out, func(a, b Install) int { return b.At.Compare(a.At) })
	return out[:min(len(out), learnFrom)]
}

// install reads the plan and the end of a run's log.
func install(dir string) (Install, bool) {
	var x Install
	records, closeLog, err := journal.OpenReader(dir)
	if err != nil {
		return x, false
	}
	defer closeLog()
	steps := 0
	for steps == 0 {
		rec, err := records.Next()
		if err != nil {
			return x, false
		}
		if e, is := rec.Event.(event.PlanMade); is {
			x.At, x.Nodes, steps = rec.Time, len(e.Hosts), len(e.Steps)
			if steps == 0 {
				return x, false
			}
		}
	}
	rec, err := journal.Last(dir)
	if err != nil {
		return x, false
	}
	x.Took = rec.Time.Sub(x.At)
	e, is := rec.Event.(event.RunEnded)
	return x, is && e.Outcome == event.Changed && e.Exit == 0 && 2*e.Changed >= steps
}

// Usual learns how long steps take from the newest runs of the same verb before a run, of all clusters.
func Usual(ctx context.Context, st Store, ref request.Ref) state.History {
	type past struct{ id, dir string }
	var all []past
	verb := ""
	names, err := st.Known(ctx)
	if err != nil {
		return nil
	}
	if files, err := st.Read(ctx, ref.Cluster); err == nil {
		verb = files.Journal().Verb(ref.Run)
		files.Close()
	}
	for _, name := range names {
		files, err := st.Read(ctx, name)
		if err != nil {
			continue
		}
		runs := files.Journal()
		ids, _ := runs.Runs() // of one that cannot be read nothing is learnt
		for _, id := range ids {
			if id < ref.Run && runs.Verb(id) == verb {
				all = append(all, past{id, runs.RunDir(id)})
			}
		}
		files.Close()
	}
	slices.SortFunc(all, func(a, b past) int { return strings.Compare(b.id, a.id) })
	var states []*state.State
	for _, p := range all[:min(len(all), learnFrom)] {
		s := state.New()
		for rec, err := range journal.Read(p.dir) {
			if err != nil {
				break
			}
			s.Apply(rec)
		}
		states = append(states, s)
	}
	return state.Learn(states...)
}
