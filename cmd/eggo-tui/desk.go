package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/control"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/journal"
)

// desk is what the screen knows of this machine and can begin on it.
type desk struct {
	env   *environment
	state string // --state-dir

	mu    sync.Mutex
	known map[string]map[string]string // answers of the person by cluster, while the screen is open: who goes on is not asked again
}

// answered gives what the person has answered about a cluster.
func (d *desk) answered(cluster string) map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.known[cluster])
}

// remember keeps the answers that led to every machine; nil forgets them.
func (d *desk) remember(cluster string, answers map[string]string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known = map[string]map[string]string{}
	}
	d.known[cluster] = maps.Clone(answers)
}

// learn remembers the answers if they led somewhere and were refused nowhere; who refuses them is asked about anew.
func (d *desk) learn(cluster string, a *screenAsker) {
	answers := a.answers()
	a.mu.Lock()
	opened, refused := a.opened, a.refused
	a.mu.Unlock()
	switch {
	case cluster == "":
	case refused > 0:
		d.remember(cluster, nil)
	case opened > 0:
		d.remember(cluster, answers)
	}
}

func (d *desk) services() backend.Services {
	return backend.Services{Clusters: d.clusters, Open: d.open, Launch: d.launch, Tell: d.tell, List: d.list, Check: d.check, Bundle: d.look, Verify: d.verify}
}

func (d *desk) root() string { return stateRoot(d.env, d.state) }

