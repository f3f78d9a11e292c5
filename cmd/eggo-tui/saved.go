package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/exitcode"
	"github.com/eggo-k8s/eggo/internal/journal"
)

// A cluster's own deploy.yaml lies in its state directory: the file of the last run that passed preflight. That of a cluster that was
// cleaned up is kept beside it.
const (
	savedName = "deploy.yaml"
)

// deployFile is where the cluster's deploy.yaml is: the cluster's own with --id, else -f, else ~/.eggo/deploy.yaml.
func (s *session) deployFile(o runOptions) (string, error) {
	if o.id == "" {
		return deployFile(s.env, o.file)
	}
	store, err := journal.At(s.root, o.id)
	if err != nil {
		return "", err
	}
	path := filepath.Join(store.Path(), savedName)
	if !exists(path) {
		if len(savedClusters(s.root)) == 0 {
			return "", event.NewFault(event.ClassUsage, "usage.none-of-that-name", nil, "cluster", o.id, "dir", s.root)
		}
		return "", event.NewFault(event.ClassUsage, "usage.no-cluster", nil, "cluster", o.id, "dir", s.root, "known", strings.Join(savedClusters(s.root), ", "))
	}
	return path, nil
}

// deployFile is -f, or ~/.eggo/deploy.yaml.
func deployFile(env *environment, file string) (string, error) {
	if file == "" {
		file = filepath.Join(env.Getenv("HOME"), ".eggo", "deploy.yaml")
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return "", event.NewFault(event.ClassUsage, "config.unreadable", err, "file", file)
	}
	return path, nil
}

// exitOf is the exit code of an error.
func exitOf(err error) int { return int(exitcode.Of(err)) }

// savedClusters are the clusters that a state directory has a deploy.yaml of.
func savedClusters(root string) []string {
	files, _ := filepath.Glob(filepath.Join(root, "*", savedName)) // its only error is a bad pattern
	var out []string
	for _, f := range files {
		out = append(out, filepath.Base(filepath.Dir(f)))
	}
	return out
}

// load reads deploy.yaml and prints its problems; what no phase does yet is refused.
func (s *session) load(env *environment, path string) error {
	s.file = path
	c, problems, err := config.LoadFile(path)
	if err != nil {
		return err
	}
	s.told = problems
	if s.text, err = os.ReadFile(path); err != nil {
		return event.NewFault(event.ClassUsage, "config.unreadable", err, "file", path)
	}
	return s.take(env, c, problems)
}

// take makes the cluster that was loaded from s.text the session's.
func (s *session) take(env *environment, c *config.Cluster, problems config.Problems) error {
	if c != nil {
		problems = append(problems, config.Unsupported(c)...)
	}
	err := problems.Err()
	if err != nil && s.json {
		return errors.Join(writeProblemsJSON(env, env.Stdout, s.file, problems), err)
	}
	printProblems(env, problems)
	if err != nil {
		return err
	}
	s.cluster = c
	sum := sha256.Sum256(s.text)
	s.digest = hex.EncodeToString(sum[:])
	return nil
}

// loadSaved reads the cluster's own deploy.yaml, under the cluster's lock. One that is no longer valid counts as none: a newer version
// of this program may be stricter than the one that saved it.
func (s *session) loadSaved() error {
	data, err := os.ReadFile(s.savedPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.read", err)
	}
	if s.file == s.savedPath() && !s.draft && !bytes.Equal(data, s.text) {
		// Another run has changed it between our reading and our lock.
		return event.NewFault(event.ClassLocked, "usage.deploy-yaml-moved", nil, "file", s.file)
	}
	s.saved, _ = config.Load(data, s.savedPath())
	return nil
}

func (s *session) savedPath() string { return filepath.Join(s.dir, savedName) }

// keep makes the session's deploy.yaml the cluster's own. It is called when preflight has passed.
func (s *session) keep(context.Context) error {
	data, err := config.AbsolutePaths(s.text, s.file, filepath.Dir(s.file))
	if err != nil {
		return err
	}
	if have, err := os.ReadFile(s.savedPath()); err == nil && bytes.Equal(have, data) {
		return nil
	}
	return s.write(s.savedPath(), data)
}

// copyTo puts a copy of the session's deploy.yaml into the directory of its run: a run that ends before preflight has passed leaves no other.
func (s *session) copyTo(dir string) error {
	data, err := config.AbsolutePaths(s.text, s.file, filepath.Dir(s.file))
	if err != nil {
		return err
	}
	return s.write(filepath.Join(dir, savedName), data)
}

func (s *session) write(path string, data []byte) error {
	if err := renameio.WriteFile(path, data, 0o600, renameio.IgnoreUmask()); err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return nil
}

// elsewhere is how another command finds the same state directory.
func (s *session) elsewhere() string {
	if s.stateDir == "" {
		return ""
	}
	return " --state-dir " + shellWord(s.stateDir)
}

// command is how a verb is run for this cluster; what was given besides is not in it.
func (s *session) command(verb string) string {
	name := programName(s.env.Args)
	if s.file == s.savedPath() {
		return name + " " + verb + " --id " + s.cluster.Name
	}
	return name + " " + verb + " -f " + shellWord(s.file)
}
