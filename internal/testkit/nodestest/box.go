package nodestest

import (
	"context"
	"errors"
	"io"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Box is a bundle that is only its manifest.
type Box struct{ Is *bundle.Manifest }

// Manifest is the bundle's.
func (b Box) Manifest() *bundle.Manifest { return b.Is }

// Open has no member to open.
func (Box) Open(string) (io.ReadSeekCloser, error) { return nil, errors.ErrUnsupported }

// Images has none.
func (Box) Images(context.Context, []string) (bundle.File, error) {
	return bundle.File{}, errors.ErrUnsupported
}

// Codes are findings as a test wants them: each with its severity and its code.
func Codes(all []event.Finding) []string {
	var out []string
	for _, f := range all {
		out = append(out, string(f.Severity)+" "+f.Fault.Code)
	}
	return out
}
