package main

import (
	"net"
	"os"
	"strings"
)

// notifier says to systemd that requests are answered, so that what follows the start of the unit finds the setup token
// and the CA. Without systemd it does nothing. Runs do not inherit the socket.
func notifier() func(address string) {
	socket := os.Getenv("NOTIFY_SOCKET")
	_ = os.Unsetenv("NOTIFY_SOCKET")
	return func(string) { notify(socket) }
}

// notify sends the message. If that fails, systemd ends the start with a timeout and says so.
func notify(socket string) {
	if socket == "" {
		return
	}
	if rest, abstract := strings.CutPrefix(socket, "@"); abstract {
		socket = "\x00" + rest
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return
	}
	defer c.Close()
	_, _ = c.Write([]byte("READY=1"))
}
