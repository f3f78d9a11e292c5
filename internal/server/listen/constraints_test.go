package listen_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/server/listen"
)

// authority reads the CA of a directory.
func authority(t *testing.T, dir string) tls.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, listen.CAFile), filepath.Join(dir, "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// trusted reports whether a client that trusts a CA trusts what its key signs for a name.
func trusted(t *testing.T, ca tls.Certificate, name string) bool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if ip := net.ParseIP(name); ip != nil {
		c.IPAddresses = []net.IP{ip}
	} else {
		c.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, ca.Leaf, key.Public(), ca.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.Leaf)
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name})
	return err == nil
}

// The key of the server's CA signs for this server, and for no other site: browsers that trust the CA refuse the rest.
// It stays while it can sign for all names, and is replaced when it cannot.
func TestTheCASignsForThisServerAlone(t *testing.T) {
	dir := t.TempDir()
	names := []string{"localhost", "127.0.0.1", "::1", "jump1", "eggo.example", "*.lab.example", "192.0.2.7",
		"10.1.2.3"}
	certs, err := selfMade(dir, names, time.Now)
	if err != nil || certs.Unbounded() || certs.Replaced() {
		t.Fatal(err, certs)
	}
	ca := authority(t, dir)
	for name, want := range map[string]bool{"localhost": true, "jump1": true, "eggo.example": true,
		"a.lab.example": true,
		"127.0.0.1":     true, "::1": true, "192.0.2.7": true, "10.1.2.3": true, "192.168.7.7": true, "fd00::1": true,
		"bank.example": false, "example": false, "eggo.example.org": false, "notjump1": false, "192.0.2.8": false,
		"2001:db8::1": false} {
		if trusted(t, ca, name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	for _, c := range []struct {
		names []string
		stays bool
	}{
		{names, true}, {names[:2], true}, {append(names[:len(names):len(names)], "172.17.0.1", "b.eggo.example"), true},
		{append(names[:len(names):len(names)], "other.example"), false}, {[]string{"192.0.2.9"}, false},
	} {
		before := authority(t, dir)
		certs, err := selfMade(dir, c.names, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if stays := authority(t, dir).Leaf.Equal(before.Leaf); stays != c.stays || certs.Replaced() == c.stays {
			t.Errorf("%q: it stays: %v; replaced: %v", c.names, stays, certs.Replaced())
		}
	}
}

// A CA of an earlier version, which signs for any name, is used as before: clients trust it. That it may is known.
func TestACAOfBefore(t *testing.T) {
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), IsCA: true,
		BasicConstraintsValid: true, NotAfter: time.Now().Add(10000 * time.Hour), KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{listen.CAFile: {Type: "CERTIFICATE", Bytes: der},
		"ca.key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	certs, err := selfMade(dir, []string{"127.0.0.1", "any.example"}, time.Now)
	if err != nil || !certs.Unbounded() || certs.Replaced() {
		t.Fatal(err, certs)
	}
	at := serve(t, http.HandlerFunc(hello), listen.Usual(), certs)
	answer, err := trusting(t, dir, time.Now).Get("https://" + at)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
}

// Browsers keep to TLS for a host with a name. Not for localhost and addresses, and not without TLS.
func TestBrowsersKeepToTLS(t *testing.T) {
	dir := t.TempDir()
	certs, err := selfMade(dir, []string{"127.0.0.1"}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	safe, plain := serve(t, http.HandlerFunc(hello), listen.Usual(), certs), serve(t, http.HandlerFunc(hello),
		listen.Usual(), nil)
	client := trusting(t, dir, time.Now)
	for _, c := range []struct {
		url, host string
		want      bool
	}{
		{"https://" + safe, "eggo.example", true}, {"https://" + safe, "eggo.example:7443", true},
		{"https://" + safe, "localhost:7443", false}, {"https://" + safe, "x.LOCALHOST.", false},
		{"https://" + safe, safe, false}, {"https://" + safe, "[::1]:7443", false},
		{"http://" + plain, "eggo.example", false},
	} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Host = c.host
		answer, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if got := answer.Header.Get("Strict-Transport-Security"); (got != "") != c.want {
			t.Errorf("%s for %s: %q", c.url, c.host, got)
		}
	}
}

// TLS 1.2 has the ciphers that the API servers of clusters have, and none in the mode CBC.
func TestCiphers(t *testing.T) {
	dir := t.TempDir()
	certs, err := selfMade(dir, []string{"127.0.0.1"}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	at := serve(t, http.HandlerFunc(hello), listen.Usual(), certs)
	for suite, want := range map[uint16]bool{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: true, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: true,
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: false, tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: false,
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256: false,
	} {
		pool := x509.NewCertPool()
		pool.AddCert(authority(t, dir).Leaf)
		c, err := tls.Dial("tcp", at, &tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS12,
			CipherSuites: []uint16{suite}})
		if err == nil {
			c.Close()
		}
		if (err == nil) != want {
			t.Errorf("%s: %v", tls.CipherSuiteName(suite), err)
		}
	}
}
