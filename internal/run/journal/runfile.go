package journal

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// runFile says what a run is, before its log does: a board is open before run_started.
const runFile = "run.json"

// runDoc is what is in it. It never has what the run was told: that may be secret.
type runDoc struct {
	Format int    `json:"format"`
	Verb   string `json:"verb"`
}

// writeRunFile is best effort: a full disk fails the run where its log is written, with words about it.
func writeRunFile(dir, verb string) {
	if text, err := json.Marshal(runDoc{Format: StateFormat, Verb: verb}); err == nil {
		_ = renameio.WriteFile(filepath.Join(dir, runFile), append(text, '\n'), 0o600)
	}
}

// Verb is what a run does or did.
func (c *Cluster) Verb(id string) string {
	text, err := os.ReadFile(filepath.Join(c.RunDir(id), runFile))
	var doc runDoc
	if err == nil && json.Unmarshal(text, &doc) == nil && okVerb.MatchString(doc.Verb) {
		return doc.Verb
	}
	for r, err := range Read(c.RunDir(id)) {
		if first, ok := r.Event.(event.RunStarted); err == nil && ok && okVerb.MatchString(first.Verb) {
			return first.Verb
		}
		break
	}
	return earlierVerb(id)
}

// earlierVerb is of a run whose program did not write what it is, and that had no log yet: its ID ends with it.
func earlierVerb(id string) string {
	_, verb, _ := strings.Cut(id, "-")
	return verb
}
