package bundle

import (
	"strconv"
	"strings"
)

// The minors of Kubernetes 1 that this program knows: config has the flags of each, and the configurations that are
// written fit all of them.
const (
	OldestMinor = 30
	NewestMinor = 36
)

// Minor returns the minor of a version of Kubernetes: 34 for v1.34.2; 0 when it is none.
func Minor(version string) int {
	rest, ok := strings.CutPrefix(version, "v1.")
	word, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(word)
	if !ok || err != nil || n < 0 {
		return 0
	}
	return n
}
