package operation

import (
	"os"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// ReplaceConfig puts an edited copy in the place of a cluster's own deploy.yaml, which was before when the copy was
// made. A copy with errors stays where it is, to be fixed by the next edit, and the problems say which; one that says
// the same is removed.
func ReplaceConfig(own, edited string, before []byte) (changed bool, problems config.Problems, err error) {
	now, err := os.ReadFile(edited)
	if err != nil {
		return false, nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	if string(now) == string(before) {
		return false, nil, os.Remove(edited)
	}
	c, problems, err := config.LoadFile(edited)
	if err != nil {
		return false, nil, err
	}
	if c != nil {
		problems = append(problems, config.Unsupported(c)...)
	}
	if problems.HasErrors() {
		return false, problems, nil
	}
	if err := os.Rename(edited, own); err != nil {
		return false, nil, event.NewFault(event.ClassFailed, "state.write", err)
	}
	return true, problems, nil
}
