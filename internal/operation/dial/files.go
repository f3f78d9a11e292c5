package dial

import (
	"context"
	"strconv"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// What a run needs of file descriptors. A node's connection is open until the run ends; while it is dialled it needs
// more.
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

// dialsAtOnce says how many nodes can be dialled at once (also ones that are known only later), or that there are too
// few descriptors to have a connection to each. Behind a bastion all connections are in the one to the bastion.
func dialsAtOnce(files, nodes, bastions int) (int, error) {
	connections := connectionsOf(nodes, bastions)
	if need := ownFiles + connections + dialFiles; files < need {
		return 0, event.NewFault(event.ClassPreflight, "preflight.descriptors", nil,
			"nodes", strconv.Itoa(nodes), "need", strconv.Itoa(need), "limit", strconv.Itoa(files))
	}
	return max(1, (files-ownFiles-connections)/dialFiles), nil
}

func connectionsOf(nodes, bastions int) int {
	if bastions > 0 {
		return bastions
	}
	return nodes
}

// reserve takes the descriptors of a run's connections out of what the process may have; release gives them back.
func (d *SSH) reserve(nodes, bastions int) (release func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := dialsAtOnce(d.files()-d.reserved, nodes, bastions); err != nil {
		return nil, err
	}
	taken := connectionsOf(nodes, bastions)
	d.reserved += taken
	return func() { d.free(func() { d.reserved -= taken }) }, nil
}

// place waits until a node can be dialled beside those that are; done gives the place back.
func (d *SSH) place(ctx context.Context) (done func(), err error) {
	for {
		d.mu.Lock()
		if d.dials < max(1, (d.files()-ownFiles-d.reserved)/dialFiles) {
			d.dials++
			d.mu.Unlock()
			return func() { d.free(func() { d.dials-- }) }, nil
		}
		freed := d.freed
		d.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// free gives something back, and lets those who wait see whether it is enough.
func (d *SSH) free(give func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	give()
	close(d.freed)
	d.freed = make(chan struct{})
}