// clusters are those of the state directory with their runs.
func (d *desk) clusters(ctx context.Context) ([]backend.Cluster, error) {
	all, err := knownClusters(d.root())
	if err != nil {
		return nil, err
	}
	var out []backend.Cluster
	for _, k := range all {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		c := backend.Cluster{Name: k.Name, Status: k.Status, Masters: k.Masters, Workers: k.Workers, File: k.File}
		if k.File != "" {
			if conf, _, err := config.LoadFile(k.File); err == nil && conf != nil {
				c.Nodes = deskNodes(conf.Nodes)
			}
		}
		if store, err := journal.At(d.root(), k.Name); err == nil {
			c.Runs = deskRuns(store, k.Name)
			if len(c.Runs) > 0 && c.Runs[0].Run == k.LastRun {
				for _, w := range k.Waits {
					c.Runs[0].Waits = append(c.Runs[0].Waits, backend.Wait{Node: w.Node, Step: w.Title, Since: w.Since, Fault: w.Fault})
				}
			}
			if c.File == "" && len(c.Runs) > 0 {
				c.Tried = tried(c.Runs[0], store)
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// tried is the deploy.yaml of a run that kept none: the file that it was begun with, else its copy.
func tried(r backend.Run, store *journal.Cluster) string {
	for _, path := range []string{r.File, filepath.Join(store.RunDir(r.Run), savedName)} {
		if path != "" && exists(path) {
			return path
		}
	}
	return ""
}

func deskNodes(nodes []config.Node) []backend.Node {
	var out []backend.Node
	for _, n := range nodes {
		x := backend.Node{Name: n.Name, Addr: n.IP.String(), Arch: n.Arch}
		for _, r := range n.Roles {
			x.Roles = append(x.Roles, string(r))
		}
		out = append(out, x)
	}
	return out
}

// deskRuns are a cluster's runs, newest first.
func deskRuns(store *journal.Cluster, cluster string) []backend.Run {
	ids, err := store.Runs()
	if err != nil {
		return nil
	}
	var out []backend.Run
	for _, id := range slices.Backward(ids) {
		r := runInfo(store.RunDir(id))
		r.Ref = backend.Ref{Cluster: cluster, Run: id}
		if r.Verb == "" {
			r.Verb = store.Verb(id)
		}
		if r.Status == "" {
			r.Status = backend.Interrupted
			if store.Writing(id) {
				r.Status = backend.Running
			}
		}
		out = append(out, r)
	}
	return out
}

// runInfo reads the beginning and the end of a run's log: it may be large. Status is "" when the log has no end.
func runInfo(dir string) backend.Run {
	var r backend.Run
	f, err := os.Open(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		return r
	}
	defer f.Close()
	for records := journal.NewReader(f, f.Name()); r.At.IsZero(); { // a join asks machines what they are before its plan is made
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
	rec, ok := lastRecord(f)
	if !ok {
		return r
	}
	if !r.At.IsZero() {
		r.Took = rec.Time.Sub(r.At)
	}
	if e, ok := rec.Event.(event.RunEnded); ok {
		r.Exit, r.Fault = e.Exit, e.Fault
		switch {
		case e.Outcome == event.Interrupted:
			r.Status = backend.Interrupted
		case !e.Outcome.Done():
			r.Status = backend.Failed
		case r.Verb == "cleanup":
			r.Status = backend.Removed
		default:
			r.Status = backend.Installed
		}
	}
	return r
}

// lastRecord is the last whole line of a log, if it is in the last part of it; that connections were closed afterwards is nothing of the run.
func lastRecord(f *os.File) (event.Record, bool) {
	const part = 256 << 10
	i, err := f.Stat()
	if err != nil {
		return event.Record{}, false
	}
	buf := make([]byte, min(part, i.Size()))
	if _, err := f.ReadAt(buf, i.Size()-int64(len(buf))); err != nil && !errors.Is(err, io.EOF) {
		return event.Record{}, false
	}
	var last event.Record
	found := false
	for end := bytes.LastIndexByte(buf, '\n'); end >= 0; {
		begin := bytes.LastIndexByte(buf[:end], '\n')
		if begin < 0 && i.Size() > part { // the rest of a line
			break
		}
		rec, err := event.DecodeLenient(buf[begin+1 : end])
		if err != nil {
			break
		}
		if !found {
			last, found = rec, true
		}
		if _, closed := rec.Event.(event.HostState); !closed {
			if _, ended := rec.Event.(event.RunEnded); ended {
				last = rec
			}
			break
		}
		end = begin
	}
	return last, found
}

// open is the board of a run.
func (d *desk) open(_ context.Context, r backend.Ref, replay float64) (backend.Board, error) {
	store, err := journal.At(d.root(), r.Cluster)
	if err != nil {
		return backend.Board{}, err
	}
	return openBoard(d.env, store, r.Run, replay)
}

// openBoard gives the board of a run from its directory: its log as it grows, the machines' logs, and the way to the process that does it.
func openBoard(env *environment, c *journal.Cluster, id string, replay float64) (backend.Board, error) {
	dir := c.RunDir(id)
	log, err := os.Open(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		return backend.Board{}, event.NewFault(event.ClassFailed, "journal.read", err, "path", dir)
	}
	records := journal.NewReader(log, log.Name())
	files := []*os.File{log}
	alive := func() bool { return c.Writing(id) }
	o := backend.Board{Feed: &backend.Live{From: records, Alive: alive}}
	if alive() {
		o.Control = control.Client{Dir: dir}
	}
	opened := make(chan *os.File, 1024) // NodeLog is called in commands
	o.NodeLog = func(host string) (backend.NodeLog, error) {
		f, err := os.Open(filepath.Join(dir, journal.NodeLog(host)))
		if errors.Is(err, fs.ErrNotExist) {
			return backend.LogText(""), nil
		}
		if err != nil {
			return nil, err
		}
		select {
		case opened <- f:
		default: // the program's end closes it
		}
		return backend.LogFile{File: f}, nil
	}
	o.Close = func() {
		for {
			select {
			case f := <-opened:
				f.Close()
				continue
			default:
			}
			break
		}
		for _, f := range files {
			f.Close()
		}
	}
	if replay > 0 {
		o.Replay = backend.NewReplay(records, replay, time.Now)
		o.Feed, o.Control = o.Replay, nil
	}
	boardActs(env, c, id, &o)
	return o, nil
}

// ascii says whether only ASCII is to be drawn, and whether it is for the Linux console, whose fonts have no more.
func ascii(env *environment, flag bool) (yes, console bool) {
	switch v := env.Getenv("EGGO_ASCII"); {
	case flag || v != "" && v != "0":
		return true, false
	case v == "0": // serial lines and some programs say linux and can do more
		return false, false
	}
	wide := cmp.Or(env.Getenv("RUNEWIDTH_EASTASIAN"), "0") != "0"
	return wide || env.Getenv("TERM") == "linux", env.Getenv("TERM") == "linux"
}
