package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab/upstream"
)

// program is what the pages call this command.
const program = "test/cis"

// Record is what the checks came to on a cluster of a driver.
type Record struct {
	Kubernetes string  `json:"kubernetes"`
	Driver     string  `json:"driver"`
	Benchmark  string  `json:"benchmark"`
	Checks     []Check `json:"checks"`
}

// recordFile is where the record of a driver is.
func recordFile(dir, driver, kubernetes string) string {
	return filepath.Join(dir, driver+"-"+kubernetes+".json")
}

// save writes the record in place of the former one.
func (r *Record) save(dir string) error {
	data, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return err
	}
	return renameio.WriteFile(recordFile(dir, r.Driver, r.Kubernetes), append(data, '\n'), 0o644)
}

// records reads the records of a version, of each driver that has one.
func records(dir, kubernetes string) ([]*Record, error) {
	var out []*Record
	for _, driver := range []string{stand.Binary, stand.Kubeadm} {
		file := recordFile(dir, driver, kubernetes)
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		r := &Record{}
		if err == nil {
			err = json.Unmarshal(data, r)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// tables writes the records of both drivers into the pages. Without a record they stay as they are.
func tables(root, dir, kubernetes string) error {
	if kubernetes == "" {
		spec, err := upstream.LoadSpec("")
		if err != nil {
			return err
		}
		kubernetes = spec.Kubernetes
	}
	list, err := records(dir, kubernetes)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("%s has no record of Kubernetes %s: make cis writes one", dir, kubernetes)
	}
	docs := filepath.Join(root, "docs")
	return errors.Join(stand.WriteTable(filepath.Join(docs, "security.md"), program, table(list, english())),
		stand.WriteTable(filepath.Join(docs, "zh", "security.md"), program, table(list, chinese())))
}
