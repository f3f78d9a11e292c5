package build

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle/deb"
)

// A build that is stopped does not read the metadata of a distribution to its end first.
func TestMetadataIsReadUntilTheBuildIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stanza := "Package: a\nVersion: 1\nArchitecture: amd64\nFilename: a.deb\nSize: 1\nSHA256: " +
		strings.Repeat("0", 64) + "\n\n"
	reads := 0
	endless := readFunc(func(p []byte) (int, error) {
		if reads++; reads == 3 {
			cancel()
		} else if reads > 9 {
			return 0, io.EOF
		}
		return copy(p, stanza), nil
	})
	err := deb.NewIndex("amd64").AddFrom(until(ctx, endless), deb.Repository{})
	if !errors.Is(err, context.Canceled) || reads != 3 {
		t.Errorf("%v after %d reads", err, reads)
	}
}
