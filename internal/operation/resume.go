package operation

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// Resume is the request that continues a run that did not end well: the newest, unless a cluster or a run is named.
// What the run had done is found out from the nodes, so that it is the cluster's own deploy.yaml once more, with the
// options of the run where given does not say otherwise. A join is a deploy of the longer file.
func Resume(
	ctx context.Context, st Store, cluster, run string, given request.Common,
) (q request.Request, err error) {
	c, err := FindLogged(ctx, st, cluster, run, request.Interrupted)
	if f := event.AsFault(err); f != nil && f.Code == "logs.none" {
		return q, event.NewFault(event.ClassUsage, "resume.nothing", nil)
	}
	if err != nil {
		return q, err
	}
	files, err := st.Read(ctx, c.Name)
	if err != nil {
		return q, err
	}
	defer files.Close()
	verb := files.Journal().Verb(c.LastRun)
	text, _, err := files.Config()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return q, event.NewFault(event.ClassUsage, "resume.no-file", nil, "verb", verb, "run", c.LastRun)
	case err != nil:
		return q, event.NewFault(event.ClassFailed, "state.read", err)
	case verb == string(request.VerbUpgrade):
		given.Source = request.Source{Cluster: c.Name}
		u := request.NewUpgrade(given).Continue(optionsOf(files.Journal(), c.LastRun))
		if b, err := upgrade.ReadBegun(files.Dir()); err == nil && b.Under() {
			u.Bundles = nil // it knows its own, and those that it has reached may be gone
		}
		return u, nil
	case verb == string(request.VerbBack):
		given.Source = request.Source{Cluster: c.Name}
		return request.Back{Common: given}.Continue(optionsOf(files.Journal(), c.LastRun)), nil
	case verb != string(request.VerbDeploy) && verb != string(request.VerbJoin):
		// What removes something is not continued by guessing: it may not be wanted any more.
		return q, event.NewFault(event.ClassUsage, "resume.by-hand", nil, "verb",
			strings.ReplaceAll(verb, "-", " "), "cluster", c.Name)
	}
	last, err := journal.Last(files.Journal().RunDir(c.LastRun))
	if err != nil {
		return q, err
	}
	if e, is := last.Event.(event.RunEnded); is && e.Reverted {
		return q, event.NewFault(event.ClassUsage, "resume.reverted", nil, "verb", verb, "run", c.LastRun)
	}
	kept, was, err := keptFile(text, files.Journal().RunDir(c.LastRun))
	if err != nil {
		return q, err
	}
	if !kept {
		return q, event.NewFault(event.ClassUsage, "resume.not-begun", nil, "verb", verb, "run", c.LastRun)
	}
	given.Source = request.Source{Cluster: c.Name}
	return request.Deploy{Common: given.Continue(was)}, nil
}

// keptFile says whether the deploy.yaml of a run is the cluster's own: it became so when preflight had passed, if it
// was not before. was are the options that the run was begun with.
func keptFile(text []byte, run string) (kept bool, was *event.RunOptions, err error) {
	own := digest(text)
	preflight := map[string]bool{}
	for rec, err := range journal.Read(run) {
		if err != nil {
			return false, nil, err
		}
		switch e := rec.Event.(type) {
		case event.RunStarted:
			was = e.Options
			if e.Config == own {
				return true, was, nil
			}
		case event.PlanMade:
			for _, step := range e.Steps {
				preflight[step.ID] = step.Phase == "preflight"
			}
		case event.StepStarted:
			before, planned := preflight[e.Step]
			if !planned { // a log without its plan
				before = strings.HasPrefix(e.Step, "preflight.")
			}
			if !before {
				return true, was, nil
			}
		}
	}
	return false, was, nil
}

// LastOptions are those of a cluster's newest run, for who continues it; nil when there are none.
func LastOptions(ctx context.Context, st Store, cluster string) *event.RunOptions {
	files, err := st.Read(ctx, cluster)
	if err != nil {
		return nil
	}
	defer files.Close()
	return lastOptions(files.Journal(), "")
}

// lastOptions are those of the newest run with a verb, or of any if it is "".
func lastOptions(runs *journal.Cluster, verb request.Verb) *event.RunOptions {
	run, err := runs.Latest(string(verb))
	if err != nil || run == "" {
		return nil
	}
	return optionsOf(runs, run)
}

// optionsOf are those of a run.
func optionsOf(runs *journal.Cluster, run string) *event.RunOptions {
	for rec, err := range journal.Read(runs.RunDir(run)) {
		e, ok := rec.Event.(event.RunStarted)
		if err != nil || !ok {
			break
		}
		return e.Options
	}
	return nil
}
