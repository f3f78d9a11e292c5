package certs_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/certs"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// one is a cluster of a single control plane, and what was persisted of it.
func one(t *testing.T) (*certs.Certs, *[]input.Kept) {
	t.Helper()
	var kept []input.Kept
	now := time.Now()
	return certs.New(&input.Env{StateDir: t.TempDir(), Now: func() time.Time { return now },
		Persist: func(_ context.Context, what input.Kept) error { kept = append(kept, what); return nil },
		Cluster: &config.Cluster{Name: "c", DNSDomain: "cluster.local", Endpoint: "192.0.2.1:6443",
			ServiceGateway: netip.MustParseAddr("10.32.0.1"), Nodes: []config.Node{{Name: "m1",
				IP: netip.MustParseAddr("192.0.2.1"), Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd}}}}}), &kept
}

// Certificates are made once, and persisted before anybody is told that they are there.
func TestCertificatesAreMadeOnce(t *testing.T) {
	r, kept := one(t)
	if r.PKI() != nil {
		t.Fatal("certificates before they were made")
	}
	if err := r.EnsurePKI(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := r.PKI()
	if first == nil || !slices.Contains(*kept, input.KeptPKI) {
		t.Fatalf("made %v, persisted %v", first != nil, *kept)
	}
	if err := r.EnsurePKI(t.Context()); !errors.Is(err, engine.ErrUnchanged) {
		t.Error("a second time:", err)
	}
	if string(r.PKI().CA.Cert) != string(first.CA.Cert) {
		t.Error("there is another CA")
	}
	conf, err := r.AdminConf()
	if err != nil || !strings.Contains(string(conf), "server: https://192.0.2.1:6443") {
		t.Errorf("%v\n%s", err, conf)
	}
}

// A CA that could not be persisted is nobody's to use.
func TestCertificatesThatAreNotPersisted(t *testing.T) {
	r, _ := one(t)
	r.Persist = func(context.Context, input.Kept) error { return os.ErrPermission }
	if err := r.EnsurePKI(t.Context()); event.AsFault(err).Code != "state.write" || r.PKI() != nil {
		t.Error(err, r.PKI() != nil)
	}
}

// What only reads makes no certificates: they would be another cluster's.
func TestCertificatesAreNotMadeByReading(t *testing.T) {
	r, _ := one(t)
	for code, read := range map[string]func(context.Context) error{"snapshot.no-state": r.OpenPKI,
		"status.no-pki": r.HavePKI} {
		if err := read(t.Context()); event.AsFault(err).Code != code {
			t.Errorf("%s: %v", code, err)
		}
	}
	if _, err := os.Stat(filepath.Join(r.StateDir, "pki")); err == nil || r.PKI() != nil {
		t.Error("certificates were made")
	}
}
