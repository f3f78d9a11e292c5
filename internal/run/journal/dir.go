// Package journal keeps runs on disk: a directory for each, with the event log, a log for each node, and a lock on the
// cluster that only one run can hold. What is in the event log has happened; a run that was cut off anywhere goes on
// from there.
//
//	<state>/<cluster>/format               of all that is in the directory
//	<state>/<cluster>/lock, lock.json      who works on the cluster
//	<state>/<cluster>/runs/<run>/events.jsonl
//	<state>/<cluster>/runs/<run>/nodes/<node>.log, jump-host.log
//
// Directories are 0700, files 0600. The package decides nothing about steps.
package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// KeepRuns is how many runs of a cluster are kept, and how many of each verb that is counted by itself.
const KeepRuns = 20

const (
	eventsFile = "events.jsonl"
	idTime     = "20060102T150405Z"
)

var (
	runID   = regexp.MustCompile(`^\d{8}T\d{6}Z-[a-z]+(-[a-z]+)*$`)
	okVerb  = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	okNames = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
)

// StateDir is where clusters are kept on the jump host: /var/lib/eggo for root, else eggo in the XDG state directory.
func StateDir(getenv func(string) string, euid int) string {
	if euid == 0 {
		return "/var/lib/eggo"
	}
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) { // the specification: relative paths are to be ignored
		return filepath.Join(dir, "eggo")
	}
	return filepath.Join(getenv("HOME"), ".local", "state", "eggo")
}

// Cluster is the directory of one cluster.
type Cluster struct {
	path string
}

// Open makes the cluster's directory, if it is not there, and gives it. The faults are journal.bad-cluster and
// journal.open.
func Open(state, name string) (*Cluster, error) {
	c, err := At(state, name)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(c.path, "runs"), 0o700); err != nil {
		return nil, fault("journal.open", c.path, err)
	}
	if err := c.markFormat(); err != nil {
		return nil, fault("journal.open", c.path, err)
	}
	return c, nil
}

// At is Open for those who only read: nothing is made. A name that the state directory uses itself is the fault
// journal.reserved. A directory that a newer program has changed in a way that this
// one does not know is the fault state.newer-format.
func At(state, name string) (*Cluster, error) {
	if !okNames.MatchString(name) {
		return nil, event.NewFault(event.ClassUsage, "journal.bad-cluster", nil, "cluster", name)
	}
	c := &Cluster{filepath.Join(state, name)}
	if slices.Contains(reserved(), name) && !c.isCluster() {
		return nil, event.NewFault(event.ClassUsage, "journal.reserved", nil, "cluster", name)
	}
	return c, c.checkFormat()
}

// reserved are names of what a state directory has beside its clusters: unpacked bundles, the signers that are trusted,
// and the draft of the wizard with its host keys. A cluster of that name from before they were reserved keeps it.
func reserved() []string {
	return []string{"bundles", "allowed_signers", "draft.json", "draft.known_hosts"}
}

// isCluster reports whether the directory has what only that of a cluster has.
func (c *Cluster) isCluster() bool {
	for _, name := range []string{"runs", "deploy.yaml"} {
		if _, err := os.Stat(filepath.Join(c.path, name)); err == nil {
			return true
		}
	}
	return false
}

// Path of the cluster's directory.
func (c *Cluster) Path() string { return c.path }

// RunDir is the directory of a run of this cluster.
func (c *Cluster) RunDir(id string) string { return filepath.Join(c.path, "runs", id) }

// Runs lists the IDs of the cluster's runs, oldest first.
func (c *Cluster) Runs() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(c.path, "runs"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fault("journal.read", c.path, err)
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && runID.MatchString(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	sort.Strings(ids)
	return ids, nil
}

// Latest is the ID of the newest run with that verb (any if ""), "" if there is none.
func (c *Cluster) Latest(verb string) (string, error) {
	ids, err := c.Runs()
	for i := len(ids) - 1; i >= 0; i-- {
		if verb == "" || c.Verb(ids[i]) == verb {
			return ids[i], nil
		}
	}
	return "", err
}

// NewRun makes the directory of a new run and opens its log. Its ID is the time and the verb, like
// 20261121T101530Z-deploy, and sorts after all that are there, also when the clock was set back. Old runs beyond
// KeepRuns are removed: those of each of the verbs apart are counted by themselves, since there may be many of them,
// and all others together. Hold the cluster's lock.
func (c *Cluster) NewRun(verb string, now time.Time, apart ...string) (*Writer, error) {
	if !okVerb.MatchString(verb) {
		return nil, fault("journal.open", c.path, fmt.Errorf("%q is no verb", verb))
	}
	ids, err := c.Runs()
	if err != nil {
		return nil, err
	}
	now = now.UTC().Truncate(time.Second)
	if len(ids) > 0 {
		stamp, _, _ := strings.Cut(ids[len(ids)-1], "-")
		if last, err := time.Parse(idTime, stamp); err == nil && !now.After(last) {
			now = last.Add(time.Second)
		}
	}
	id := now.Format(idTime) + "-" + verb
	w, err := create(c.RunDir(id))
	if err != nil {
		return nil, fault("journal.open", c.RunDir(id), err)
	}
	w.id = id
	writeRunFile(c.RunDir(id), verb)
	for _, old := range ids { // of runs that were killed
		dropReserve(c.RunDir(old))
	}
	makeReserve(c.RunDir(id))
	c.prune(append(ids, id), KeepRuns, apart)
	return w, nil
}

// prune removes all but the newest runs of the verbs apart, each by itself, and of all others. Only directories that
// NewRun made have such names and an event log in them. One that cannot be removed stays, and is tried again by the
// next run: it is no reason to stop this one.
func (c *Cluster) prune(ids []string, keep int, apart []string) {
	newer := map[string]int{}
	for _, id := range slices.Backward(ids) {
		verb := c.Verb(id)
		if !slices.Contains(apart, verb) {
			verb = ""
		}
		if newer[verb]++; newer[verb] <= keep {
			continue
		}
		dir := c.RunDir(id)
		if _, err := os.Lstat(filepath.Join(dir, eventsFile)); err == nil {
			_ = os.RemoveAll(dir)
		}
	}
}

func fault(code, path string, err error) *event.Fault {
	return event.NewFault(event.ClassFailed, code, err, "path", path)
}

// syncDir makes names in a directory last.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
