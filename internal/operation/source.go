package operation

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// source is the deploy.yaml of an operation, and what is known of the cluster from it.
type source struct {
	file    string
	text    []byte
	draft   bool // text is what file may become, not what it is
	cluster *config.Cluster
	digest  string
	told    config.Problems // of the deploy.yaml that was loaded first
	tell    func(file string, p config.Problems)
	own     string          // path of the cluster's own deploy.yaml
	saved   *config.Cluster // as the last run that passed preflight had it; nil when none has
}

// loadSource takes the deploy.yaml that a request names. What no phase does yet is refused.
func loadSource(ctx context.Context, q request.Source, d Deps) (*source, error) {
	s := &source{tell: d.Problems}
	var err error
	if q.Text != nil {
		s.file, s.text, s.draft = q.File, q.Text, true
		if q.Parsed != nil {
			return s, s.take(q.Parsed, nil)
		}
		return s, s.takeText(nil)
	}
	if q.Cluster != "" {
		if s.text, s.file, err = configOf(ctx, d.Store, q.Cluster); err != nil {
			return nil, err
		}
		if _, err := os.Stat(s.file); err != nil { // the store keeps it elsewhere
			return s, s.takeText(nil)
		}
		return s, s.takeFile()
	}
	s.file = q.File
	return s, s.takeFile()
}

// takeFile makes the cluster of the file the operation's. What a file alone can have wrong is found too: its size, and
// who can read it.
func (s *source) takeFile() error {
	c, problems, err := config.LoadFile(s.file)
	if err != nil {
		return err
	}
	s.told = problems
	if s.text, err = os.ReadFile(s.file); err != nil {
		return event.NewFault(event.ClassUsage, "config.unreadable", err, "file", s.file)
	}
	return s.take(c, problems)
}

// configOf is the deploy.yaml of a cluster's own.
func configOf(ctx context.Context, st Store, cluster string) (text []byte, path string, err error) {
	files, err := st.Read(ctx, cluster)
	if err != nil {
		return nil, "", err
	}
	defer files.Close()
	text, path, err = files.Config()
	if err == nil {
		return text, path, nil
	}
	if errors.As(err, new(*event.Fault)) {
		return nil, "", err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, "", event.NewFault(event.ClassUsage, "config.unreadable", err, "file", path)
	}
	known, err := st.Known(ctx)
	if err != nil {
		return nil, "", err
	}
	root := filepath.Dir(files.Dir())
	if slices.Contains(known, cluster) {
		return nil, "", unconfigured(cluster, files)
	}
	if len(known) == 0 {
		return nil, "", event.NewFault(event.ClassUsage, "usage.none-of-that-name", nil, "cluster", cluster, "dir",
			root)
	}
	return nil, "", event.NewFault(event.ClassUsage, "usage.no-cluster", nil,
		"cluster", cluster, "dir", root, "known", strings.Join(known, ", "))
}

// unconfigured says why a cluster that has a directory has no deploy.yaml: it was removed, or not installed yet.
func unconfigured(cluster string, files Files) *event.Fault {
	runs, code := files.Journal(), "usage.not-installed"
	ids, err := runs.Runs()
	if err == nil && len(ids) > 0 && runInfo(runs.RunDir(ids[len(ids)-1])).Status == request.Removed {
		code = "usage.removed"
	}
	return event.NewFault(event.ClassUsage, code, nil, "cluster", cluster, "dir", files.Dir())
}

// Unconfigured says what a cluster without a deploy.yaml is; "" stands for all clusters of a store in which none has
// one.
func Unconfigured(ctx context.Context, st Store, cluster string) error {
	known, err := st.Known(ctx)
	switch {
	case err != nil:
		return err
	case slices.Contains(known, cluster):
		known = []string{cluster}
	case len(known) == 0:
		return event.NewFault(event.ClassUsage, "usage.no-clusters", nil, "dir", st.Where())
	case len(known) > 1:
		return event.NewFault(event.ClassUsage, "usage.none-installed", nil, "dir", st.Where(), "known",
			strings.Join(known, ", "))
	}
	files, err := st.Read(ctx, known[0])
	if err != nil {
		return err
	}
	return errors.Join(unconfigured(known[0], files), files.Close())
}

