// Package node changes one machine and keeps the record that undoes it. Every change goes through Node.Change, with a
// description: that list is the dry run, the log and the audit. What was changed is recorded on the machine itself
// before it is changed, in /var/lib/eggo-node/record, so that any jump host can clean up, and cleans up only what was
// done.
package node

import (
	"context"
	"net"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
)

// Host is the way to one node. internal/remote satisfies it. All methods are safe for concurrent use; commands of one
// host run one after the other in its privileged session, uploads beside them.
//
// Errors are *event.Fault with Node set. A command that ended without an exit status has the code
// "ssh.unknown-outcome".
type Host interface {
	// Name is the node's name in deploy.yaml.
	Name() string
	// Run feeds script to a privileged POSIX shell over stdin (never in an argv) and returns what it printed. A
	// non-zero exit status is not an error: it is in Result.Status. Lines go to the Output option while they come.
	Run(ctx context.Context, cmd shell.Command) (shell.Result, error)
	// Upload writes a file on the node: to a temporary file beside Path, hashed in the pass that writes it, renamed
	// into place when the sha256 is right. It does nothing when the file is already there with that sum, and continues
	// where an earlier try broke. It reports whether the node was changed.
	Upload(ctx context.Context, up shell.Upload) (changed bool, err error)
	// Dial opens a connection from the node (SSH direct-tcpip) to addr, for client-go and etcd clients.
	Dial(ctx context.Context, network, addr string) (net.Conn, error)
}
