package store

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// stagesName in a cluster's directory says which unpacked bundles its last run that ended well used.
const stagesName = "stages.json"

type stagesDoc struct {
	Stages []string `json:"stages"`
}

// KeepStages implements operation.Files.
func (f *files) KeepStages(ids []string) error {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	text, err := json.Marshal(stagesDoc{slices.Compact(ids)})
	if err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(f.dir, stagesName), append(text, '\n'), 0o600)
}

// Stages implements operation.Store: those that the last run of each installed cluster used, and those of the bundles
// that their own deploy.yaml names, and the upgrade under way. An error says that it cannot be told which they are:
// then all may be in use.
func (d Dir) Stages(context.Context) ([]string, error) {
	entries, err := os.ReadDir(d.Root)
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	var out []string
	for _, e := range entries {
		_, err := journal.At(d.Root, e.Name())
		if f := event.AsFault(err); f != nil && (f.Code == "state.newer-format" || f.Code == "journal.read") {
			return nil, err
		}
		dir := filepath.Join(d.Root, e.Name())
		if !e.IsDir() || !isThere(filepath.Join(dir, ConfigName)) { // after a cleanup it has another name
			continue
		}
		used, err := stagesOf(dir)
		if err != nil {
			return nil, err
		}
		out = append(out, used...)
	}
	return out, nil
}

// stagesOf are those of a cluster's directory. What neither its last run wrote down nor its deploy.yaml says is
// unknown.
func stagesOf(dir string) ([]string, error) {
	unknown := func(err error) error { return event.NewFault(event.ClassFailed, "state.read", err) }
	var doc stagesDoc
	text, err := os.ReadFile(filepath.Join(dir, stagesName))
	noted := err == nil
	if noted {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unknown(err)
	}
	file := filepath.Join(dir, ConfigName)
	c, _, err := config.LoadFile(file)
	if err == nil && c == nil {
		err = errors.New(file)
	}
	if err != nil {
		if noted {
			return doc.Stages, nil
		}
		return nil, unknown(err)
	}
	begun, err := upgrade.ReadBegun(dir)
	if err != nil {
		return nil, err
	}
	sources := c.Bundles()
	for _, hop := range begun.Hops {
		sources = append(sources, (&config.Cluster{Source: hop.Source}).Bundles()...)
	}
	for _, source := range sources {
		a, err := bundle.Open(source.Path)
		if err == nil {
			doc.Stages = append(doc.Stages, a.ID())
		} else if !noted {
			return nil, err
		}
	}
	return doc.Stages, nil
}
