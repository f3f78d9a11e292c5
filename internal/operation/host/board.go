package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// Open returns the board of a run: its events as they are written, the nodes' logs, and the handle of a run in
// progress. It lasts until it is closed, also after the end of ctx.
func (h *Host) Open(ctx context.Context, ref request.Ref, replay float64) (backend.Board, error) {
	files, err := h.store().Read(ctx, ref.Cluster)
	if err != nil {
		return backend.Board{}, err
	}
	attached, cancel := context.WithCancel(context.WithoutCancel(ctx))
	run, err := operation.Open(attached, h.store(), ref)
	if err != nil {
		cancel()
		return backend.Board{}, errors.Join(err, files.Close())
	}
	// The log itself is read, up to its present end: records that wait in a channel would show an earlier moment of the
	// run, with open questions that were answered long ago.
	records, closeLog, err := journal.OpenReader(run.Run().Dir)
	if err != nil {
		cancel()
		return backend.Board{}, errors.Join(err, files.Close())
	}
	alive := func() bool {
		select {
		case <-run.Done():
			return false
		default:
			return true
		}
	}
	o := Fed(records, alive, replay)
	if alive() && replay <= 0 {
		o.Control = run
	}
	logs, closeLogs := nodeLogs(run.Run().Dir)
	o.NodeLog = logs
	o.Close = func() {
		cancel()
		closeLogs()
		closeLog()
		files.Close()
	}
	h.acts(files.Journal(), ref.Run, &o)
	return o, nil
}

// Fed returns a board of records, or of their replay. alive reports whether there may be more.
func Fed(records backend.Records, alive func() bool, replay float64) backend.Board {
	if replay <= 0 {
		return backend.Board{Feed: &backend.Live{From: records, Alive: alive}}
	}
	again := backend.NewReplay(records, replay, time.Now)
	again.Alive = alive
	return backend.Board{Feed: again, Replay: again}
}

// nodeLogs opens the nodes' logs in the directory of a run; closeAll closes those that are open.
func nodeLogs(dir string) (open func(host string) (backend.NodeLog, error), closeAll func()) {
	opened := make(chan *os.File, 1024) // a NodeLog is opened in commands
	open = func(host string) (backend.NodeLog, error) {
		f, err := os.Open(filepath.Join(dir, journal.NodeLog(host)))
		if errors.Is(err, fs.ErrNotExist) {
			return backend.LogText(""), nil
		}
		if err != nil {
			return nil, err
		}
		select {
		case opened <- f:
		default: // the program's end closes it
		}
		return backend.LogFile{File: f}, nil
	}
	return open, func() {
		for {
			select {
			case f := <-opened:
				f.Close()
			default:
				return
			}
		}
	}
}
