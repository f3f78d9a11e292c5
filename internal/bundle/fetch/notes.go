package fetch

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// notesDir holds what builds remember, a few KiB each.
const notesDir = "notes"

// Note reads what was remembered under a key, which is a sha256 in hex; false if there is nothing.
func (c *Cache) Note(key string) ([]byte, bool) {
	if !validSum(key) {
		return nil, false
	}
	data, err := os.ReadFile(filepath.Join(c.dir, notesDir, key))
	return data, err == nil
}

// SetNote remembers a text under a key. It is no content: nothing verifies it when it is read.
func (c *Cache) SetNote(key string, text []byte) error {
	if !validSum(key) {
		return errors.New("the key of a note is no sha256")
	}
	dir := filepath.Join(c.dir, notesDir)
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = renameio.WriteFile(filepath.Join(dir, key), text, 0o600)
	}
	if err != nil {
		return diskFault(err, c.dir)
	}
	return nil
}
