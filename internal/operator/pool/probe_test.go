package pool

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/dial"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

// code returns that of a fault; "" if the error is none.
func code(err error) string {
	if f := event.AsFault(err); f != nil {
		return f.Code
	}
	return ""
}

// A real login: nothing is sent to a machine whose key is not known, and no key stays on the disk.
func TestSSH(t *testing.T) {
	server := remotetest.New(t, remotetest.WithUser("root", "right"))
	dir := t.TempDir()
	s := &SSH{Dialer: dial.New(dial.Options{}), Dir: dir}
	target := Target{Name: "m1", IP: netip.MustParseAddr("127.0.0.1"), Port: server.Port, Login: Login{User: "root",
		Password: "right", SudoPassword: "right"}}
	_, err := s.Probe(t.Context(), target)
	f := event.AsFault(err)
	if f == nil || f.Code != "ssh.hostkey-unknown" || !strings.HasPrefix(f.Args["fingerprint"], "SHA256:") {
		t.Fatalf("%v", err)
	}
	key := f.Args["key"]
	if fingerprint(key) != f.Args["fingerprint"] {
		t.Errorf("%s is not the fingerprint of %s", f.Args["fingerprint"], key)
	}
	first := target
	first.FirstUse = true
	got, err := s.Probe(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.HostKeys) != 1 || got.HostKeys[0] != key || got.Facts.Kernel == "" || got.Facts.Arch == "" {
		t.Errorf("%+v", got)
	}
	target.HostKeys = []string{key + " somebody@somewhere"}
	if got, err = s.Probe(t.Context(), target); err != nil || len(got.HostKeys) != 1 {
		t.Errorf("%+v %v", got, err)
	}
	wrong := target
	wrong.Login.Password = "wrong"
	if _, err = s.Probe(t.Context(), wrong); err == nil || event.AsFault(err).Class != event.ClassAuth {
		t.Error(err)
	}
	server.ChangeHostKey()
	other := target
	other.FirstUse = true
	if _, err = s.Probe(t.Context(), other); code(err) != "ssh.hostkey-changed" {
		t.Error(err)
	}
	own := &SSH{Dialer: dial.New(dial.Options{Own: config.SpecialAddresses}), Dir: dir}
	if _, err = own.Probe(t.Context(), target); code(err) != "ssh.own-address" {
		t.Error(err)
	}
	full := &SSH{Dialer: s.Dialer, Dir: filepath.Join(dir, "missing")}
	if _, err = full.Probe(t.Context(), target); code(err) != "pool.scratch" {
		t.Error(err)
	}
	if err = full.Purge(t.Context(), target); code(err) != "pool.scratch" {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error("keys are left behind: ", left, err)
	}
}
