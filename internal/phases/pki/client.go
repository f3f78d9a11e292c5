package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"time"
)

// Client issues a certificate for a user in a group, by the cluster's CA in dir. It is written nowhere. Nobody can take
// it back before its end, which is why that comes soon.
func Client(dir, user, group string, now, until time.Time) (Pair, error) {
	m := &maker{dir: dir, now: now}
	ca := signer{m.parseCert("ca.crt", m.read("ca.crt")), m.parseKey("ca.key", m.secret("ca.key"))}
	if m.err != nil {
		return Pair{}, m.err
	}
	key := m.newKey("client")
	if m.err != nil {
		return Pair{}, m.err
	}
	t := &x509.Certificate{
		Subject: pkix.Name{CommonName: user, Organization: []string{group}}, NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}
	out := Pair{Cert: m.sign("client", t, ca.cert, ca.key, key.Public()), Key: m.encodeKey("client", key)}
	return out, m.err
}
