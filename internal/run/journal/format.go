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

// StateFormat is the format of a cluster's directory that this program writes, and the highest that it reads. One
// without the file is of format 1.
const StateFormat = 1

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
	if doc.Format > StateFormat {
		return event.NewFault(event.ClassUsage, "state.newer-format", nil, "path", c.path, "format",
			strconv.Itoa(doc.Format), "ours", strconv.Itoa(StateFormat))
	}
	return nil
}

// markFormat writes the format, once.
func (c *Cluster) markFormat() error {
	path := filepath.Join(c.path, FormatFile)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := json.Marshal(formatDoc{StateFormat})
	if err != nil {
		return err
	}
	return renameio.WriteFile(path, append(text, '\n'), 0o600)
}
