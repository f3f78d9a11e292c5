package runs

import (
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/phases/pki"
)

// What the schedule of renewals goes by: the first end among the certificates that a renewal makes last longer, and
// among the CAs, which it does not.
func TestEnds(t *testing.T) {
	r := runner(t)
	if leaf, authority := r.Ends("one"); !leaf.IsZero() || !authority.IsZero() {
		t.Error(leaf, authority)
	}
	const day = 24 * time.Hour
	old := time.Now().Add(-340 * day) // certificates are for a year
	if _, _, err := pki.Ensure(filepath.Join(r.o.Root, "one", "pki"), pki.Spec{Domain: "cluster.local",
		Endpoint: "192.0.2.1", ServiceGateway: netip.MustParseAddr("10.32.0.1")}, old); err != nil {
		t.Fatal(err)
	}
	leaf, authority := r.Ends("one")
	if in := time.Until(leaf); in < 20*day || in > pki.RenewAhead {
		t.Error("the first certificate ends in", in)
	}
	if in := time.Until(authority); in < 8*365*day {
		t.Error("the first CA ends in", in)
	}
	if first := r.Expiry("one"); !first.Equal(leaf) {
		t.Error(first, leaf)
	}
}

// Nothing is kept in memory of a cluster that is no more.
func TestNothingIsKeptOfARemovedCluster(t *testing.T) {
	r := New(Options{Root: t.TempDir(), Data: t.TempDir()})
	r.SetSecrets("one", "ann", map[string]string{"password": "hunter2"})
	r.Waits("one", "20261121T000003Z-run")
	if len(r.asked) != 1 {
		t.Fatal("nothing was kept before")
	}
	if err := r.Removed("one"); err != nil {
		t.Fatal(err)
	}
	if len(r.asked)+len(r.secrets)+len(r.ways) > 0 {
		t.Errorf("%v %v %v", r.asked, r.secrets, r.ways)
	}
}
