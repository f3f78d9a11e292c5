package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/journal"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
)

// openBoard gives the board of a run: its events as they come, the nodes' logs, and the handle of a run in progress.
// It lasts until it is closed, whatever ctx it was opened with.
func openBoard(
	ctx context.Context, env *environment, st operation.Store, ref backend.Ref, replay float64,
) (backend.Board, error) {
	files, err := st.Read(ctx, ref.Cluster)
	if err != nil {
		return backend.Board{}, err
	}
	attached, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h, err := operation.Open(attached, st, request.Ref(ref))
	if err != nil {
		cancel()
		return backend.Board{}, errors.Join(err, files.Close())
	}
	// The log itself is read, to its end by now: what waits in a channel would look like an earlier moment of the run,
	// with questions open that were answered long ago.
	log, err := os.Open(filepath.Join(h.Run().Dir, "events.jsonl"))
	if err != nil {
		cancel()
		return backend.Board{}, errors.Join(
			event.NewFault(event.ClassFailed, "journal.read", err, "path", h.Run().Dir), files.Close())
	}
	alive := func() bool {
		select {
		case <-h.Done():
			return false
		default:
			return true
		}
	}
	o := fed(journal.NewReader(log, log.Name()), alive, replay)
	if alive() && replay <= 0 {
		o.Control = h
	}
	logs, closeLogs := nodeLogs(h.Run().Dir)
	o.NodeLog = logs
	o.Close = func() {
		cancel()
		closeLogs()
		log.Close()
		files.Close()
	}
	boardActs(env, files.Journal(), ref.Run, &o)
	return o, nil
}

// fed is a board of records that come, or of their replay. alive says whether more may come.
func fed(records backend.Records, alive func() bool, replay float64) backend.Board {
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