// takeText makes the text's cluster the operation's. Problems of before are not found again.
func (s *source) takeText(before *source) error {
	c, problems, err := config.LoadText(s.text, s.file)
	if err != nil {
		return err
	}
	if before == nil {
		s.told = problems
		return s.take(c, problems)
	}
	if c != nil {
		problems = nil // they were told at the beginning
		takeSecrets(c, before.cluster)
	}
	return s.take(c, problems)
}

// takeSecrets gives a cluster the logins of another one, with the secrets that were asked for, and what else our keys
// say of the control host. What they say of the cluster's objects stays.
func takeSecrets(c, from *config.Cluster) {
	own := c.Eggo
	c.SSH, c.Eggo = from.SSH, from.Eggo
	c.Eggo.Nodes, c.Eggo.DNSUpstreams = own.Nodes, own.DNSUpstreams
}

// take makes a cluster that was loaded from the text the operation's.
func (s *source) take(c *config.Cluster, problems config.Problems) error {
	if c != nil {
		problems = append(problems, config.Unsupported(c)...)
	}
	s.report(problems)
	if err := problems.Err(); err != nil {
		return err
	}
	s.cluster = c
	s.digest = digest(s.text)
	return nil
}

// digest is what a deploy.yaml is known by. The cluster's own copy does not have the line that names a schema.
func digest(text []byte) string {
	sum := sha256.Sum256(config.WithoutModeline(text))
	return hex.EncodeToString(sum[:])
}

func (s *source) report(problems config.Problems) {
	if s.tell != nil && len(problems) > 0 {
		s.tell(s.file, problems)
	}
}

// replace makes a new text the operation's deploy.yaml, or says why there is none; nothing is written yet.
func (s *source) replace(text []byte, why config.Problems) error {
	if text == nil {
		return s.take(nil, why)
	}
	s.text = text
	return s.takeText(s)
}

// loadOwn reads the cluster's own deploy.yaml, for a run under the cluster's lock. One that is no longer valid
// counts as none: a newer version of this program may be stricter than the one that saved it.
func (s *source) loadOwn(files Files) error {
	text, path, err := files.Config()
	s.own = path
	if errors.Is(err, fs.ErrNotExist) {
		return s.imported()
	}
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.read", err)
	}
	if s.file == path && !s.draft && !bytes.Equal(text, s.text) {
		// Another run has changed it between our reading and our lock.
		return event.NewFault(event.ClassLocked, "usage.deploy-yaml-moved", nil, "file", s.file)
	}
	s.saved, _ = config.Load(text, path)
	return s.imported()
}

// imported refuses a deploy.yaml that says of a cluster that it was imported, when the cluster's own does not: an
// import alone writes that. Then a network plugin and CoreDNS would be missing, and nobody would say so.
func (s *source) imported() error {
	switch {
	case s.cluster == nil || !s.cluster.Eggo.Imported, s.saved != nil && s.saved.Eggo.Imported,
		s.file == filepath.Join(filepath.Dir(s.own), importName):
		return nil
	}
	problems := config.ImportedByHand(s.cluster)
	s.report(problems)
	return problems.Err()
}

// useOwn goes from a deploy.yaml of the user's to the cluster's own, which alone says who is in the cluster.
func (s *source) useOwn(files Files) error {
	if s.saved == nil || s.file == s.own {
		return nil
	}
	text, _, err := files.Config()
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.read", err)
	}
	s.file = s.own
	return s.replace(text, nil)
}

// absolute is the text as it means the same in another directory. The schema stays where the text was.
func (s *source) absolute() ([]byte, error) {
	text, err := config.AbsolutePaths(s.text, s.file, filepath.Dir(s.file))
	return config.WithoutModeline(text), err
}

// call is the source as a command names it.
func (s *source) call(c event.Call) event.Call {
	c.Cluster, c.File = "", s.file
	switch {
	case c.EggoDir != "": // which has the cluster's name
		c.File = ""
	case s.file == s.own, c.Verb == string(request.VerbImport):
		c.Cluster, c.File = s.cluster.Name, ""
	}
	return c
}

// news are the problems that were not told yet, wherever they stand in the file now.
func news(problems, told config.Problems) config.Problems {
	return slices.DeleteFunc(slices.Clone(problems), func(p config.Problem) bool {
		return slices.ContainsFunc(told, func(o config.Problem) bool {
			return o.Code == p.Code && o.Key == p.Key && maps.Equal(o.Args, p.Args)
		})
	})
}
