// Package host implements backend.Services and backend.DraftServices for the control host, by operations on its state
// directory: clusters and their runs, boards, drafts, files. It asks questions through the front end, and knows neither
// flags nor a terminal. Screen and server use it alike. It may import the interfaces that it implements and the
// packages that operation imports.
package host

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"strings"
	"sync"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// Host is this control host to its front ends.
type Host struct {
	Root    string // the state directory of all clusters
	Dir     string // absolute: relative paths are below it, and what is saved for the user is put there
	Getenv  func(string) string
	Printer func() *i18n.Printer // of what is written for people to read later
	Program string               // and its version, for a support archive
	// Deps returns those of operations on Root: no user is asked, and nothing is printed.
	Deps func() operation.Deps
	// Launcher starts processes of runs on Root.
	Launcher func() operation.Launcher

	mu sync.Mutex
	// answers of the user by cluster, while a front end is open: to continue asks nothing again
	known map[string]map[string]string
}

// UsualConfig returns the path of a user's deploy.yaml: ~/.eggo/deploy.yaml.
func UsualConfig(getenv func(string) string) string {
	return filepath.Join(homeOf(getenv), ".eggo", "deploy.yaml")
}

// Path returns a typed path as an absolute one; "": the directory of the host.
func (h *Host) Path(typed string) string {
	if rest, ok := strings.CutPrefix(typed, "~/"); ok || typed == "~" {
		return filepath.Join(h.home(), rest)
	}
	if filepath.IsAbs(typed) {
		return filepath.Clean(typed)
	}
	return filepath.Join(h.Dir, typed)
}

// home is the user's home directory.
func (h *Host) home() string { return homeOf(h.Getenv) }

func homeOf(getenv func(string) string) string { return cmp.Or(getenv("HOME"), "/root") }

func (h *Host) store() store.Dir { return store.Dir{Root: h.Root} }

// answered returns the user's answers about a cluster.
func (h *Host) answered(cluster string) map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.known[cluster])
}

// remember keeps the answers that led to every machine; nil forgets them.
func (h *Host) remember(cluster string, answers map[string]string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil {
		h.known = map[string]map[string]string{}
	}
	h.known[cluster] = maps.Clone(answers)
}

// learn remembers the answers if they led somewhere and were refused nowhere; who refuses them is asked about again.
func (h *Host) learn(cluster string, a *asker) {
	answers := a.memory.Secrets()
	a.mu.Lock()
	opened, refused := a.opened, a.refused
	a.mu.Unlock()
	switch {
	case cluster == "":
	case refused > 0:
		h.remember(cluster, nil)
	case opened > 0:
		h.remember(cluster, answers)
	}
}

// Clusters returns those of the state directory with their runs.
func (h *Host) Clusters(ctx context.Context) ([]request.ClusterRuns, error) {
	return operation.Overview(ctx, h.store())
}
