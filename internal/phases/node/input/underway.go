package input

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// UpgradeName is the file in the cluster's directory that says which upgrade is under way. It ends with the cluster.
const UpgradeName = "upgrade.json"

// SeedName is the file in the cluster's directory that says which snapshot the members of a new etcd begin with. It is
// there until the cluster has proven to be up with it.
const SeedName = "seed.json"

// RestoreName is the file in the cluster's directory that says which restore of etcd is under way.
const RestoreName = "restore.json"

// ReadUnderWay reads a file of the cluster's directory that says what is under way. Without the file v stays as it is.
func ReadUnderWay(stateDir, name string, v any) error {
	path := filepath.Join(stateDir, name)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		if err = json.Unmarshal(data, v); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	if err != nil {
		return event.NewFault(event.ClassPreflight, "state.read", err)
	}
	return nil
}

// WriteUnderWay writes it, whole or not at all.
func WriteUnderWay(stateDir, name string, v any) error {
	data, err := json.Marshal(v)
	if err == nil {
		err = renameio.WriteFile(filepath.Join(stateDir, name), append(data, '\n'), 0o600)
	}
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return nil
}

// ForgetUnderWay ends it.
func ForgetUnderWay(stateDir, name string) error {
	if err := os.Remove(filepath.Join(stateDir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return nil
}
