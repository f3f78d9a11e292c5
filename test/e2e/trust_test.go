package e2e

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/sign"
	"github.com/eggo-k8s/eggo/internal/testkit/bundletest"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// signer is a key, and its line for a list of signers.
type signer struct{ key, list string }

func newSigner(t *testing.T, name string) signer {
	t.Helper()
	s := signer{filepath.Join(t.TempDir(), name), filepath.Join(t.TempDir(), name+".signers")}
	pair, err := sign.Generate(name, nil)
	must(t, "key", err)
	line, err := pair.AllowedLine(name)
	must(t, "key", errors.Join(err, pair.Save(s.key), os.WriteFile(s.list, []byte(line), 0o600)))
	return s
}

// sign puts the signature beside a bundle.
func (s signer) sign(t *testing.T, file string) {
	t.Helper()
	a, err := bundle.Open(file)
	must(t, "bundle", err)
	key, err := sign.Load(t.Context(), s.key, "", nil)
	must(t, "key", err)
	armored, err := sign.Sign(t.Context(), key, sign.Namespace, bytes.NewReader(a.Sums()))
	must(t, "signature", errors.Join(err, os.WriteFile(bundle.SignatureOf(file), armored, 0o600)))
}

// TestTrust: which bundles a control host installs. Altered, foreign, unsigned and hostile ones are refused before
// anything of them is unpacked, and nothing is touched; the one that a known signer signed passes, and is installed
// from.
func TestTrust(t *testing.T) {
	turn(t, 1)
	s := newLab(t, 1)
	good, err := s.Deploy("good.yaml", "trust", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "deploy.yaml", err)
	dir := t.TempDir()
	mine, other := newSigner(t, "mine"), newSigner(t, "other")
	at := func(name string) string { return filepath.Join(dir, name+".tar.gz") }
	for _, name := range []string{"signed", "unsigned", "foreign"} {
		must(t, name, os.Symlink(s.Bundle, at(name)))
	}
	must(t, "altered", bundletest.Forge(s.Bundle, at("altered"), func(m *bundle.Manifest) {
		m.Members[0].Version = "altered"
	}))
	must(t, "hostile", bundletest.Forge(s.Bundle, at("hostile"), func(m *bundle.Manifest) {
		i := slices.IndexFunc(m.Members, func(e bundle.Member) bool { return e.Kind == bundle.Binary })
		m.Members[i].Dst = "/etc/sudoers.d"
	}))
	mine.sign(t, at("signed"))
	mine.sign(t, at("hostile"))
	other.sign(t, at("foreign"))
	must(t, "the old signature", os.Rename(at("signed")+".sig", at("altered")+".sig"))
	mine.sign(t, at("signed"))
	with := func(name string) string {
		file, err := s.Vary(good, name+".yaml", s.Bundle, at(name))
		must(t, name, err)
		return file
	}
	before := untouched(t, s, 1)
	refused := func(name string, args []string, words ...string) {
		t.Helper()
		got := try(t, s, 6, append([]string{"deploy", "-f", with(name)}, args...)...)
		if err := got.Has(append(words, "Suggested fix: ")...); err != nil {
			t.Error(err)
		}
		noChange(t, s.State(), "trust")
		if staged, _ := filepath.Glob(filepath.Join(s.State(), "bundles", "*", "members")); len(staged) > 0 {
			t.Errorf("%s: unpacked: %q", name, staged)
		}
	}

	s.Say("== while no signer is known")
	refused("altered", nil, "trust.altered", "altered.tar.gz")
	refused("hostile", nil, "bundle.outside", "/etc/sudoers.d/")

	s.Say("== one is known")
	try(t, s, 0, "signers", "add", mine.list)
	refused("altered", nil, "trust.altered")
	refused("foreign", nil, "trust.foreign", "SHA256:")
	refused("unsigned", nil, "trust.unsigned", "unsigned.tar.gz.sig")
	refused("hostile", nil, "bundle.outside", "/etc/sudoers.d/")
	refused("hostile", []string{"--allow-unsigned"}, "bundle.outside")
	refused("signed", []string{"--signers", other.list}, "trust.foreign")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 1) })

	s.Say("== the right one")
	if err := try(t, s, 0, "preflight", "-f",
		with("signed")).Has("is signed by mine (ssh-ed25519 SHA256:"); err != nil {
		t.Error(err)
	}
	if err := try(t, s, 0, "preflight", "-f", with("unsigned"), "--allow-unsigned").Has("trust.override"); err != nil {
		t.Error(err)
	}
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 1) })
	try(t, s, 0, "deploy", "-f", with("signed"))
	if err := try(t, s, 0, "status", "--id", "trust").Has("is signed by mine (ssh-ed25519 SHA256:"); err != nil {
		t.Error(err)
	}
	// The stage is there now, and is no way past the question.
	refusedAgain := try(t, s, 6, "deploy", "-f", with("unsigned"))
	if err := refusedAgain.Has("trust.unsigned"); err != nil {
		t.Error(err)
	}
	try(t, s, 0, "cleanup", "--id", "trust", "--purge", "--yes")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 1) })
}
