package pki

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Certificate is what one says of itself.
type Certificate struct {
	Name        string    `json:"name"` // of its file in the directory, without .crt
	Node        string    `json:"node,omitempty"`
	Subject     string    `json:"subject"`
	Issuer      string    `json:"issuer"`
	Names       []string  `json:"names,omitempty"` // DNS names and addresses that it is valid for
	Authority   bool      `json:"authority,omitempty"`
	NotBefore   time.Time `json:"not_before"`
	NotAfter    time.Time `json:"not_after"`
	Fingerprint string    `json:"fingerprint"` // sha256 of the certificate, hex
}

// RenewAhead is how long before its end a leaf is reissued by itself.
const RenewAhead = renewAhead

// List reads all certificates under dir, authorities first. The faults are pki.read and pki.damaged, as of Ensure.
func List(dir string) ([]Certificate, error) {
	var out []Certificate
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return event.NewFault(event.ClassFailed, "pki.read", err, "file", path)
		}
		if d.IsDir() || !strings.HasSuffix(path, ".crt") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return event.NewFault(event.ClassFailed, "pki.read", err, "file", path)
		}
		c, err := Describe(data)
		if err != nil {
			return event.NewFault(event.ClassFailed, "pki.damaged", err, "file", path)
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		c.Name = strings.TrimSuffix(filepath.ToSlash(rel), ".crt")
		if w := strings.Split(c.Name, "/"); len(w) == 3 && w[0] == "nodes" {
			c.Node = w[1]
		}
		out = append(out, c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(out, func(a, b Certificate) int {
		switch {
		case a.Authority == b.Authority:
			return strings.Compare(a.Node+"\x00"+a.Name, b.Node+"\x00"+b.Name)
		case a.Authority:
			return -1
		}
		return 1
	})
	return out, nil
}

// Renewable are the leaves among certificates of a directory that a renewal makes last longer: one that ends with its
// authority, or after it, ends then whatever is done.
func Renewable(list []Certificate) []Certificate {
	return slices.DeleteFunc(slices.Clone(list), func(c Certificate) bool {
		return c.Authority || slices.ContainsFunc(list, func(a Certificate) bool {
			return a.Authority && a.Subject == c.Issuer && !c.NotAfter.Before(a.NotAfter)
		})
	})
}

// Describe reads the first certificate of a PEM text.
func Describe(text []byte) (Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return Certificate{}, errors.New("no certificate in it")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return Certificate{}, err
	}
	return Of(c), nil
}

// Of describes a certificate.
func Of(c *x509.Certificate) Certificate {
	sum := sha256.Sum256(c.Raw)
	out := Certificate{Subject: c.Subject.String(), Issuer: c.Issuer.String(), Authority: c.IsCA,
		NotBefore: c.NotBefore.UTC(), NotAfter: c.NotAfter.UTC(),
		Fingerprint: hex.EncodeToString(sum[:]), Names: slices.Clone(c.DNSNames)}
	for _, ip := range c.IPAddresses {
		out.Names = append(out.Names, ip.String())
	}
	return out
}
