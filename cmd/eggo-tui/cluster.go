package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/host"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// named holds the flags of a command line that select its cluster.
type named struct {
	file string // -f, where that is a deploy.yaml
	id   string // --id
	// fileless: the verb has no -f, or another file with it.
	fileless bool
}

// source returns where the deploy.yaml of a verb comes from, in the one order for all verbs: -f, --id, the only cluster
// of the state directory, ~/.eggo/deploy.yaml. Verbs that destroy call needsCluster first: they have no default.
func (env *environment) source(ctx context.Context, n named) (src request.Source, err error) {
	st, usual := env.stateStore(), host.UsualConfig(env.Getenv)
	switch {
	case n.id != "":
		return request.Source{Cluster: n.id}, nil
	case n.file != "":
		if src.File, err = filepath.Abs(n.file); err != nil {
			return src, event.NewFault(event.ClassUsage, "config.unreadable", err, "file", n.file)
		}
		return src, nil
	}
	only, err := operation.OnlyCluster(ctx, st, "")
	f := event.AsFault(err)
	switch {
	case err == nil:
		if !n.fileless && exists(usual) {
			fmt.Fprintln(env.Stderr, env.P.T("cluster.only", "cluster", only, "dir", st.Root, "file", usual))
		}
		return request.Source{Cluster: only}, nil
	case f.Code != "usage.which-cluster" && !withoutConfig(f):
		return src, err
	case exists(usual):
		return request.Source{File: usual}, nil
	case f.Code == "usage.no-clusters" && !n.fileless:
		return src, event.NewFault(event.ClassUsage, "usage.no-source", nil, "dir", st.Root, "file", usual)
	}
	return src, err
}

// withoutConfig reports whether a fault says that the state directory has no deploy.yaml.
func withoutConfig(f *event.Fault) bool {
	return slices.Contains([]string{"usage.no-clusters", "usage.none-installed", "usage.not-installed",
		"usage.removed"}, f.Code)
}

// cluster returns the name of the cluster that a verb reads from the state directory, by the order of source.
func (env *environment) cluster(ctx context.Context, id string) (string, error) {
	if id != "" {
		return id, env.knows(ctx, id)
	}
	if _, err := env.existing(); err != nil {
		return "", err
	}
	src, err := env.source(ctx, named{fileless: true})
	if err != nil || src.Cluster != "" {
		return src.Cluster, err
	}
	c, problems, err := config.LoadFile(src.File)
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return "", err
	}
	return c.Name, env.knows(ctx, c.Name)
}

// knows reports a cluster that the state directory does not have; "" is none in particular.
func (env *environment) knows(ctx context.Context, id string) error {
	st, err := env.existing()
	if err != nil || id == "" {
		return err
	}
	known, err := st.Known(ctx)
	switch {
	case err != nil || slices.Contains(known, id):
		return err
	case len(known) == 0:
		return event.NewFault(event.ClassUsage, "usage.none-of-that-name", nil, "cluster", id, "dir", st.Root)
	}
	return event.NewFault(event.ClassUsage, "usage.no-cluster", nil, "cluster", id, "dir", st.Root, "known",
		strings.Join(known, ", "))
}

// mostCandidates is how many command lines needsCluster lists.
const mostCandidates = 5

// needsCluster refuses a verb that destroys whose command line does not name the cluster, and lists the command lines
// that do.
func (env *environment) needsCluster(ctx context.Context, verb string, n named) error {
	if n.file != "" || n.id != "" {
		return nil
	}
	st := env.stateStore()
	known, err := st.Clusters(ctx)
	if err != nil {
		return err
	}
	var lines []string
	for _, c := range known {
		lines = append(lines, env.typed()+" --id "+shell.Quote(c))
	}
	if usual := host.UsualConfig(env.Getenv); exists(usual) {
		lines = append(lines, env.typed()+" -f "+shell.Quote(usual))
	}
	if len(lines) == 0 {
		return operation.Unconfigured(ctx, st, "")
	}
	if len(lines) > mostCandidates {
		lines = append(lines[:mostCandidates], "…")
	}
	return event.NewFault(event.ClassUsage, "usage.cluster-needed", nil, "verb", verb, "commands",
		event.Clean(strings.Join(lines, "; ")))
}

// typed is the command line that this process was started with.
func (env *environment) typed() string {
	words := []string{programName(env.Args)}
	for _, arg := range env.Args[min(1, len(env.Args)):] {
		words = append(words, shell.Quote(arg))
	}
	return strings.Join(words, " ")
}

// stateRoot is --state-dir, or the user's.
func (env *environment) stateRoot() string {
	return cmp.Or(env.State, journal.StateDir(env.Getenv, os.Geteuid()))
}

// stateStore has the clusters of the state directory.
func (env *environment) stateStore() store.Dir { return store.Dir{Root: env.stateRoot()} }

// existing is stateStore for verbs that only read it: what --state-dir names must exist, and be a directory.
func (env *environment) existing() (store.Dir, error) {
	st := env.stateStore()
	if env.State == "" {
		return st, nil
	}
	info, err := os.Stat(st.Root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return st, event.NewFault(event.ClassUsage, "usage.no-state-dir", nil, "dir", env.State)
	case err == nil && !info.IsDir():
		err = &fs.PathError{Op: "open", Path: st.Root, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return st, event.NewFault(event.ClassUsage, "state.read", err)
	}
	return st, nil
}
