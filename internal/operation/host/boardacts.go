package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/dial"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

// acts gives the board of a run its functions besides the display.
func (h *Host) acts(c *journal.Cluster, id string, o *backend.Board) {
	dir, name := c.RunDir(id), filepath.Base(c.Path())
	o.LogPath = func(host string) string { return filepath.Join(dir, journal.NodeLog(host)) }
	o.Usual = func() state.History {
		return operation.Usual(context.Background(), h.store(), request.Ref{Cluster: name, Run: id})
	}
	o.Support = func() (string, error) {
		file, _, err := h.Support(context.Background(), name, id, "", nil)
		return h.Path(file), err
	}
	o.Save = func(host string) (string, error) {
		stem := strings.TrimSuffix(filepath.Base(journal.NodeLog(host)), ".log")
		return h.saveLog(o.LogPath(host), "eggo-"+name+"-"+id+"-"+stem+".log")
	}
	o.Pager = func(host string) (*exec.Cmd, error) { return pager(h.Getenv, o.LogPath(host)) }
	saved := filepath.Join(c.Path(), store.ConfigName)
	if o.Control == nil && !exists(saved) {
		return
	}
	o.Shell = func(host string) (*exec.Cmd, error) {
		cluster, err := savedCluster(saved)
		if err != nil {
			return nil, err
		}
		return dial.Command(cluster, cmp.Or(cluster.Eggo.KnownHosts, filepath.Join(c.Path(), "known_hosts")), host)
	}
	if o.Control != nil {
		stop := o.Control.Stop
		if verb := c.Verb(id); verb == "deploy" || verb == "join" { // the file alone does not continue others
			o.Edit = func() (*exec.Cmd, func() (bool, error), error) { return editAgain(h.Getenv, saved, stop) }
		}
	}
}

// savedCluster reads the cluster's own deploy.yaml. A run writes it when preflight has passed, so it is read when it is
// asked for: a board is open before.
func savedCluster(path string) (*config.Cluster, error) {
	if !exists(path) {
		return nil, event.NewFault(event.ClassUsage, "board.too-early", nil)
	}
	cluster, problems, err := config.LoadFile(path)
	for _, x := range problems {
		if err == nil && cluster == nil && x.Severity == event.Error {
			err = x.Fault()
		}
	}
	return cluster, err
}

// saveLog copies a machine's log into the directory of the host, under a name that is free.
func (h *Host) saveLog(from, to string) (string, error) {
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return "", event.NewFault(event.ClassUsage, "log.empty", nil)
	}
	if err != nil {
		return "", event.NewFault(event.ClassFailed, "log.save", err, "file", to)
	}
	defer in.Close()
	stem := strings.TrimSuffix(to, ".log")
	for n := 2; ; n++ {
		out, err := os.OpenFile(h.Path(to), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) && n < 1000 {
			to = fmt.Sprintf("%s-%d.log", stem, n)
			continue
		}
		if err == nil {
			_, err = io.Copy(out, in)
			if err = errors.Join(err, out.Close()); err != nil {
				_ = os.Remove(h.Path(to)) // half a log
			}
		}
		if err != nil {
			return "", event.NewFault(event.ClassFailed, "log.save", err, "file", to)
		}
		return h.Path(to), nil
	}
}

// pager shows a file with what PAGER says, else with less or more. What a node printed is cleaned before it is written
// there.
func pager(getenv func(string) string, path string) (*exec.Cmd, error) {
	if !exists(path) {
		return nil, event.NewFault(event.ClassUsage, "log.empty", nil)
	}
	if p := getenv("PAGER"); p != "" {
		return exec.Command("sh", "-c", p+` "$1"`, "sh", path), nil
	}
	for _, p := range []string{"less", "more"} {
		if found, err := exec.LookPath(p); err == nil {
			return exec.Command(found, path), nil
		}
	}
	return nil, event.NewFault(event.ClassUsage, "log.no-pager", nil)
}

// editAgain opens the cluster's deploy.yaml in the user's editor: a copy beside it, which replaces it when it has
// changed and has no faults. Then the run is stopped, so that it can be continued with the file. A copy with faults
// stays, for the next edit.
func editAgain(
	getenv func(string) string, path string, stop func() error,
) (*exec.Cmd, func() (bool, error), error) {
	editor, err := editorOf(getenv)
	if err != nil {
		return nil, nil, err
	}
	before, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, event.NewFault(event.ClassUsage, "board.too-early", nil)
	}
	if err != nil {
		return nil, nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	draft := filepath.Join(filepath.Dir(path), "edit-"+filepath.Base(path))
	if !exists(draft) {
		if err := renameio.WriteFile(draft, before, 0o600, renameio.IgnoreUmask()); err != nil {
			return nil, nil, event.NewFault(event.ClassFailed, "state.write", err)
		}
	}
	after := func() (bool, error) {
		changed, problems, err := operation.ReplaceConfig(path, draft, before)
		if err == nil {
			err = wrongEdit(problems)
		}
		if err != nil || !changed {
			return false, err
		}
		return true, stop()
	}
	return exec.Command("sh", "-c", editor+` "$1"`, "sh", draft), after, nil
}

// editorOf returns the user's editor.
func editorOf(getenv func(string) string) (string, error) {
	if e := cmp.Or(getenv("VISUAL"), getenv("EDITOR")); e != "" {
		return e, nil
	}
	for _, e := range []string{"vi", "nano"} {
		if _, err := exec.LookPath(e); err == nil {
			return e, nil
		}
	}
	return "", event.NewFault(event.ClassUsage, "edit.no-editor", nil)
}

// wrongEdit returns the error of an edited file; nil: it has no faults.
func wrongEdit(problems config.Problems) error {
	var out *backend.WrongEdit
	for _, x := range problems {
		switch {
		case x.Severity != event.Error:
		case out == nil:
			out = &backend.WrongEdit{Line: x.Line, Key: x.Key, Fault: x.Fault()}
		default:
			out.More++
		}
	}
	if out == nil {
		return nil
	}
	return out
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }
