package bundles

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/sign"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/buildtest"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// kit returns the path of a bundle.
func kit(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bundle.tar.gz")
	if err := phasestest.WriteBundle(file); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestInspect(t *testing.T) {
	file := kit(t)
	s := pod.Source{Path: file, Claim: "packages"}
	none := filepath.Join(t.TempDir(), "none")
	r := Inspect(t.Context(), s, none)
	if r.Fault != nil || r.Version != phasestest.Version || r.Arch != "amd64" || r.Size == 0 || r.SignedBy != "" ||
		!strings.HasPrefix(r.Digest, "sha256:") {
		t.Fatalf("%+v %v", r, r.Fault)
	}
	pair, err := sign.Generate("", nil)
	if err != nil {
		t.Fatal(err)
	}
	line, err := pair.AllowedLine("release@example.com")
	if err != nil {
		t.Fatal(err)
	}
	signers := filepath.Join(t.TempDir(), "allowed_signers")
	if err := os.WriteFile(signers, []byte(line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := Inspect(t.Context(), s, signers); r.Fault == nil || r.Fault.Code != "trust.unsigned" ||
		strings.Contains(r.Fault.Args["file"], file) {
		t.Errorf("%+v", r.Fault)
	}
	key := filepath.Join(t.TempDir(), "key")
	if err := pair.Save(key); err != nil {
		t.Fatal(err)
	}
	signer, err := sign.Load(t.Context(), key, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := bundle.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	armored, err := sign.Sign(context.Background(), signer, sign.Namespace, bytes.NewReader(a.Sums()))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bundle.SignatureOf(file), armored, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := Inspect(t.Context(), s, signers); r.Fault != nil || r.SignedBy != "release@example.com" {
		t.Errorf("%+v %v", r, r.Fault)
	}
}

// An archive that was packed by hand is named, and its report is short enough.
func TestInspectByHand(t *testing.T) {
	dir, file := filepath.Join(t.TempDir(), "tree"), filepath.Join(t.TempDir(), "packages.tar.gz")
	if err := errors.Join(buildtest.Handmade(dir, "amd64", true), buildtest.Pack(file, dir)); err != nil {
		t.Fatal(err)
	}
	r := Inspect(t.Context(), pod.Source{Path: file, Claim: "packages"}, "")
	if r.Fault == nil {
		t.Fatalf("%+v", r)
	}
	text, next := i18n.NewPrinter(i18n.English).Fault(r.Fault)
	if !strings.Contains(text, "packages/packages.tar.gz") || !strings.Contains(next, "eggo-bundle adopt") {
		t.Error(text, next)
	}
	if text := r.encode(); len(text) > mostReport || !json.Valid(text) {
		t.Errorf("%s", text)
	}
}

// A report fits into a termination message, whatever the bundle says.
func TestReportsAreShort(t *testing.T) {
	long := strings.Repeat("x", 8000)
	args := map[string]string{}
	for _, k := range strings.Split("a b c d e f g h i j k l m n o p q r s t u v w", " ") {
		args[k] = long
	}
	for _, r := range []Report{
		{Version: long}, {Fault: &event.Fault{Code: "bundle.x", Class: event.ClassBundle, Cause: long}},
		{Fault: &event.Fault{Code: "bundle.x", Class: event.ClassBundle, Args: args}},
	} {
		text := r.encode()
		var got Report
		if len(text) > mostReport || json.Unmarshal(text, &got) != nil || got.Fault == nil {
			t.Errorf("%d bytes: %.100s", len(text), text)
		}
	}
}

func TestRun(t *testing.T) {
	file, out := kit(t), filepath.Join(t.TempDir(), "report")
	source, err := json.Marshal(pod.Source{Path: file, Claim: "packages"})
	if err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), string(source), out); err != nil {
		t.Fatal(err)
	}
	var r Report
	text, err := os.ReadFile(out)
	if err != nil || json.Unmarshal(text, &r) != nil || r.Version != phasestest.Version {
		t.Errorf("%s %v", text, err)
	}
	for _, text := range []string{"", "{}", "x"} {
		if err := Run(t.Context(), text, out); code(err) != "bundles.source" {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := Run(t.Context(), string(source), filepath.Join(out, "x")); code(err) != "bundles.scratch" {
		t.Error(err)
	}
}
