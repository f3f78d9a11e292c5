package staging

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/sign"
	"github.com/eggo-k8s/eggo/internal/bundle/trust"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// TestAnArchitectureWithoutABundle: a deploy.yaml that names no bundle for a machine's architecture says so.
func TestAnArchitectureWithoutABundle(t *testing.T) {
	s := New(t.TempDir()).Session(operation.BundleUse{})
	defer s.Release()
	_, err := s.Stage(t.Context(), config.BundleSource{Arch: "arm64"})
	if f := event.AsFault(err); f == nil || f.Code != "bundle.no-source" || f.Args["arch"] != "arm64" {
		t.Errorf("%v", err)
	}
}

// TestSignedOnly: a session that takes only what a known signer signed takes nothing else while no signer is known, and
// whatever else is allowed.
func TestSignedOnly(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	sums := []byte("sums\n")
	unsigned, signed := filepath.Join(dir, "unsigned.tar.gz"), filepath.Join(dir, "signed.tar.gz")
	pair, err := sign.Generate("someone", nil)
	if err != nil {
		t.Fatal(err)
	}
	line, err := pair.AllowedLine("someone")
	file := filepath.Join(dir, "key")
	if err = errors.Join(err, pair.Save(file)); err != nil {
		t.Fatal(err)
	}
	signer, err := sign.Load(t.Context(), file, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer signer.Close()
	text, err := sign.Sign(t.Context(), signer, sign.Namespace, bytes.NewReader(sums))
	if err = errors.Join(err, os.WriteFile(bundle.SignatureOf(signed), text, 0o600)); err != nil {
		t.Fatal(err)
	}
	vouched := func(path string) string {
		s := New(root).Session(operation.BundleUse{SignedOnly: true, Trust: request.Trust{AllowUnsigned: true},
			Emit: func(event.Event) error { return nil }}).(*Session)
		if f := event.AsFault(s.vouch(t.Context(), path, &bundle.Manifest{}, sums)); f != nil {
			return f.Code
		}
		return ""
	}
	for path, want := range map[string]string{unsigned: "trust.unsigned", signed: "trust.foreign"} {
		if got := vouched(path); got != want {
			t.Errorf("no signer is known, %s: %q, want %q", path, got, want)
		}
	}
	if _, err := trust.In(root).Add([]string{line}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{unsigned: "trust.unsigned", signed: ""} {
		if got := vouched(path); got != want {
			t.Errorf("the signer is known, %s: %q, want %q", path, got, want)
		}
	}
}
