package lab

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"
)

// kind is what differs between the two kinds of node: those in namespaces of this machine, which share its kernel, and
// virtual machines.
type kind interface {
	// prepare writes to the disk of a node that is off what a boot needs, and reads the host keys that are on it.
	prepare(ctx context.Context, node string) error
	// supervision is what runs the node.
	supervision(ctx context.Context, node string) (supervision, error)
	// pid is the node as this machine numbers it; false if it does not run.
	pid(node string) (int, bool)
	// powerOff has the node power itself off, and kill ends it at once. Neither waits.
	powerOff(node string)
	kill(node string)
	// plug puts the node's cable in or pulls it.
	plug(ctx context.Context, node string, in bool) error
	// slow lets the node's link carry so much in either direction.
	slow(ctx context.Context, node, rate string) error
	// look is how a snapshot sees the node.
	look(ctx context.Context, node string) (view, error)
	// slowness says how many times as long as on this machine a program runs on the node, which has just booted.
	slowness(ctx context.Context, node string) (float64, error)
	// patient is a limit of time as the kind needs it.
	patient(limit time.Duration) time.Duration
}

// supervision is a script that follows supervise.sh, its variables, and files that it needs beside it.
type supervision struct {
	script string
	vars   [][2]string
	files  map[string]string
}

// kind returns that of the node.
func (l *Lab) kind(node string) kind {
	if l.IsVM(node) {
		return inVM{l}
	}
	return inNamespace{l}
}

// IsVM reports whether the node is a virtual machine, and not turned into a node in a namespace.
func (l *Lab) IsVM(node string) bool { return l.Disk(node).VM != "" && !l.exists(node, "turned") }

// Turn boots the disk of a virtual machine in a namespace of this machine, where all is fast, or as a virtual machine
// again: what a cluster needs long for can be done there, and used with a kernel of its own. The node is running
// afterwards if it was before.
func (l *Lab) Turn(ctx context.Context, node string, vm bool) error {
	if _, err := nodeNumber(node); err != nil {
		return err
	}
	if arch := l.Disk(node).VM; arch == "" || arch != runtime.GOARCH {
		return fmt.Errorf("%s: only the disk of a virtual machine of this machine's architecture can be turned", node)
	}
	return l.locked(ctx, func() error {
		if vm == l.IsVM(node) {
			return nil
		}
		_, on := l.supervisor(node)
		if on {
			if err := l.stop(node); err != nil {
				return err
			}
		}
		if err := l.mark(node, "turned", !vm); err != nil {
			return err
		}
		_ = os.Remove(l.file(node, "slowness"))
		if !on {
			return l.writeAccess()
		}
		return l.up(ctx, []string{node})
	})
}

// mark makes an empty file of the node, or removes it.
func (l *Lab) mark(node, name string, set bool) error {
	if set {
		return os.WriteFile(l.file(node, name), nil, 0o644)
	}
	if err := os.Remove(l.file(node, name)); !os.IsNotExist(err) {
		return err
	}
	return nil
}
