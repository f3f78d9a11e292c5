package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// failed makes a fault of the class failed; again says whether another try is worthwhile.
func failed(code string, again bool, err error, kv ...string) *event.Fault {
	f := event.NewFault(event.ClassFailed, code, err, kv...)
	f.Retry = again
	return f
}

// refused makes a fault of the class auth, which is never tried again.
func refused(code string, err error, kv ...string) *event.Fault {
	return event.NewFault(event.ClassAuth, code, err, kv...)
}

// ctxFault says that ctx ended before the work did. Its chain has ctx's own error.
func ctxFault(ctx context.Context) *event.Fault {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return failed("ssh.time-limit", true, ctx.Err())
	}
	return event.NewFault(event.ClassInterrupted, "ssh.cancelled", ctx.Err())
}

// connectFault classifies why there is no TCP connection.
func connectFault(ctx context.Context, err error, addr string, limit time.Duration) *event.Fault {
	var dns *net.DNSError
	var ne net.Error
	var own *event.Fault // of a bastion
	switch {
	case ctx.Err() != nil:
		return ctxFault(ctx)
	case errors.As(err, &own):
		return own
	case errors.As(err, &dns):
		return failed("ssh.unknown-host", dns.Temporary(), err, "addr", addr)
	case errors.Is(err, syscall.ECONNREFUSED):
		return failed("ssh.connect-refused", true, err, "addr", addr)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &ne) &&
		ne.Timeout():
		return failed("ssh.timeout", true, err, "addr", addr, "limit", limit.String())
	}
	return failed("ssh.unreachable", true, err, "addr", addr)
}

// handshakeFault classifies why the handshake failed after the TCP connection was there.
func handshakeFault(ctx context.Context, err error, addr string, l *login, limit time.Duration) *event.Fault {
	var own *event.Fault
	text := err.Error()
	switch {
	case ctx.Err() != nil:
		return ctxFault(ctx)
	case errors.As(err, &own):
		return own
	case errors.Is(err, os.ErrDeadlineExceeded):
		return failed("ssh.handshake-timeout", true, err, "addr", addr, "limit", limit.String())
	case l.authenticating(err):
		tried := l.offeredKeys()
		if strings.Contains(text, "unexpected message type 51") { // SSH_MSG_USERAUTH_FAILURE in place of a question
			err = errMute
			if slices.Contains(tried, "password") {
				err = errSpent
			}
		}
		return refused("ssh.auth", err, "addr", addr, "user", l.target.User, "tried", strings.Join(tried, ", "))
	case strings.Contains(text, "overflow reading version string"), strings.Contains(text, "invalid packet length"),
		strings.Contains(text, "malformed version"), strings.Contains(text, "version string"):
		return failed("ssh.not-ssh", false, err, "addr", addr)
	}
	return failed("ssh.handshake", true, err, "addr", addr)
}

// lostFault says that the connection ended while nothing depended on it.
func lostFault(err error) *event.Fault {
	if err == nil {
		err = io.EOF
	}
	return failed("ssh.lost", true, err)
}

// unknownFault says that the connection or the session ended while a command ran.
func unknownFault(err error) *event.Fault {
	if err == nil {
		err = io.EOF
	}
	return failed("ssh.unknown-outcome", true, fmt.Errorf("no exit status: %w", err))
}
