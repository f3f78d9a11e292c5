package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/journal"
)

// stagesName in a cluster's directory says which unpacked bundles its last run that ended well used.
const stagesName = "stages.json"

type stagesDoc struct {
	Stages []string `json:"stages"`
}

// stagesDir is where bundles are unpacked for all clusters.
func (s *session) stagesDir() string { return filepath.Join(s.root, "bundles") }

// used remembers a stage for as long as the run goes on.
func (s *session) used(b *bundle.Staged) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unpacked = append(s.unpacked, b)
}

// releaseStages lets others prune what this session used.
func (s *session) releaseStages() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.unpacked {
		b.Release()
	}
}

// pruneStages removes, after a run that ended well, the unpacked bundles that no cluster uses any more, and says so in the log. That it
// cannot is no fault of the run.
func (s *session) pruneStages() error {
	err := s.keepStages()
	var gone []bundle.Pruned
	if err == nil {
		var keep []string
		if keep, err = stagesInUse(s.root); err == nil {
			gone, err = bundle.Prune(s.stagesDir(), keep)
		}
	}
	if len(gone) > 0 {
		bytes := int64(0)
		for _, g := range gone {
			bytes += g.Bytes
		}
		text := event.M("notice.stages-pruned", "count", strconv.Itoa(len(gone)), "size", strconv.FormatInt((bytes+1<<20-1)>>20, 10)+" MiB")
		if err := s.bus.Emit(event.Notice{Text: text}); err != nil {
			return err
		}
	}
	if err != nil {
		return s.bus.Emit(event.Notice{Text: event.M("notice.stages-kept", "cause", event.Clean(err.Error()))})
	}
	return nil
}

// keepStages writes down which stages the cluster uses, if this run used any.
func (s *session) keepStages() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unpacked) == 0 {
		return nil
	}
	var doc stagesDoc
	for _, b := range s.unpacked {
		if !slices.Contains(doc.Stages, b.ID()) {
			doc.Stages = append(doc.Stages, b.ID())
		}
	}
	slices.Sort(doc.Stages)
	text, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(s.dir, stagesName), append(text, '\n'), 0o600)
}

// stagesInUse are the stages of all clusters that are installed: those that their last run used, and those of the bundles that their own
// deploy.yaml names. An error says that it cannot be told which they are: then all may be in use.
func stagesInUse(root string) ([]string, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	var out []string
	for _, e := range entries {
		_, err := journal.At(root, e.Name())
		if f := event.AsFault(err); f != nil && (f.Code == "state.newer-format" || f.Code == "journal.read") {
			return nil, err
		}
		file := filepath.Join(root, e.Name(), savedName)
		if !e.IsDir() || !exists(file) { // after a cleanup it has another name
			continue
		}
		used, err := stagesOf(filepath.Join(root, e.Name()), file)
		if err != nil {
			return nil, err
		}
		out = append(out, used...)
	}
	return out, nil
}

// stagesOf are those of a cluster's directory. What neither its last run wrote down nor its deploy.yaml says is unknown.
func stagesOf(dir, file string) ([]string, error) {
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
	for _, source := range c.Bundles() {
		a, err := bundle.Open(source.Path)
		if err == nil {
			doc.Stages = append(doc.Stages, a.ID())
		} else if !noted {
			return nil, err
		}
	}
	return doc.Stages, nil
}
