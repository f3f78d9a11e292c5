package store

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// The file of a draft that was not installed, in the directory of all clusters, and that of nodes that have not joined
// yet, in their cluster's.
const (
	draftName     = "draft.json"
	joinDraftName = "join.draft.json"
)

// Draft keeps what somebody has typed. Who has written it knows what it means.
type Draft struct {
	file string

	mu    sync.Mutex
	saved time.Time // when what was saved last was typed
}

// Draft is that of a cluster that is not installed.
func (d Dir) Draft() *Draft { return &Draft{file: filepath.Join(d.Root, draftName)} }

// JoinDraft is that of nodes that have not joined a cluster yet.
func (d Dir) JoinDraft(cluster string) *Draft {
	return &Draft{file: filepath.Join(d.Root, cluster, joinDraftName)}
}

// KnownHosts is the file of the host keys that were accepted for the draft.
func (d *Draft) KnownHosts() string { return strings.TrimSuffix(d.file, ".json") + ".known_hosts" }

// Load gives what was saved, or nothing.
func (d *Draft) Load() []byte {
	text, err := os.ReadFile(d.file)
	if err != nil {
		return nil // a draft that cannot be read is none
	}
	return text
}

// Save keeps what was typed until then, unless something later is kept: who saves may do so in any order.
func (d *Draft) Save(text []byte, typed time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if typed.Before(d.saved) {
		return nil
	}
	d.saved = typed
	if err := os.MkdirAll(filepath.Dir(d.file), 0o700); err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return write(d.file, text)
}

// Forget removes it, with the host keys that were accepted for it.
func (d *Draft) Forget() error {
	for _, file := range []string{d.file, d.KnownHosts(), d.KnownHosts() + ".lock"} {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return event.NewFault(event.ClassFailed, "state.write", err)
		}
	}
	return nil
}

// WriteList writes the machines that are to join as the lists that join reads, if it can read them.
func WriteList(file string, machines []config.Machine) error {
	data, err := config.JoinList(machines)
	if err == nil {
		_, _, err = config.LoadNodes(data, file)
	}
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(file, data, 0o600, renameio.IgnoreUmask()); err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return nil
}

// Trust gives a cluster the host keys of a file, if that is there: in the file that its deploy.yaml names, if it names
// one.
func (d Dir) Trust(cluster, named, knownHosts string) error {
	fresh, err := os.ReadFile(knownHosts)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	to := cmp.Or(named, filepath.Join(d.Root, cluster, "known_hosts"))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
	}
	if err == nil {
		err = AddLines(to, fresh)
	}
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return nil
}

// AddLines adds the lines that a file does not have.
func AddLines(file string, add []byte) error {
	have, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	lines := strings.Split(strings.TrimRight(string(have), "\n"), "\n")
	out := have
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	for l := range strings.Lines(string(add)) {
		if !slices.Contains(lines, strings.TrimRight(l, "\n")) {
			out = append(out, strings.TrimRight(l, "\n")+"\n"...)
		}
	}
	return renameio.WriteFile(file, out, 0o600, renameio.IgnoreUmask())
}
