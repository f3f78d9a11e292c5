package pki

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// CheckTakeOver says whether the authorities of a cluster that others have made and its service account key can be
// used. They were read from the directory from of a machine: the faults are those of ReadExternal.
func CheckTakeOver(from string, files map[string][]byte, now time.Time) error {
	for _, name := range []string{"ca", "front-proxy-ca", "etcd/ca"} {
		if err := usable(from, name, files[name+".crt"], files[name+".key"], now); err != nil {
			return err
		}
	}
	if _, err := decodeKey(files["sa.key"]); err != nil {
		return externalFault("pki.external-bad", from, "sa.key", err)
	}
	return nil
}

// TakeOver puts them and the configuration of secrets at rest into dir, when CheckTakeOver has found nothing. What is
// there already and is another one is pki.external-differs: an authority is never exchanged.
func TakeOver(dir string, files map[string][]byte, now time.Time) error {
	names := []string{"ca.key", "ca.crt", "front-proxy-ca.key", "front-proxy-ca.crt", "etcd/ca.key", "etcd/ca.crt",
		"sa.key", "encryption-config.yaml"}
	for _, name := range names {
		have, err := os.ReadFile(filepath.Join(dir, name))
		if want, is := files[name]; err == nil && is && !bytes.Equal(have, want) {
			return event.NewFault(event.ClassFailed, "pki.external-differs", nil, "file", filepath.Join(dir, name))
		}
	}
	m := &maker{dir: dir, now: now}
	m.directory(".")
	for _, name := range names {
		mode := os.FileMode(0o600)
		if filepath.Ext(name) == ".crt" {
			mode = 0o644
		}
		if data, is := files[name]; is && !m.exists(name) {
			m.write(name, data, mode)
		}
	}
	return m.err
}

// IsPublic says whether what a file has are public keys of this private key, and none but these.
func IsPublic(private, public []byte) bool {
	key, err := decodeKey(private)
	if err != nil {
		return false
	}
	is, ok := key.Public().(interface{ Equal(x crypto.PublicKey) bool })
	all := publicKeys(public)
	return ok && len(all) > 0 && !slices.ContainsFunc(all, func(other any) bool { return !is.Equal(other) })
}

// publicKeys are those in a file, as API servers read it; nil for one that cannot be read.
func publicKeys(data []byte) []any {
	var out []any
	for {
		b, rest := pem.Decode(data)
		if b == nil {
			return out
		}
		data = rest
		var key any
		switch b.Type {
		case "PUBLIC KEY":
			key, _ = x509.ParsePKIXPublicKey(b.Bytes)
		case "RSA PUBLIC KEY":
			if rsa, err := x509.ParsePKCS1PublicKey(b.Bytes); err == nil {
				key = rsa
			}
		case "CERTIFICATE":
			if crt, err := x509.ParseCertificate(b.Bytes); err == nil {
				key = crt.PublicKey
			}
		default: // a private key has its public one, too; parameters and others are no keys
			if !strings.HasSuffix(b.Type, "PRIVATE KEY") {
				continue
			}
			if own, err := decodeKey(pem.EncodeToMemory(b)); err == nil {
				key = own.Public()
			}
		}
		out = append(out, key)
	}
}
