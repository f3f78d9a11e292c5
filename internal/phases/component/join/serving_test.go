package join

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/eggo-k8s/eggo/internal/config"
)

// Only a node's own request for its own name and address is approved.
func TestWhoMayServeAsANode(t *testing.T) {
	type request struct {
		spec *certificatesv1.CertificateSigningRequestSpec
		csr  *x509.CertificateRequest
	}
	worker := config.Node{Name: "w1", IP: netip.MustParseAddr("192.0.2.21")}
	for name, c := range map[string]struct {
		spoil func(r request)
		want  string
	}{
		"its own":           {func(request) {}, ""},
		"address only":      {func(r request) { r.csr.DNSNames = nil }, ""},
		"another node asks": {func(r request) { r.spec.Username = "system:node:m1" }, "asks for it"},
		"a user asks":       {func(r request) { r.spec.Groups = []string{"system:authenticated"} }, "asks for it"},
		"another's subject": {func(r request) { r.csr.Subject.CommonName = "system:node:m1" }, "it is for"},
		"masters": {func(r request) {
			r.csr.Subject.Organization = []string{"system:nodes", "system:masters"}
		}, "it is for"},
		"client use": {func(r request) { r.spec.Usages = append(r.spec.Usages, certificatesv1.UsageClientAuth) },
			"the use"},
		"no server": {func(r request) { r.spec.Usages = r.spec.Usages[:1] }, "not for a server"},
		"the API's name": {func(r request) { r.csr.DNSNames = append(r.csr.DNSNames, "kubernetes.default") },
			"the name"},
		"a wildcard": {func(r request) { r.csr.DNSNames = []string{"*"} }, "the name"},
		"another address": {func(r request) {
			r.csr.IPAddresses = append(r.csr.IPAddresses, net.ParseIP("192.0.2.11"))
		}, "the address"},
		"no name": {func(r request) { r.csr.DNSNames, r.csr.IPAddresses = nil, nil }, "no names"},
		"an address of the web": {func(r request) {
			r.csr.URIs = []*url.URL{{Scheme: "https", Host: "x"}}
		}, "others besides"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request{
				&certificatesv1.CertificateSigningRequestSpec{Username: "system:node:w1",
					Groups: []string{"system:nodes", "system:authenticated"},
					Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature,
						certificatesv1.UsageServerAuth}},
				&x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:w1",
					Organization: []string{"system:nodes"}}, DNSNames: []string{"w1"},
					IPAddresses: []net.IP{net.ParseIP("192.0.2.21")}},
			}
			c.spoil(r)
			key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			der, err := x509.CreateCertificateRequest(rand.Reader, r.csr, key)
			if err != nil {
				t.Fatal(err)
			}
			r.spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
			err = mayServe(worker, r.spec)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("want %q, got %v", c.want, err)
			}
		})
	}
	if err := mayServe(worker, &certificatesv1.CertificateSigningRequestSpec{Username: "system:node:w1",
		Groups: []string{"system:nodes"}, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageServerAuth},
		Request: []byte("x")}); err == nil {
		t.Error("what is no request was approved")
	}
}
