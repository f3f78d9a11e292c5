package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/renameio/v2"
)

// request is what a leaf must say.
type request struct {
	cn, org        string
	client, server bool
	dns            []string
	ips            []netip.Addr
}

type signer struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// maker works in one directory and stops at its first error.
type maker struct {
	dir     string
	now     time.Time
	after   time.Time // leaves of before are reissued
	settled bool      // leaves are there, so all that comes before them was
	changed []string
	err     error
}

// directory makes a directory under dir, or takes the rights of others on one that is there.
func (m *maker) directory(name string) {
	if m.err != nil {
		return
	}
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		m.fail("pki.write", name, err)
		return
	}
	if err := os.Chmod(path, 0o700); err != nil {
		m.fail("pki.write", name, err)
	}
}

// read returns nil without an error when the file is not there.
func (m *maker) read(name string) []byte {
	if m.err != nil {
		return nil
	}
	data, err := os.ReadFile(filepath.Join(m.dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.fail("pki.read", name, err)
	}
	if err == nil && data == nil {
		data = []byte{} // there, and empty
	}
	return data
}

// secret is read for a file that only its owner may read; a copy or a restore may have left it open.
func (m *maker) secret(name string) []byte {
	data := m.read(name)
	if data == nil || m.err != nil {
		return nil
	}
	path := filepath.Join(m.dir, name)
	if st, err := os.Stat(path); err == nil && st.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(path, 0o600); err != nil {
			m.fail("pki.write", name, err)
		}
	}
	return data
}

func (m *maker) write(name string, data []byte, mode os.FileMode) {
	if dir := filepath.Dir(name); dir != "." {
		m.directory(dir)
	}
	if m.err != nil {
		return
	}
	path := filepath.Join(m.dir, name)
	if err := renameio.WriteFile(path, data, mode, renameio.WithTempDir(filepath.Dir(path)),
		renameio.WithStaticPermissions(mode)); err != nil {
		m.fail("pki.write", name, err)
		return
	}
	m.changed = append(m.changed, name)
}

// leaf keeps the certificate if it does what is wanted, else reissues it with a new key.
func (m *maker) leaf(name string, ca *signer, out *Pair, want request) {
	key, cert := m.secret(name+".key"), m.read(name+".crt")
	if m.err != nil {
		return
	}
	if key != nil && cert != nil {
		have := signer{m.parseCert(name+".crt", cert), m.parseKey(name+".key", key)}
		if m.err != nil {
			return
		}
		if m.serves(have, ca, want) {
			*out = Pair{Cert: cert, Key: key}
			return
		}
	}
	t := &x509.Certificate{
		Subject: pkix.Name{CommonName: want.cn}, NotAfter: m.now.Add(leafLife), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: want.usages(), BasicConstraintsValid: true,
	}
	if want.org != "" {
		t.Subject.Organization = []string{want.org}
	}
	if ca.cert.NotAfter.Before(t.NotAfter) {
		t.NotAfter = ca.cert.NotAfter
	}
	for _, d := range want.dns {
		if !slices.Contains(t.DNSNames, d) {
			t.DNSNames = append(t.DNSNames, d)
		}
	}
	for _, ip := range want.ips {
		if !ip.IsValid() || ip.IsUnspecified() {
			m.fail("pki.make", name+".crt", fmt.Errorf("%v is not an address for a certificate", ip))
			return
		}
		if !hasIP(t.IPAddresses, ip) {
			t.IPAddresses = append(t.IPAddresses, ip.Unmap().AsSlice())
		}
	}
	own := m.newKey(name + ".key")
	if own == nil {
		return
	}
	// The key first: when this is cut off in between, key and certificate do not belong together, and both are made
	// again.
	out.Key = m.encodeKey(name+".key", own)
	out.Cert = m.sign(name+".crt", t, ca.cert, ca.key, own.Public())
	m.write(name+".key", out.Key, 0o600)
	m.write(name+".crt", out.Cert, 0o644)
}

// serves says whether a leaf can stay. It covers the names that are asked for and no others: the address of a machine
// that left may be somebody else's tomorrow.
func (m *maker) serves(have signer, ca *signer, want request) bool {
	c := have.cert
	if !samePublic(c.PublicKey, have.key.Public()) || c.CheckSignatureFrom(ca.cert) != nil {
		return false
	}
	// One that ends with its authority cannot be made to last longer.
	ending := !m.now.Add(renewAhead).Before(c.NotAfter) && c.NotAfter.Before(ca.cert.NotAfter)
	if ending || m.now.Before(c.NotBefore) || c.NotBefore.Add(backdate).Before(m.after.Truncate(time.Second)) {
		return false
	}
	var orgs []string
	if want.org != "" {
		orgs = []string{want.org}
	}
	if c.Subject.CommonName != want.cn || !slices.Equal(c.Subject.Organization, orgs) ||
		!slices.Equal(c.ExtKeyUsage, want.usages()) {
		return false
	}
	for _, d := range want.dns {
		if !slices.Contains(c.DNSNames, d) {
			return false
		}
	}
	for _, ip := range want.ips {
		if !hasIP(c.IPAddresses, ip) {
			return false
		}
	}
	moreDNS := slices.ContainsFunc(c.DNSNames, func(d string) bool { return !slices.Contains(want.dns, d) })
	moreIPs := slices.ContainsFunc(c.IPAddresses, func(have net.IP) bool {
		return !slices.ContainsFunc(want.ips, func(ip netip.Addr) bool { return hasIP([]net.IP{have}, ip) })
	})
	return !moreDNS && !moreIPs
}

