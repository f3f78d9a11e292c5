package main

import (
	"context"
	"strconv"
	"sync"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/event"
)

// What a run needs of file descriptors. A node's connection is open until the run ends; while it is dialled it needs more.
const (
	ownFiles  = 64 // the log, the nodes' logs, the bundle, the screen
	dialFiles = 2  // of a dial beside its connection: the agent's socket, a key
)

// openFiles is how many files this process may have open. The Go runtime has raised the soft limit to the hard one.
func openFiles() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil || l.Cur > 1<<20 {
		return 1 << 20
	}
	return int(l.Cur) //nolint:gosec // not more than a million
}

// dialsAtOnce says how many nodes can be dialled at once (also ones that are known only later), or that there are too few descriptors to have a connection to each. Behind a
// bastion all connections are in the one to the bastion.
func dialsAtOnce(files, nodes, bastions int) (int, error) {
	connections := nodes
	if bastions > 0 {
		connections = bastions
	}
	if need := ownFiles + connections + dialFiles; files < need {
		return 0, event.NewFault(event.ClassPreflight, "preflight.descriptors", nil,
			"nodes", strconv.Itoa(nodes), "need", strconv.Itoa(need), "limit", strconv.Itoa(files))
	}
	return max(1, (files-ownFiles-connections)/dialFiles), nil
}

// dials are the places for nodes that are dialled at a time.
type dials struct {
	once   sync.Once
	places chan struct{}
	err    error
}

// ready says whether this process can have a connection to every node.
func (d *dials) ready(nodes, bastions int) error {
	d.once.Do(func() {
		n, err := dialsAtOnce(openFiles(), nodes, bastions)
		d.places, d.err = make(chan struct{}, n), err
	})
	return d.err
}

// dialing waits for a place; done gives it back.
func (s *session) dialing(ctx context.Context) (done func(), err error) {
	if err := s.dials.ready(len(s.cluster.Nodes), len(s.cluster.Eggo.Bastions)); err != nil {
		return nil, err
	}
	select {
	case s.dials.places <- struct{}{}:
		return func() { <-s.dials.places }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
