package bundle

import (
	"time"

	"github.com/google/renameio/v2"
)

// lockPoll is how often a lock that another process holds is tried.
const lockPoll = 100 * time.Millisecond

// writeFileSync replaces a file atomically, on the disk when it returns.
func writeFileSync(name string, data []byte) error {
	return renameio.WriteFile(name, data, 0o600)
}