func hasIP(list []net.IP, want netip.Addr) bool {
	return slices.ContainsFunc(list, func(x net.IP) bool {
		a, ok := netip.AddrFromSlice(x)
		return ok && a.Unmap() == want.Unmap()
	})
}

func (r request) usages() []x509.ExtKeyUsage {
	var u []x509.ExtKeyUsage
	if r.server {
		u = append(u, x509.ExtKeyUsageServerAuth)
	}
	if r.client {
		u = append(u, x509.ExtKeyUsageClientAuth)
	}
	return u
}

func (m *maker) newKey(name string) *ecdsa.PrivateKey {
	if m.settled && !isLeaf(name) {
		m.fail("pki.lost", name, nil)
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		m.fail("pki.make", name, err)
	}
	return key
}

// isLeaf says whether the key of that name can be replaced without harm.
func isLeaf(name string) bool {
	return !slices.Contains([]string{"ca.key", "front-proxy-ca.key", "etcd/ca.key", "sa.key"}, name)
}

// sign gives the certificate t, signed by parent's key, as PEM.
func (m *maker) sign(name string, t, parent *x509.Certificate, by crypto.Signer, public crypto.PublicKey) []byte {
	var err error
	if t.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		m.fail("pki.make", name, err)
		return nil
	}
	t.NotBefore = m.now.Add(-backdate)
	der, err := x509.CreateCertificate(rand.Reader, t, parent, public, by)
	if err != nil {
		m.fail("pki.make", name, err)
		return nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func (m *maker) encodeKey(name string, key *ecdsa.PrivateKey) []byte {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		m.fail("pki.make", name, err)
		return nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

func (m *maker) parseCert(name string, data []byte) *x509.Certificate {
	if m.err != nil {
		return nil
	}
	b, _ := pem.Decode(data)
	if b == nil || b.Type != "CERTIFICATE" {
		m.fail("pki.damaged", name, errors.New("not a PEM certificate"))
		return nil
	}
	cert, err := x509.ParseCertificate(b.Bytes)
	if err != nil {
		m.fail("pki.damaged", name, err)
	}
	return cert
}

func (m *maker) parseKey(name string, data []byte) crypto.Signer {
	if m.err != nil {
		return nil
	}
	key, err := decodeKey(data)
	if err != nil {
		m.fail("pki.damaged", name, err)
		return nil
	}
	return key
}

// decodeKey reads a private key as openssl and others write it: EC, RSA or PKCS 8, not encrypted.
func decodeKey(data []byte) (crypto.Signer, error) {
	for {
		b, rest := pem.Decode(data)
		if b == nil {
			return nil, errors.New("not a PEM private key")
		}
		data = rest
		switch {
		case b.Type == "ENCRYPTED PRIVATE KEY" || b.Headers["DEK-Info"] != "":
			return nil, errors.New("the key is encrypted")
		case b.Type == "EC PRIVATE KEY":
			return x509.ParseECPrivateKey(b.Bytes)
		case b.Type == "RSA PRIVATE KEY":
			return x509.ParsePKCS1PrivateKey(b.Bytes)
		case b.Type == "PRIVATE KEY":
			key, err := x509.ParsePKCS8PrivateKey(b.Bytes)
			if err != nil {
				return nil, err
			}
			signer, ok := key.(crypto.Signer)
			if !ok {
				return nil, errors.New("a key that cannot sign")
			}
			return signer, nil
		}
	}
}

// samePublic says whether two public keys are one.
func samePublic(a, b crypto.PublicKey) bool {
	x, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && x.Equal(b)
}

// serviceAccount reads or makes the key that signs service account tokens.
func (m *maker) serviceAccount(out *KeyPair) {
	const name = "sa.key"
	data := m.secret(name)
	var key crypto.Signer
	if data != nil {
		key = m.parseKey(name, data)
	} else if m.err == nil {
		if own := m.newKey(name); own != nil {
			key, data = own, m.encodeKey(name, own)
			m.write(name, data, 0o600)
		}
	}
	if m.err != nil {
		return
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		m.fail("pki.make", name, err)
		return
	}
	*out = KeyPair{Private: data, Public: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})}
}

// encryption reads or makes the API server's configuration for secrets at rest (apiserver.config.k8s.io/v1). Without
// its key the secrets in etcd are lost, so it is never made again.
func (m *maker) encryption(out *[]byte) {
	const name = "encryption-config.yaml"
	if *out = m.secret(name); *out != nil || m.err != nil {
		return
	}
	if m.settled {
		m.fail("pki.lost", name, nil)
		return
	}
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		m.fail("pki.make", name, err)
		return
	}
	*out = fmt.Appendf(nil, `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - secretbox:
      keys:
      - {name: key1, secret: %s}
  - identity: {}
`, base64.StdEncoding.EncodeToString(key))
	m.write(name, *out, 0o600)
}
