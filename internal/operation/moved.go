package operation

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// movedName is the file in a cluster's directory that says where the cluster was handed over to. While it is there,
// nothing on this host may change the cluster.
const movedName = "moved.json"

// moved says where a cluster was handed over to.
type moved struct {
	Place string    `json:"place"`
	Owner string    `json:"owner"` // the ID of the owner there
	By    string    `json:"by"`
	At    time.Time `json:"at"`
}

// readMoved returns where a cluster is; nil: here.
func readMoved(dir string) (*moved, error) {
	if _, err := os.Lstat(filepath.Join(dir, movedName)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	m := &moved{}
	return m, input.ReadUnderWay(dir, movedName, m)
}

// fault returns state.moved.
func (m *moved) fault(cluster, dir string) *event.Fault {
	return event.NewFault(event.ClassUsage, "state.moved", nil, "cluster", cluster, "dir", dir, "place",
		event.Clean(m.Place), "by", event.Clean(m.By), "at", m.At.UTC().Format(time.RFC3339))
}

// here refuses what a cluster that was handed over cannot do on this host, with state.moved.
func here(cluster string, files Files) error {
	m, err := readMoved(files.Dir())
	if m != nil && err == nil {
		return m.fault(cluster, files.Dir())
	}
	return err
}

// Here refuses a cluster of a store that was handed over, with state.moved.
func Here(ctx context.Context, st Store, cluster string) error {
	files, err := st.Read(ctx, cluster)
	if err != nil {
		return err
	}
	return errors.Join(here(cluster, files), files.Close())
}

// mark has the directory of a cluster that was handed over refuse all changes, and removes its private keys. It can be
// done again after an interruption.
func (m *moved) mark(files Files) error {
	if err := input.WriteUnderWay(files.Dir(), movedName, m); err != nil {
		return err
	}
	err := files.Journal().SetFormat(journal.HandedFormat)
	if err == nil {
		err = removeKeys(files.Dir())
	}
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return nil
}

// unmark has the directory of a cluster that is here again used as before.
func unmark(files Files) error {
	if err := files.Journal().SetFormat(journal.StateFormat); err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return input.ForgetUnderWay(files.Dir(), movedName)
}

// removeKeys removes all that opens a cluster from its directory: private keys, kubeconfigs, the token of new nodes and
// the key of encrypted Secrets. Certificates stay, as do the logs, and snapshots, whose Secrets are encrypted.
func removeKeys(dir string) error {
	gone, err := filepath.Glob(filepath.Join(dir, "replaced-*", adminConf))
	if err != nil {
		return err
	}
	gone = append(gone, filepath.Join(dir, adminConf))
	err = filepath.WalkDir(filepath.Join(dir, "pki"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(path, ".crt") {
			gone = append(gone, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, path := range gone {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// addMoved fills in where a cluster was handed over to.
func addMoved(c *request.ClusterInfo, dir string) {
	if m, err := readMoved(dir); m != nil && err == nil {
		c.Status, c.Moved = request.Moved, event.Clean(m.Place)
	}
}
