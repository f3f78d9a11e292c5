package trust

import (
	"io"
	"os"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle/sign"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// maxSigners bounds the file, in bytes.
const maxSigners = 1 << 20

// Lines are those of an allowed_signers file, which has to be understood, or that of a public key under an identity.
func Lines(file, identity string) ([]string, error) {
	if identity == "" {
		if _, err := ReadFile(file); err != nil {
			return nil, err
		}
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "trust.file", err, "file", file)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSigners))
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "trust.file", err, "file", file)
	}
	if identity == "" {
		return strings.Split(string(data), "\n"), nil
	}
	line, err := sign.PublicLine(string(data), identity)
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "trust.file", err, "file", file)
	}
	return []string{line}, nil
}
