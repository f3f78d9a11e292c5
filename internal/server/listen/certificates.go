package listen

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// The files of certificates that the server makes itself, in a directory of its own. CAFile is what browsers and curl
// are to trust.
const (
	CAFile   = "ca.crt"
	caKey    = "ca.key"
	certFile = "server.crt"
	keyFile  = "server.key"
)

const (
	caLife   = 10 * 365 * 24 * time.Hour
	certLife = 365 * 24 * time.Hour
	renewal  = 30 * 24 * time.Hour // before the end
	pause    = 10 * time.Second    // between two looks at the files
)

// Certificates are what the server shows. They are read again when their files change, and a certificate of its own is
// made again before it ends: no restart is needed.
type Certificates struct {
	cert, key string
	own       *own // nil: the files are somebody else's
	replaced  bool // the CA of before could not sign for all names
	now       func() time.Time
	sure      func() time.Time // by which the CA is replaced

	mu      sync.Mutex
	have    *tls.Certificate
	from    [2]os.FileInfo
	checked time.Time
	failed  error // why newer files are not used
}

// own is a CA of the server.
type own struct {
	dir   string
	names []string
}

// FromFiles reads a certificate with its chain, and its key.
func FromFiles(cert, key string, now func() time.Time) (*Certificates, error) {
	c := &Certificates{cert: cert, key: key, now: now, sure: now}
	return c, c.read()
}

// SelfMade makes a CA and a certificate for the names and addresses in a directory, or reads the previous ones. The
// keys have mode 0600. The CA, which clients trust, expires by the clock sure, which is never ahead of now.
func SelfMade(dir string, names []string, now, sure func() time.Time) (*Certificates, error) {
	c := &Certificates{cert: filepath.Join(dir, certFile), key: filepath.Join(dir, keyFile), now: now, sure: sure,
		own: &own{dir: dir, names: names}}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, event.NewFault(event.ClassFailed, "listen.make", err, "path", dir)
	}
	if ca, err := c.own.load(CAFile, caKey); err == nil && ca != nil {
		c.replaced = !covers(ca.Leaf, names)
	}
	if err := c.own.ensure(now(), sure()); err != nil {
		return nil, err
	}
	return c, c.read()
}

// Replaced reports whether the server has a new CA, which clients do not trust yet: the previous one cannot sign for
// all names.
func (c *Certificates) Replaced() bool { return c.replaced }

// Config is that of a listener: TLS 1.2 or newer, with AES-GCM, as the API servers of clusters have it.
func (c *Certificates) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, CipherSuites: []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current(), nil }}
}

// Failed says why newer files are not used, nil if they are. The server goes on with those of before.
func (c *Certificates) Failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// Ends is when the certificate in use ends.
func (c *Certificates) Ends() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.have.Leaf.NotAfter
}

