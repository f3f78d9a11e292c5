package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Slow lets a node's link carry so much in either direction, like "10mbit", by a token bucket at each end. It ends with
// the node's next start.
func (l *Lab) Slow(ctx context.Context, node, rate string) error {
	if err := l.mustRun(node); err != nil {
		return err
	}
	if err := l.kind(node).slow(ctx, node, rate); err != nil {
		return fmt.Errorf("slowing the link of %s: %w", node, err)
	}
	return nil
}

// bucket is what tc(8) is given for a link.
func bucket(link, rate string) []string {
	return []string{"qdisc", "replace", "dev", link, "root", "tbf", "rate", rate, "burst", "32kb", "latency", "400ms"}
}

// FarSSH listens in a node at the port and passes what comes on to its sshd, later by half the round trip in either
// direction: the kernel has no netem. It ends with ctx.
func (l *Lab) FarSSH(ctx context.Context, node string, port int, roundTrip time.Duration) error {
	addr, err := l.Address(node)
	if err != nil {
		return err
	}
	var ln net.Listener
	if err := l.inside(node, func() (err error) {
		ln, err = net.Listen("tcp", net.JoinHostPort(addr, strconv.Itoa(port)))
		return err
	}); err != nil {
		return fmt.Errorf("a far sshd in %s: %w", node, err)
	}
	context.AfterFunc(ctx, func() { _ = ln.Close() })
	go func() {
		for {
			from, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				var to net.Conn
				if err := l.inside(node, func() (err error) {
					to, err = net.Dial("tcp", net.JoinHostPort(addr, "22"))
					return err
				}); err != nil {
					_ = from.Close()
					return
				}
				stop := context.AfterFunc(ctx, func() { _, _ = from.Close(), to.Close() })
				defer stop()
				var both sync.WaitGroup
				both.Go(func() { late(to, from, roundTrip/2) })
				both.Go(func() { late(from, to, roundTrip/2) })
				both.Wait()
				_, _ = from.Close(), to.Close()
			}()
		}
	}()
	return nil
}

// late copies, and everything arrives later by d.
func late(to, from net.Conn, d time.Duration) {
	type piece struct {
		data []byte
		due  time.Time
	}
	pieces := make(chan piece, 4096)
	go func() {
		defer close(pieces)
		for {
			buf := make([]byte, 16<<10)
			n, err := from.Read(buf)
			if n > 0 {
				pieces <- piece{buf[:n], time.Now().Add(d)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			_ = from.Close() // ends the reader
			break
		}
	}
	for range pieces { //nolint:revive // the reader must not wait for ever
	}
	if c, ok := to.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
}

// Dial connects from a node, as a program there would: through its packet filter and its routes.
func (l *Lab) Dial(ctx context.Context, node, network, address string) (c net.Conn, err error) {
	err = l.inside(node, func() error {
		c, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return c, err
}

// inside runs fn in the network of a node in a namespace; a socket that it makes stays there.
func (l *Lab) inside(node string, fn func() error) error {
	if l.IsVM(node) {
		return fmt.Errorf("%s is a virtual machine: nothing of this machine runs in its network", node)
	}
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		ns, err := os.Open("/run/netns/" + l.netns(node))
		if err == nil {
			err = errors.Join(unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET), ns.Close())
		}
		if err == nil {
			err = fn()
		}
		result <- err
	}()
	return <-result
}
