// Package shell holds what is asked of a node's shell and what comes back: the values between internal/remote, which
// carries them, and internal/phases, which fills them in. Neither knows the other.
package shell

import (
	"io"
	"strings"

	"al.essio.dev/pkg/shellescape"
)

// Command is a script, and what it gets.
type Command struct {
	Script string            // POSIX sh; values are quoted (Quote) or passed in Env
	Env    map[string]string // exported before the script; sent over stdin like it
	Stdin  []byte            // given to the script as its standard input; up to 16 MiB
	Secret bool              // neither script nor output is logged or emitted
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

// Upload is a file that a node gets.
type Upload struct {
	Path   string // absolute, on the node; its directory must exist
	Mode   uint32 // permission bits
	Size   int64
	SHA256 string // lower-case hex
	Open   func() (io.ReadSeekCloser, error)
	What   string // for progress
}

// Quote makes one word of a script from any text.
func Quote(text string) string { return shellescape.Quote(text) }

// QuoteAll makes a word of each text.
func QuoteAll(texts []string) string {
	words := make([]string, len(texts))
	for i, text := range texts {
		words[i] = Quote(text)
	}
	return strings.Join(words, " ")
}
