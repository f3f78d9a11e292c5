package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// The formats of a cluster's directory. One without the file is of format 1.
const (
	StateFormat = 1 // that this program writes
	// HandedFormat is of a directory whose cluster was handed over: it has no keys, and must not be used by a program
	// that does not know that. It is the highest that this program reads.
	HandedFormat = 2
)

// FormatFile in a cluster's directory says its format.
const FormatFile = "format"

type formatDoc struct {
	Format int `json:"format"`
}

// checkFormat refuses a directory of a newer program: what it means by its files is not known here.
func (c *Cluster) checkFormat() error {
	path := filepath.Join(c.path, FormatFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	var doc formatDoc
	if err == nil {
		if err = json.Unmarshal(text, &doc); err == nil && doc.Format < 1 {
			err = fmt.Errorf("%d is no format", doc.Format)
		}
	}
	if err != nil {
		return fault("journal.read", path, err)
	}
	if doc.Format > HandedFormat {
		return event.NewFault(event.ClassUsage, "state.newer-format", nil, "path", c.path, "format",
			strconv.Itoa(doc.Format), "ours", strconv.Itoa(HandedFormat))
	}
	return nil
}

// markFormat writes the format, once.
func (c *Cluster) markFormat() error {
	if _, err := os.Lstat(filepath.Join(c.path, FormatFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return c.SetFormat(StateFormat)
}

// SetFormat writes the format of the directory.
func (c *Cluster) SetFormat(format int) error {
	text, err := json.Marshal(formatDoc{format})
	if err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(c.path, FormatFile), append(text, '\n'), 0o600)
}
