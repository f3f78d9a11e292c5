// Package remote is the way to a node: one SSH connection, kept, and in it one long-lived privileged session that gets
// its scripts over standard input (agent.sh is the node's side of it). It is the only package that speaks SSH.
//
// The sudo password is typed once for a session and only at a prompt that carries a random word; nothing secret is in
// an argv. Work on the node ends when the session ends or when the lease is not renewed. Every wait has a clock: the
// handshake, the connection (keepalives and TCP_USER_TIMEOUT), the progress of a transfer, the lease.
//
// All errors are *event.Fault with Node set. "ssh.unknown-outcome" says that a command was sent and its end is not
// known.
//
// It may import run/event and run/scratch. Start with remote.go and link.go; shell has the values that the phases share
// with it.
package remote
