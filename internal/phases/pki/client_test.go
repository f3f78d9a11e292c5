package pki

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"
)

// A certificate for a user is of the cluster's CA, for clients alone, and ends soon; nothing is written.
func TestAClientForAUser(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	p, _ := ensure(t, dir, cluster(), now)
	before := listing(t, dir)
	pair, err := Client(dir, "ann", "eggo:viewer", now, now.Add(8*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tls.X509KeyPair(pair.Cert, pair.Key); err != nil {
		t.Error(err)
	}
	c := certOf(t, pair.Cert)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.CA.Cert)
	if _, err := c.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		CurrentTime: now}); err != nil {
		t.Error(err)
	}
	if c.Subject.CommonName != "ann" || c.Subject.Organization[0] != "eggo:viewer" || c.IsCA ||
		!c.NotAfter.Before(now.Add(9*time.Hour)) {
		t.Errorf("%+v", c.Subject)
	}
	if len(listing(t, dir)) != len(before) {
		t.Error("something was written")
	}
	if _, err := Client(t.TempDir(), "ann", "g", now, now); err == nil {
		t.Error("without a CA")
	}
}
