package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// What is written where the user says, beside the state directory.

// Create writes a file of the user's with mode 0600, whole or not at all. A file that is there already stays, unless
// force says otherwise.
func Create(name string, data []byte, force bool) error {
	fail := func(err error) error {
		if errors.Is(err, fs.ErrExist) {
			return event.NewFault(event.ClassUsage, "template.exists", nil, "file", name)
		}
		return event.NewFault(event.ClassFailed, "template.write", err, "file", name)
	}
	if force {
		if err := renameio.WriteFile(name, data, 0o600, renameio.IgnoreUmask()); err != nil {
			return fail(err)
		}
		return nil
	}
	t, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*") // 0600
	if err != nil {
		return fail(err)
	}
	defer os.Remove(t.Name())
	_, err = t.Write(data)
	if err == nil {
		err = t.Sync()
	}
	if e := t.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Link(t.Name(), name) // unlike a rename, a link fails if the name is taken
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// Replace puts a text in the place of a file of the user's. What was there is kept beside it, named by the time.
func Replace(file string, text []byte, now time.Time) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	was, err := os.ReadFile(file)
	if err == nil && string(was) != string(text) {
		kept := file + "." + now.UTC().Format("20060102T150405Z") + ".bak"
		if err := renameio.WriteFile(kept, was, 0o600, renameio.IgnoreUmask()); err != nil {
			return err
		}
	}
	return renameio.WriteFile(file, text, 0o600, renameio.IgnoreUmask())
}

// SchemaIsOurs says whether the JSON Schema may be written beside a deploy.yaml: nothing of its name is there, or a
// schema that a program of ours wrote.
func SchemaIsOurs(file string) bool {
	was, err := os.ReadFile(schemaOf(file))
	return err == nil && config.IsSchema(was) || errors.Is(err, fs.ErrNotExist)
}

// SaveSchema writes the schema beside a deploy.yaml. Only then may its first line name it (config.Modeline). Where the
// file cannot be written, undo makes the schema what it was.
func SaveSchema(file string, schema []byte) (undo func(), err error) {
	name := schemaOf(file)
	was, e := os.ReadFile(name)
	if err := renameio.WriteFile(name, schema, 0o644, renameio.IgnoreUmask()); err != nil {
		return nil, event.NewFault(event.ClassFailed, "template.write", err, "file", name)
	}
	return func() { // of what fails here the file that is missing says more
		if e != nil {
			_ = os.Remove(name)
			return
		}
		_ = renameio.WriteFile(name, was, 0o644, renameio.IgnoreUmask())
	}, nil
}

func schemaOf(file string) string { return filepath.Join(filepath.Dir(file), config.SchemaName) }
