// Package node changes one machine and keeps the record that undoes it. Every change goes through Node.Change, with a
// description: that list is the dry run, the log and the audit. What was changed is recorded on the machine itself
// before it is changed, in /var/lib/eggo-node/record, so that any jump host can clean up, and cleans up only what was
// done.
package node

import (
	"context"
	"io"
	"net"
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
	Run(ctx context.Context, cmd Command) (Result, error)
	// Upload writes a file on the node: to a temporary file beside Path, hashed in the pass that writes it, renamed
	// into place when the sha256 is right. It does nothing when the file is already there with that sum, and goes on
	// where an earlier try broke. It reports whether the node was changed.
	Upload(ctx context.Context, up Upload) (changed bool, err error)
	// Dial opens a connection from the node (SSH direct-tcpip) to addr, for client-go and etcd clients.
	Dial(ctx context.Context, network, addr string) (net.Conn, error)
}

// Command for Host.Run.
type Command struct {
	Script string            // POSIX sh; values are quoted by the caller or passed in Env
	Env    map[string]string // exported before the script; sent over stdin like it
	Stdin  []byte            // given to the script as its standard input
	Secret bool              // neither script nor output may be logged or emitted
	Quiet  bool              // output is returned but not emitted as events (large or uninteresting)
}

// Result of a command. Stdout of one that is Quiet or Secret is kept whole up to 16 MiB (then the error is
// "ssh.output-too-large"), of another one its last 4 MiB; Stderr its last 64 KiB. Both are the bytes as they came:
// clean them before they are shown.
type Result struct {
	Stdout []byte
	Stderr []byte
	Status int
}

// Upload for Host.Upload.
type Upload struct {
	Path   string // absolute, on the node; its directory must exist
	Mode   uint32 // permission bits
	Size   int64
	SHA256 string // lower-case hex
	Open   func() (io.ReadSeekCloser, error)
	What   string // for progress
}
