package host

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// statesTimeout bounds the time in which all machines report the states of their units.
const statesTimeout = 30 * time.Second

// UnitStates asks all nodes of a cluster for the states of their units at once. No user is asked for anything: a node
// that needs a typed password counts as one that does not answer. An error concerns all of them.
func (h *Host) UnitStates(
	ctx context.Context, c request.ClusterInfo,
) ([]operation.NodeResult[string], error) {
	if c.File == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, statesTimeout)
	defer cancel()
	q := request.Common{Source: request.Source{Cluster: c.Name}}
	return operation.UnitStates(ctx, q, h.Deps())
}

// Support writes the logs of a run, without secrets, to an archive, and returns its name and the names of its members.
// more has further texts by name.
func (h *Host) Support(
	ctx context.Context, cluster, run, file string, more func(request.ClusterInfo) map[string]string,
) (string, []string, error) {
	st := h.store()
	c, err := operation.FindLogged(ctx, st, cluster, run, "")
	if err != nil {
		return "", nil, err
	}
	file = cmp.Or(file, "eggo-support-"+c.Name+"-"+c.LastRun+".tar.gz")
	if exists(h.Path(file)) {
		return "", nil, event.NewFault(event.ClassUsage, "support.exists", nil, "file", file)
	}
	texts := operation.SupportTexts{Readme: fmt.Sprintf("%s\n\ncluster %s\nrun %s\n%s (%s/%s)\n",
		h.Printer().T("support.readme"), c.Name, c.LastRun, h.Program, runtime.GOOS, runtime.GOARCH)}
	if more != nil {
		texts.More = more(c)
	}
	var out bytes.Buffer
	names, err := operation.Support(ctx, st, request.Ref{Cluster: c.Name, Run: c.LastRun}, texts, &out)
	if err == nil {
		err = store.Create(h.Path(file), out.Bytes(), false)
	}
	return file, names, err
}
