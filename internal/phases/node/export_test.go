package node

import (
	"io"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
)

// Joined reads files one after the other.
func Joined(ups []shell.Upload) io.ReadSeekCloser { return join(ups) }
