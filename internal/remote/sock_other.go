//go:build !linux

package remote

import (
	"net"
	"time"
)

func setUserTimeout(net.Conn, time.Duration) {}
