package operation

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

// Clusters are those that a store knows of, by name. None is no error.
func Clusters(ctx context.Context, st Store) ([]request.ClusterInfo, error) {
	var out []request.ClusterInfo
	err := eachCluster(ctx, st, func(c request.ClusterInfo, _ *config.Cluster, _ Files) { out = append(out, c) })
	return out, err
}

// AddKubernetes fills in the version of Kubernetes of clusters, from the bundles that their deploy.yaml names.
func AddKubernetes(clusters []request.ClusterInfo, bundles Bundles) {
	for i, c := range clusters {
		if c.File == "" {
			continue
		}
		if conf, _, err := config.LoadFile(c.File); err == nil && conf != nil {
			clusters[i].Kubernetes = kubernetesOf(conf, c.File, bundles)
		}
	}
}

// Overview returns all clusters with their runs.
func Overview(ctx context.Context, st Store) ([]request.ClusterRuns, error) {
	var out []request.ClusterRuns
	err := eachCluster(ctx, st, func(info request.ClusterInfo, conf *config.Cluster, files Files) {
		c := request.ClusterRuns{ClusterInfo: info}
		if conf != nil {
			c.Nodes = conf.Nodes
		}
		if files != nil {
			c.Runs, _ = runsOf(files.Journal(), info.Name) // one that cannot be read has none
		}
		if len(c.Runs) > 0 && c.Runs[0].Run == c.LastRun {
			c.Runs[0].Waits = c.Waits
		}
		if c.File == "" && len(c.Runs) > 0 {
			c.Tried = tried(c.Runs[0], files.Journal())
		}
		out = append(out, c)
	})
	return out, err
}

func tried(r request.Run, runs *journal.Cluster) string {
	for _, path := range []string{r.File, filepath.Join(runs.RunDir(r.Run), "deploy.yaml")} {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// eachCluster goes through the clusters of a store. The files are nil, and the fault says why, where a newer program
// has changed them; the deploy.yaml is nil where there is none, or none that is valid.
func eachCluster(ctx context.Context, st Store, use func(request.ClusterInfo, *config.Cluster, Files)) error {
	names, err := st.Known(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := request.ClusterInfo{Type: "cluster", Name: name, Status: request.Unknown}
		files, err := st.Read(ctx, name)
		if f := event.AsFault(err); f != nil && f.Code == "state.newer-format" {
			c.Fault = f
			use(c, nil, nil)
			continue
		}
		if err != nil {
			continue
		}
		conf := describe(&c, files)
		use(c, conf, files)
		if err := files.Close(); err != nil {
			return err
		}
	}
	return nil
}

// describe fills in what the files of a cluster say.
func describe(c *request.ClusterInfo, files Files) *config.Cluster {
	text, path, err := files.Config()
	if !errors.Is(err, fs.ErrNotExist) {
		c.File = path
	}
	var conf *config.Cluster
	if err == nil {
		conf, _ = config.Load(text, path)
	}
	if conf != nil {
		c.Masters, c.Workers = len(conf.With(bundle.ControlPlane)), len(conf.With(bundle.Worker))
	}
	if b, err := upgrade.ReadBegun(files.Dir()); err == nil && b.Under() {
		c.Upgrade = &request.Upgrading{
			From: b.From, To: b.Hops[0].Version, Target: b.Hops[len(b.Hops)-1].Version, Soak: b.Soak,
			Committed: b.OnlyForward(), OneWay: b.OneWay, Snapshot: b.Snapshot,
		}
	}
	lastRun(c, files.Journal())
	addMoved(c, files.Dir())
	return conf
}

// Cluster says of one cluster what Clusters does. One that nobody knows is unknown.
func Cluster(ctx context.Context, st Store, name string) (request.ClusterInfo, error) {
	c := request.ClusterInfo{Type: "cluster", Name: name, Status: request.Unknown}
	files, err := st.Read(ctx, name)
	if err != nil {
		return c, err
	}
	describe(&c, files)
	return c, files.Close()
}

// lastRun fills in what the last run of the cluster was and how it ended. One that changes nothing, as a backup, does
// not hide another one before it that did not end well: that is what the cluster waits for.
func lastRun(c *request.ClusterInfo, runs *journal.Cluster) {
	ids, err := runs.Runs()
	if err != nil || len(ids) == 0 {
		return
	}
	last := len(ids) - 1
	if request.Verb(runs.Verb(ids[last])).LeavesStateAlone() && !runs.Writing(ids[last]) {
		for i := last - 1; i >= 0; i-- {
			if request.Verb(runs.Verb(ids[i])).LeavesStateAlone() {
				continue
			}
			before := *c
			aRun(&before, runs, ids[i])
			if before.Status == request.Interrupted || before.Status == request.Failed {
				*c = before
				return
			}
			break
		}
	}
	aRun(c, runs, ids[last])
}

// aRun fills in what a run of the cluster was and how it ended.
func aRun(c *request.ClusterInfo, runs *journal.Cluster, id string) {
	c.LastRun = id
	var ended *event.RunEnded
	busy, now := runs.Writing(c.LastRun), state.New()
	for rec, err := range journal.Read(runs.RunDir(c.LastRun)) {
		if f := event.AsFault(err); f != nil {
			if f.Code == "journal.newer-format" {
				c.Fault = f
				return
			}
			break
		}
		if busy {
			now.Apply(rec)
		}
		switch e := rec.Event.(type) {
		case event.RunStarted:
			c.Verb, c.Version, c.At = e.Verb, e.Version, rec.Time
		case event.RunEnded:
			ended = &e
		}
	}
	switch {
	case ended == nil && busy:
		c.Status = request.Running
		for _, q := range now.Open {
			c.Waits = append(c.Waits, request.Wait{
				Step: q.Step.ID, Node: q.Step.Host, Since: q.Since, Fault: &q.Fault, Title: q.Step.Title,
			})
		}
	case ended == nil:
		c.Status = request.Interrupted
	case ended.Reverted && c.File != "": // the cluster is what it was before
		c.Status = request.Installed
	case ended.Reverted:
		c.Status = request.Removed
	default:
		c.Status = statusOf(ended.Outcome, c.Verb)
	}
}

// statusOf is what a run that has ended leaves behind.
func statusOf(o event.Outcome, verb string) string {
	switch {
	case o == event.Interrupted:
		return request.Interrupted
	case !o.Done():
		return request.Failed
	case verb == string(request.VerbCleanup):
		return request.Removed
	}
	return request.Installed
}

// How far back, and how far into a run's log, RecordedBundles goes. Bundles are decided about in a run's first steps.
const (
	recordedRuns   = 50
	recordedEvents = 20000
	// trustKeys begin the keys of what is logged of bundles that were decided about.
	trustKeys = "trust."
)

// RecordedBundles are those of the newest run of a cluster that installed from some, as its log has them.
func RecordedBundles(ctx context.Context, st Store, cluster string) ([]event.Msg, error) {
	files, err := st.Read(ctx, cluster)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	runs := files.Journal()
	ids, err := runs.Runs()
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Backward(ids[max(0, len(ids)-recordedRuns):]) {
		var out []event.Msg
		n := 0
		for rec, err := range journal.Read(runs.RunDir(id)) {
			if n++; err != nil || n > recordedEvents {
				break
			}
			if e, ok := rec.Event.(event.Notice); ok && strings.HasPrefix(e.Text.Key, trustKeys) {
				out = append(out, e.Text)
			}
		}
		if len(out) > 0 {
			return out, nil
		}
	}
	return nil, nil
}
