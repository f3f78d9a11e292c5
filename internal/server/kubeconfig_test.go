package server

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// issued is what is read of a kubeconfig.
type issued struct {
	Users []struct {
		Name string
		User struct {
			Cert []byte `json:"client-certificate-data"`
			Key  []byte `json:"client-key-data"`
		}
	}
	Clusters []struct {
		Cluster struct{ Server string }
	}
}

// A kubeconfig for the caller is valid for the hours that were asked for, has the rights of his role by a group, and is
// of a user whom no binding of the cluster means, whatever the name.
func TestAKubeconfigForTheCaller(t *testing.T) {
	const hostile = "kube-apiserver-kubelet-client" // the rights of a cluster bind a User of this name
	s := begin(t)
	s.rights.roles[hostile] = "viewer"
	s.running()
	s.installed()
	var mu sync.Mutex
	var bound []string
	api := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		of := struct{ RoleRef struct{ Name string } }{}
		if err := json.Unmarshal(body, &of); err == nil && r.Method == "PATCH" {
			mu.Lock()
			defer mu.Unlock()
			bound = append(bound, filepath.Base(r.URL.Path)+" "+of.RoleRef.Name)
		}
	}))
	t.Cleanup(api.Close)
	if err := os.WriteFile(filepath.Join(s.root, "one", "admin.conf"), []byte(adminOf(api)), 0o600); err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(s.root, "one", "pki", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	for _, c := range []struct {
		who, body, group string
		hours            time.Duration
	}{
		{"vera", `{"hours":2}`, "eggo:viewer", 2}, {"otto", `{}`, "eggo:operator", 8},
		{"ann", `{"hours":72}`, "eggo:admin", 72}, {hostile, `{}`, "eggo:viewer", 8},
	} {
		a := s.want(s.call(c.who, "POST", "/api/v1/clusters/one/kubeconfig", c.body), 200, "")
		var k issued
		if err := json.Unmarshal([]byte(a.text), &k); err != nil || len(k.Users) != 1 || len(k.Clusters) != 1 ||
			k.Clusters[0].Cluster.Server != api.URL || len(k.Users[0].User.Key) == 0 {
			t.Fatalf("%v %s", err, a.text)
		}
		block, _ := pem.Decode(k.Users[0].User.Cert)
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		left := time.Until(cert.NotAfter)
		if left > c.hours*time.Hour || left < c.hours*time.Hour-time.Minute || cert.IsCA ||
			cert.Subject.CommonName != "eggo:"+c.who || !slices.Equal(cert.Subject.Organization, []string{c.group}) {
			t.Errorf("%s: %s, for %s", c.who, cert.Subject, left)
		}
		if _, err := cert.Verify(x509.VerifyOptions{Roots: roots,
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
			t.Error(err)
		}
	}
	want := "eggo:viewer view, eggo:operator edit, eggo:admin cluster-admin, eggo:viewer view"
	if got := strings.Join(bound, ", "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s.want(s.call("vera", "POST", "/api/v1/clusters/one/kubeconfig", `{"hours":73}`), 422, "api.request")
	if a := s.call("vera", "GET", "/api/v1/openapi.yaml", ""); !strings.Contains(a.text, "It cannot be revoked.") {
		t.Error("the document does not say that a kubeconfig cannot be revoked")
	}
	if a := s.want(s.call("ann", "GET", "/api/v1/clusters/one/kubeconfig", ""), 200, ""); a.text != adminOf(api) {
		t.Error(a.text)
	}
}
