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

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/exitcode"
	"github.com/eggo-k8s/eggo/internal/operation/store"
)

// savedName in a cluster's state directory is its own deploy.yaml.
const savedName = store.ConfigName

// deployFile is where the cluster's deploy.yaml is: the cluster's own with --id, else -f, else ~/.eggo/deploy.yaml.
func (s *session) deployFile(o runOptions) (string, error) {
	if o.id == "" {
		return deployFile(s.env, o.file)
	}
	st := store.Dir{Root: s.root}
	files, err := st.Read(context.Background(), o.id)
	if err != nil {
		return "", err
	}
	_, path, err := files.Config()
	if !errors.Is(err, fs.ErrNotExist) {
		return path, nil // what else is wrong with it shows when it is loaded
	}
	known, err := st.Clusters(context.Background())
	if err != nil {
		return "", err
	}
	if len(known) == 0 {
		return "", event.NewFault(event.ClassUsage, "usage.none-of-that-name", nil, "cluster", o.id, "dir", s.root)
	}
	return "", event.NewFault(event.ClassUsage, "usage.no-cluster", nil,
		"cluster", o.id, "dir", s.root, "known", strings.Join(known, ", "))
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
	data, _, err := s.files.Config()
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

func (s *session) savedPath() string {
	return filepath.Join(s.files.Journal().Path(), store.ConfigName)
}

// keep makes the session's deploy.yaml the cluster's own. It is called when preflight has passed.
func (s *session) keep(ctx context.Context) error {
	data, err := config.AbsolutePaths(s.text, s.file, filepath.Dir(s.file))
	if err != nil {
		return err
	}
	return s.files.SaveConfig(ctx, data)
}

// copyTo puts a copy of the session's deploy.yaml into the directory of a run.
func (s *session) copyTo(run string) error {
	data, err := config.AbsolutePaths(s.text, s.file, filepath.Dir(s.file))
	if err != nil {
		return err
	}
	return s.files.CopyConfig(run, data)
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
