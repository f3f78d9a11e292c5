package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"testing"
)

// A file has the public key of a private one in each of the forms that API servers read, and nothing else.
func TestPublicKeysOfAPrivateOne(t *testing.T) {
	own, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, der []byte, err error) []byte {
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	}
	pkix := func(key any) []byte {
		der, err := x509.MarshalPKIXPublicKey(key)
		return block("PUBLIC KEY", der, err)
	}
	private := block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(own), nil)
	parameters := block("EC PARAMETERS", []byte("x"), nil)
	crt := block("CERTIFICATE", []byte("x"), nil)
	for name, c := range map[string]struct {
		public []byte
		want   bool
	}{
		"as kubeadm writes it": {pkix(own.Public()), true},
		"as openssl rsa does":  {block("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&own.PublicKey), nil), true},
		"the private one":      {private, true},
		"with parameters":      {slices.Concat(parameters, private), true},
		"twice":                {slices.Concat(pkix(own.Public()), pkix(own.Public())), true},
		"another":              {pkix(other.Public()), false},
		"another beside it":    {slices.Concat(pkix(own.Public()), pkix(other.Public())), false},
		"a bad certificate":    {slices.Concat(pkix(own.Public()), crt), false},
		"none":                 {[]byte("x"), false},
	} {
		if got := IsPublic(private, c.public); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if IsPublic([]byte("x"), pkix(own.Public())) {
		t.Error("no private key has one")
	}
}