func (c *Certificates) current() *tls.Certificate {
	c.mu.Lock()
	now := c.now()
	due := now.Sub(c.checked) >= pause
	if due {
		c.checked = now
	}
	c.mu.Unlock()
	if due {
		var err error
		if c.own != nil {
			err = c.own.ensure(now, c.sure())
		}
		if err = errors.Join(err, c.read()); err != nil {
			c.mu.Lock()
			c.failed = err
			c.mu.Unlock()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.have
}

// read takes the files over if they have changed and fit together.
func (c *Certificates) read() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var from [2]os.FileInfo
	for i, path := range []string{c.cert, c.key} {
		info, err := os.Stat(path)
		if err != nil {
			return event.NewFault(event.ClassUsage, "listen.read", err, "path", path)
		}
		from[i] = info
	}
	if c.have != nil && same(from[0], c.from[0]) && same(from[1], c.from[1]) {
		c.failed = nil
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return event.NewFault(event.ClassUsage, "listen.read", err, "path", c.cert)
	}
	if c.sure().After(pair.Leaf.NotAfter) {
		return event.NewFault(event.ClassUsage, "listen.ended", nil, "path", c.cert, "end",
			pair.Leaf.NotAfter.UTC().Format(time.DateOnly))
	}
	c.have, c.from, c.failed, c.checked = &pair, from, nil, c.now()
	return nil
}

func same(a, b os.FileInfo) bool {
	return b != nil && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

// ensure makes what is missing, ends soon, or lacks a name. While a clock that is not sure says that the CA has ended,
// the certificate is that of the time that is sure.
func (o *own) ensure(now, sure time.Time) error {
	ca, err := o.load(CAFile, caKey)
	if err == nil && (ca == nil || sure.After(ca.Leaf.NotAfter.Add(-renewal)) || !covers(ca.Leaf, o.names)) {
		ca, err = o.make(CAFile, caKey, nil, now)
	}
	if err != nil {
		return err
	}
	if now.After(ca.Leaf.NotAfter.Add(-renewal)) {
		now = sure
	}
	cert, err := o.load(certFile, keyFile)
	if err != nil {
		return err
	}
	// One that begins later was made while the clock was ahead. A CA is kept, too, if the clock is behind for now.
	later := cert != nil && now.Before(cert.Leaf.NotBefore) && !now.Before(ca.Leaf.NotBefore)
	if cert != nil && !later && now.Before(cert.Leaf.NotAfter.Add(-renewal)) &&
		cert.Leaf.CheckSignatureFrom(ca.Leaf) == nil &&
		!slices.ContainsFunc(o.names, func(n string) bool { return cert.Leaf.VerifyHostname(n) != nil }) {
		return nil
	}
	_, err = o.make(certFile, keyFile, ca, now)
	return err
}

// load reads a pair, nil if it is not there or not whole: the key is written first.
func (o *own) load(cert, key string) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(o.dir, cert), filepath.Join(o.dir, key))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil && cert == certFile: // interrupted while the two were replaced
		return nil, nil
	case err != nil:
		return nil, event.NewFault(event.ClassFailed, "listen.read", err, "path", filepath.Join(o.dir, cert))
	}
	return &pair, nil
}

func (o *own) make(cert, key string, by *tls.Certificate, now time.Time) (*tls.Certificate, error) {
	fail := func(err error) error {
		return event.NewFault(event.ClassFailed, "listen.make", err, "path", filepath.Join(o.dir, cert))
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fail(err)
	}
	t, err := template(o.names, by == nil, now)
	if err != nil {
		return nil, fail(err)
	}
	parent, signer := t, any(private)
	if by != nil {
		parent, signer = by.Leaf, by.PrivateKey
		if t.NotAfter.After(parent.NotAfter) {
			t.NotAfter = parent.NotAfter
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, private.Public(), signer)
	if err != nil {
		return nil, fail(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fail(err)
	}
	var text bytes.Buffer
	_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: der}) // a buffer takes all
	if by != nil {
		_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: by.Leaf.Raw})
	}
	err = renameio.WriteFile(filepath.Join(o.dir, key), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY",
		Bytes: encoded}), 0o600, renameio.IgnoreUmask())
	if err == nil {
		err = renameio.WriteFile(filepath.Join(o.dir, cert), text.Bytes(), 0o644, renameio.IgnoreUmask())
	}
	if err != nil {
		return nil, fail(err)
	}
	return o.load(cert, key)
}

// template returns what a certificate says. The CA may sign for the names of this server alone: with its key, no other
// site can be imitated.
func template(names []string, ca bool, now time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{SerialNumber: serial, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certLife),
		Subject: pkix.Name{CommonName: "eggo-server"}, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if ca {
		t.Subject.CommonName = "eggo-server CA " + serial.Text(36)[:8]
		t.NotAfter, t.IsCA, t.MaxPathLenZero = now.Add(caLife), true, true
		t.KeyUsage, t.ExtKeyUsage = x509.KeyUsageCertSign, nil
		constrain(t, names)
		return t, nil
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else if name != "" {
			t.DNSNames = append(t.DNSNames, name)
		}
	}
	return t, nil
}

// Names are what a certificate is for if nothing else is said: this host, and the address of the listener.
func Names(address string, more ...string) []string {
	out := []string{"localhost", "127.0.0.1", "::1"}
	if host, err := os.Hostname(); err == nil {
		out = append(out, host)
	}
	if host, _, err := net.SplitHostPort(address); err == nil && host != "" {
		if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
			out = append(out, host)
		} else if list, err := net.InterfaceAddrs(); err == nil {
			for _, a := range list {
				if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
					out = append(out, n.IP.String())
				}
			}
		}
	}
	out = append(out, more...)
	slices.Sort(out)
	return slices.Compact(out)
}
