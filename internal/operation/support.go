package operation

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/redact"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// supportDir is the directory in an archive for support.
const supportDir = "eggo-support/"

// SupportTexts are those in an archive that no log has.
type SupportTexts struct {
	Readme string
	More   map[string]string // by name
}

// Support packs what was logged of a run, without the secrets of its cluster, for whoever is to find a fault. It gives
// the names of what is in the archive.
func Support(ctx context.Context, st Store, ref request.Ref, texts SupportTexts, w io.Writer) ([]string, error) {
	files, err := st.Read(ctx, ref.Cluster)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	hide, err := redact.New(files.Dir())
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	z := gzip.NewWriter(w)
	a := &archive{tar: tar.NewWriter(z)}
	err = a.add("README.txt", []byte(texts.Readme))
	if err == nil {
		err = a.addRun(files.Journal().RunDir(ref.Run), hide)
	}
	if err == nil {
		err = a.addConfig(files, hide)
	}
	if err == nil {
		err = a.addUpgrade(files, hide)
	}
	for _, name := range slices.Sorted(maps.Keys(texts.More)) {
		if err == nil {
			err = a.add(name, hide.Text([]byte(texts.More[name])))
		}
	}
	if err = errors.Join(err, a.tar.Close(), z.Close()); err != nil {
		return nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	return a.names, nil
}

// archive is an archive for support while it is written.
type archive struct {
	tar   *tar.Writer
	names []string
}

func (a *archive) add(name string, data []byte) error {
	a.names = append(a.names, supportDir+name)
	err := a.tar.WriteHeader(&tar.Header{
		Name: supportDir + name, Mode: 0o600, Size: int64(len(data)), ModTime: time.Now(), Typeflag: tar.TypeReg,
	})
	if err != nil {
		return err
	}
	_, err = a.tar.Write(data)
	return err
}

// addRun adds the files of a run's directory.
func (a *archive) addRun(dir string, hide *redact.Redactor) error {
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == journal.ReserveName {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		switch {
		case rel == "deploy.yaml": // that of the run; the cluster's own is added too
			return a.add("run-deploy.yaml", hide.YAML(data))
		case strings.HasSuffix(rel, ".jsonl"):
			return a.add(filepath.ToSlash(rel), hide.JSON(data))
		}
		return a.add(filepath.ToSlash(rel), hide.Text(data))
	})
}

// addConfig adds the cluster's own deploy.yaml, if it has one.
func (a *archive) addConfig(files Files, hide *redact.Redactor) error {
	text, _, err := files.Config()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return a.add("deploy.yaml", hide.YAML(text))
}

// addUpgrade adds the upgrade under way, if there is one.
func (a *archive) addUpgrade(files Files, hide *redact.Redactor) error {
	text, err := os.ReadFile(filepath.Join(files.Dir(), "upgrade.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return a.add("upgrade.json", hide.JSON(text))
}
