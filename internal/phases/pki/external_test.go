package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// own is an authority as a company has it.
type own struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte
}

func authorityOf(t *testing.T, key crypto.Signer, by *own, edit func(*x509.Certificate)) own {
	t.Helper()
	c := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "Example CA"}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: born.Add(-time.Hour),
		NotAfter: born.Add(1000 * time.Hour), KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign}
	if edit != nil {
		edit(c)
	}
	parent, signer := c, key
	if by != nil {
		c.Subject.CommonName, parent, signer = "Example Intermediate CA", by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return own{parsed, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

func keyPEM(t *testing.T, key crypto.Signer, kind string) []byte {
	t.Helper()
	var der []byte
	var err error
	switch kind {
	case "RSA PRIVATE KEY":
		der = x509.MarshalPKCS1PrivateKey(key.(*rsa.PrivateKey))
	case "EC PRIVATE KEY":
		der, err = x509.MarshalECPrivateKey(key.(*ecdsa.PrivateKey))
	default:
		der, err = x509.MarshalPKCS8PrivateKey(key)
	}
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func ecKey(t *testing.T) crypto.Signer {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func rsaKey(t *testing.T) crypto.Signer {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func put(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// An RSA authority, an intermediate one with its chain, and a PKCS 8 key: every certificate is signed by the user's
// authorities.
func TestTheUsersAuthoritiesAreUsed(t *testing.T) {
	from, dir := t.TempDir(), t.TempDir()
	root := authorityOf(t, rsaKey(t), nil, nil)
	middle := authorityOf(t, rsaKey(t), &root, nil)
	etcd := authorityOf(t, ecKey(t), nil, nil)
	put(t, from, "ca.crt", slices.Concat(middle.pem, root.pem))
	put(t, from, "ca.key", keyPEM(t, middle.key, "RSA PRIVATE KEY"))
	put(t, from, "etcd/ca.crt", etcd.pem)
	put(t, from, "etcd/ca.key", keyPEM(t, etcd.key, "PRIVATE KEY"))
	e, err := ReadExternal(from, born)
	if err != nil {
		t.Fatal(err)
	}
	changed, err := e.Adopt(dir, born)
	if diff := cmp.Diff([]string{"ca.key", "ca.crt", "etcd/ca.key", "etcd/ca.crt"}, changed); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	p, _ := ensure(t, dir, cluster(), born)
	roots := x509.NewCertPool()
	roots.AddCert(root.cert)
	between := x509.NewCertPool()
	between.AddCert(middle.cert)
	for name, leaf := range map[string]Pair{"admin": p.Admin, "apiserver": p.Nodes["m1"].APIServer,
		"kubelet": p.Nodes["w1"].Kubelet} {
		if _, err := parsed(t, leaf.Cert).Verify(x509.VerifyOptions{Roots: roots, Intermediates: between,
			CurrentTime: born, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := parsed(t, p.Nodes["e1"].EtcdPeer.Cert).CheckSignatureFrom(etcd.cert); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(p.CA.Signing(), middle.pem) || !bytes.Equal(p.EtcdCA.Signing(), etcd.pem) {
		t.Error("the controller manager takes one certificate")
	}
	if parsed(t, p.FrontProxyCA.Cert).Subject.CommonName != "front-proxy-ca" {
		t.Error("what the user does not have is made")
	}
	// Twice is once.
	changed, err = e.Adopt(dir, born)
	if _, again := ensure(t, dir, cluster(), born); len(changed)+len(again) > 0 || err != nil {
		t.Errorf("%v %v %v", changed, again, err)
	}
	// Another authority does not take its place.
	e["ca.crt"] = root.pem
	if _, err := e.Adopt(dir, born); err == nil || event.AsFault(err).Code != "pki.external-differs" {
		t.Error(err)
	}
}

func parsed(t *testing.T, data []byte) *x509.Certificate {
	t.Helper()
	b, _ := pem.Decode(data)
	c, err := x509.ParseCertificate(b.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAuthoritiesThatCannotBeUsed(t *testing.T) {
	key, other := ecKey(t), ecKey(t)
	good := authorityOf(t, key, nil, nil)
	edited := func(edit func(*x509.Certificate)) []byte { return authorityOf(t, key, nil, edit).pem }
	for name, c := range map[string]struct {
		files map[string][]byte
		code  string
	}{
		"nothing":        {nil, "pki.external-missing"},
		"no key":         {map[string][]byte{"ca.key": nil}, "pki.external-no-key"},
		"half of etcd's": {map[string][]byte{"etcd/ca.crt": good.pem}, "pki.external-no-key"},
		"half of the proxy": {map[string][]byte{"front-proxy-ca.key": keyPEM(t, key, "EC PRIVATE KEY")},
			"pki.external-missing"},
		"not a certificate": {map[string][]byte{"ca.crt": []byte("x")}, "pki.external-bad"},
		"not a key":         {map[string][]byte{"ca.key": []byte("x")}, "pki.external-bad"},
		"encrypted key": {map[string][]byte{"ca.key": pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY",
			Bytes: []byte("x")})}, "pki.external-bad"},
		"another's key": {map[string][]byte{"ca.key": keyPEM(t, other, "PRIVATE KEY")}, "pki.mismatch"},
		"no authority": {map[string][]byte{"ca.crt": edited(func(c *x509.Certificate) { c.IsCA = false })},
			"pki.external-bad"},
		"may not sign": {map[string][]byte{"ca.crt": edited(func(c *x509.Certificate) {
			c.KeyUsage = x509.KeyUsageDigitalSignature
		})}, "pki.external-bad"},
		"over": {map[string][]byte{"ca.crt": edited(func(c *x509.Certificate) { c.NotAfter = born.Add(time.Hour) })},
			"pki.expired"},
		"not yet": {map[string][]byte{"ca.crt": edited(func(c *x509.Certificate) {
			c.NotBefore = born.Add(time.Hour)
		})}, "pki.clock"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if name != "nothing" {
				put(t, dir, "ca.crt", good.pem)
				put(t, dir, "ca.key", keyPEM(t, key, "EC PRIVATE KEY"))
			}
			for file, data := range c.files {
				if data == nil {
					if err := os.Remove(filepath.Join(dir, file)); err != nil {
						t.Fatal(err)
					}
					continue
				}
				put(t, dir, file, data)
			}
			_, err := ReadExternal(dir, born)
			f := event.AsFault(err)
			if f == nil || f.Code != c.code || f.Args["file"] == "" || f.Class != event.ClassPreflight {
				t.Errorf("%+v", f)
			}
		})
	}
}
