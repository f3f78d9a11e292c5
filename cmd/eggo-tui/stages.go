package main

import (
	"context"
	"path/filepath"
	"strconv"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/operation/store"
)

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
	var inUse []string
	if err == nil {
		inUse, err = store.Dir{Root: s.root}.Stages(context.Background())
	}
	var gone []bundle.Pruned
	if err == nil {
		gone, err = bundle.Prune(s.stagesDir(), inUse)
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
	var ids []string
	for _, b := range s.unpacked {
		ids = append(ids, b.ID())
	}
	return s.files.KeepStages(ids)
}
