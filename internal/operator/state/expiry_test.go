package state

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// certificate returns a certificate that its own key signs, as the file of a pki.
func certificate(t *testing.T, name, issuer string, authority bool, until time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	is := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: until,
		NotBefore: until.AddDate(-1, 0, 0), IsCA: authority, BasicConstraintsValid: true}
	parent := &x509.Certificate{Subject: pkix.Name{CommonName: issuer}}
	der, err := x509.CreateCertificate(rand.Reader, is, parent, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestExpiry(t *testing.T) {
	at := time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)
	late := at.AddDate(9, 0, 0)
	files := map[string][]byte{
		"ca.crt": certificate(t, "ca", "ca", true, late), "ca.key": []byte("no certificate"),
		"admin.crt":            certificate(t, "admin", "ca", false, at.AddDate(0, 1, 0)),
		"nodes/m1/kubelet.crt": certificate(t, "m1", "ca", false, at),
		"short.crt":            certificate(t, "short", "short", true, at.AddDate(0, -2, 0)),
		"of-short.crt":         certificate(t, "x", "short", false, at.AddDate(0, -2, 0)), // it ends with its authority
	}
	archive, err := pack(files)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data map[string][]byte
		want time.Time
		code string
	}{
		"the first leaf":   {map[string][]byte{"pki.tgz": archive}, at, ""},
		"no certificate":   {nil, time.Time{}, ""},
		"a broken archive": {map[string][]byte{"pki.tgz": []byte("x")}, time.Time{}, "state.damaged"},
	} {
		s := &corev1.Secret{Data: c.data}
		s.Namespace, s.Name = "lab", v1.StateSecret("demo", v1.StatePKI)
		got, err := Expiry(t.Context(), fake.NewClientBuilder().WithObjects(s).Build(), "lab", "demo")
		code := ""
		if err != nil {
			code = event.AsFault(err).Code
		}
		if !got.Equal(c.want) || code != c.code {
			t.Errorf("%s: %v %q, want %v %q", name, got, code, c.want, c.code)
		}
	}
	if got, err := Expiry(t.Context(), fake.NewClientBuilder().Build(), "lab", "demo"); err != nil || !got.IsZero() {
		t.Errorf("without a Secret: %v, %v", got, err)
	}
}
