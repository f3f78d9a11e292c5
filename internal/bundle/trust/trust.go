// Package trust decides on the control host whether a bundle may be installed: who signed it, and whether that key is
// one of those that the host knows (docs/decisions/0020-signatures-on-deploy.md).
package trust

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/sign"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// State is what is known of who made a bundle.
type State string

// The states. Only Signed is beyond doubt. Unsigned and Stranger (signed with a key that nobody has said anything
// about) are let through while the host knows no signer; Overridden by who was told why not.
const (
	Signed     State = "signed"
	Unsigned   State = "unsigned"
	Stranger   State = "unknown-signer"
	Overridden State = "overridden"
)

// Result on a bundle that may be installed.
type Result struct {
	State       State
	Identity    string       // of Signed: as the list of signers has it
	KeyType     string       // of Signed and Stranger
	Fingerprint string       // likewise
	Why         *event.Fault // of Overridden: what it would have been refused for
}

// Checker holds bundles against the signers that are known.
type Checker struct {
	Allowed *sign.AllowedSigners // nil: none is known
	// AllowUnsigned lets everything through that would be refused, but not what a person refuses.
	AllowUnsigned bool
	// SignedOnly refuses what a known signer did not sign also while none is known: "trust.unsigned", "trust.foreign".
	SignedOnly bool
	Now        func() time.Time
	// Ask says whether the key that made a signature is to be trusted from now on, while none is known; asked is false
	// when nobody can be asked. nil: nobody can.
	Ask func(ctx context.Context, q Question) (yes, asked bool, err error)
}

// Question about a key that nobody has said anything about.
type Question struct {
	File     string
	Manifest *bundle.Manifest
	Signer   sign.Unlisted
}

// Check decides about the bundle at a path, by the text of its SHA256SUMS and the signature beside it. Nothing of the
// bundle but its head needs to be read before. The faults, all of class bundle: "trust.unsigned" when there is no
// signature and signers are known, "trust.altered" when it is another bundle's, "trust.foreign" when none of the
// signers made it, "trust.refused" when the person who was asked does not trust the key, "trust.signature-read", and
// the others of sign.Verify. A signature that does not fit the bundle is refused also while no signer is known.
func (j *Checker) Check(ctx context.Context, path string, m *bundle.Manifest, sums []byte) (Result, error) {
	v, err := j.check(ctx, path, m, sums)
	if err == nil || ctx.Err() != nil {
		return v, err
	}
	if f := event.AsFault(err); j.AllowUnsigned && f.Class == event.ClassBundle && f.Code != "trust.refused" {
		return Result{State: Overridden, Why: f}, nil
	}
	return Result{}, err
}

func (j *Checker) check(ctx context.Context, path string, m *bundle.Manifest, sums []byte) (Result, error) {
	name := bundle.SignatureOf(path)
	armored, err := readSignature(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && j.Allowed == nil && !j.SignedOnly:
		return Result{State: Unsigned}, nil
	case errors.Is(err, fs.ErrNotExist):
		return Result{}, event.NewFault(event.ClassBundle, "trust.unsigned", nil, "file", path, "signature", name)
	case err != nil:
		return Result{}, event.NewFault(event.ClassBundle, "trust.signature-read", err, "signature", name)
	}
	if j.Allowed != nil {
		check := sign.Check{Namespace: sign.Namespace, Allowed: j.Allowed, Now: j.Now()}
		s, err := sign.Verify(ctx, armored, bytes.NewReader(sums), check)
		if err != nil {
			return Result{}, named(err, path, name)
		}
		return Result{State: Signed, Identity: s.Identity, KeyType: s.KeyType, Fingerprint: s.Fingerprint}, nil
	}
	s, err := sign.Fits(ctx, armored, bytes.NewReader(sums), sign.Namespace)
	if err != nil {
		return Result{}, named(err, path, name)
	}
	if j.SignedOnly {
		return Result{}, event.NewFault(event.ClassBundle, "trust.foreign", nil, "file", path, "key", s.Fingerprint)
	}
	v := Result{State: Stranger, KeyType: s.KeyType, Fingerprint: s.Fingerprint}
	if j.Ask == nil {
		return v, nil
	}
	yes, asked, err := j.Ask(ctx, Question{path, m, s})
	switch {
	case err != nil:
		return Result{}, err
	case !asked:
		return v, nil
	case !yes:
		return Result{}, event.NewFault(event.ClassBundle, "trust.refused", nil, "file", path, "key", s.Fingerprint)
	}
	v.State, v.Identity = Signed, Unnamed(s)
	return v, nil
}

// named says of which bundle it is that a signature is not what it should be.
func named(err error, path, signature string) error {
	f := (*event.Fault)(nil)
	if !errors.As(err, &f) {
		return err
	}
	switch f.Code {
	case "sign.mismatch":
		return event.NewFault(event.ClassBundle, "trust.altered", nil, "file", path, "signature", signature, "key",
			f.Args["key"])
	case "sign.untrusted":
		return event.NewFault(event.ClassBundle, "trust.foreign", nil, "file", path, "key", f.Args["key"])
	}
	return err
}

// Unnamed is the name of a signer whose key was trusted without one: a signature does not say whose it is.
func Unnamed(s sign.Unlisted) string {
	const shown = 8
	return "unnamed-" + s.Fingerprint[len("SHA256:"):][:shown]
}

// readSignature reads a signature file; a fifo or a device is not one.
func readSignature(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, pathless(err)
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, errors.Join(errors.New("not a regular file"), err)
	}
	return io.ReadAll(io.LimitReader(f, sign.MaxSignature+1))
}

func pathless(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
