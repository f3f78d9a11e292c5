package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// External are authorities of the user's own, as files by their names in the state directory: ca.crt, ca.key and
// perhaps front-proxy-ca.* and etcd/ca.*.
type External map[string][]byte

// ReadExternal reads the authorities in a directory and proves that they can be used: certificates of authorities that
// may sign, alive for a day at least, each with its key (EC, RSA or PKCS 8, not encrypted). A file ca.crt may hold a
// chain, the signing certificate first. The cluster's authority must be there with its key, for kubelets' certificates
// are signed with it on the control planes; of the two others those that are not there are made by Ensure. The faults,
// with the file's path in "file":
//
//	pki.external-missing   no ca.crt, or half of a pair
//	pki.external-no-key    ca.crt without ca.key
//	pki.external-bad       cannot be used; the cause says why
//	pki.mismatch           the key does not belong to the certificate
//	pki.expired            an authority's life is over, or ends within a day
//	pki.clock, pki.read
func ReadExternal(from string, now time.Time) (External, error) {
	out := External{}
	for _, name := range []string{"ca", "front-proxy-ca", "etcd/ca"} {
		cert, err := readOptional(from, name+".crt")
		if err != nil {
			return nil, err
		}
		key, err := readOptional(from, name+".key")
		if err != nil {
			return nil, err
		}
		switch {
		case cert == nil && key == nil && name != "ca":
			continue
		case cert == nil:
			return nil, externalFault("pki.external-missing", from, name+".crt", nil)
		case key == nil:
			return nil, externalFault("pki.external-no-key", from, name+".key", nil)
		}
		if err := usable(from, name, cert, key, now); err != nil {
			return nil, err
		}
		out[name+".crt"], out[name+".key"] = cert, key
	}
	return out, nil
}

func readOptional(dir, name string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, externalFault("pki.read", dir, name, err)
	}
	return append([]byte{}, data...), nil
}

func externalFault(code, dir, name string, err error, kv ...string) error {
	return event.NewFault(event.ClassPreflight, code, err, append(kv, "file", filepath.Join(dir, name))...)
}

func usable(from, name string, cert, key []byte, now time.Time) error {
	b, _ := pem.Decode(cert)
	if b == nil || b.Type != "CERTIFICATE" {
		return externalFault("pki.external-bad", from, name+".crt", errors.New("not a PEM certificate"))
	}
	c, err := x509.ParseCertificate(b.Bytes)
	if err != nil {
		return externalFault("pki.external-bad", from, name+".crt", err)
	}
	k, err := decodeKey(key)
	if err != nil {
		return externalFault("pki.external-bad", from, name+".key", err)
	}
	switch {
	case !c.IsCA || !c.BasicConstraintsValid:
		return externalFault("pki.external-bad", from, name+".crt",
			errors.New("not the certificate of an authority (CA:TRUE)"))
	case c.KeyUsage != 0 && c.KeyUsage&x509.KeyUsageCertSign == 0:
		return externalFault("pki.external-bad", from, name+".crt",
			errors.New("its key usage does not allow it to sign certificates"))
	case !samePublic(c.PublicKey, k.Public()):
		return externalFault("pki.mismatch", from, name+".crt", nil)
	case now.Add(24 * time.Hour).After(c.NotAfter):
		return externalFault("pki.expired", from, name+".crt", nil, "until", c.NotAfter.UTC().Format(time.DateOnly))
	case now.Before(c.NotBefore):
		return externalFault("pki.clock", from, name+".crt", nil, "from", c.NotBefore.UTC().Format(time.RFC3339), "now",
			now.UTC().Format(time.RFC3339))
	}
	return nil
}

// Differs names a file of the state directory that holds another authority than the external one; "" when there is
// none. An authority is never exchanged under a cluster.
func (e External) Differs(dir string) string {
	for name, want := range e {
		if have, err := os.ReadFile(filepath.Join(dir, name)); err == nil && !bytes.Equal(have, want) {
			return filepath.Join(dir, name)
		}
	}
	return ""
}

// Adopt copies the authorities into the state directory, where they are not there yet; the key goes before its
// certificate. changed lists the files written.
func (e External) Adopt(dir string, now time.Time) (changed []string, err error) {
	if file := e.Differs(dir); file != "" {
		return nil, event.NewFault(event.ClassFailed, "pki.external-differs", nil, "file", file)
	}
	m := &maker{dir: dir, now: now}
	m.directory(".")
	for _, name := range []string{"ca", "front-proxy-ca", "etcd/ca"} {
		if data, ok := e[name+".key"]; ok && !m.exists(name+".key") {
			m.write(name+".key", data, 0o600)
		}
		if data, ok := e[name+".crt"]; ok && !m.exists(name+".crt") {
			m.write(name+".crt", data, 0o644)
		}
	}
	return m.changed, m.err
}

// Signing is the first certificate of an authority's file: what signs, without the chain that proves it.
func (p Pair) Signing() []byte {
	b, rest := pem.Decode(p.Cert)
	if b == nil || len(bytes.TrimSpace(rest)) == 0 {
		return p.Cert
	}
	return pem.EncodeToMemory(b)
}
