package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
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
		gone, err = bundle.Prune(s.stagesDir(), stagesInUse(s.root))
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
// deploy.yaml names.
func stagesInUse(root string) []string {
	var out []string
	entries, _ := os.ReadDir(root) // what cannot be read names no stage; one that is missed is unpacked again
	for _, e := range entries {
		file := filepath.Join(root, e.Name(), savedName)
		if !e.IsDir() || !exists(file) { // after a cleanup it has another name
			continue
		}
		var doc stagesDoc
		if text, err := os.ReadFile(filepath.Join(root, e.Name(), stagesName)); err == nil && json.Unmarshal(text, &doc) == nil {
			out = append(out, doc.Stages...)
		}
		c, _, err := config.LoadFile(file)
		if err != nil || c == nil {
			continue
		}
		for _, source := range c.Bundles() {
			if a, err := bundle.Open(source.Path); err == nil {
				out = append(out, a.ID())
			}
		}
	}
	return out
}
