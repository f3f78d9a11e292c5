package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
	"github.com/eggo-k8s/eggo/test/lab/upstream"
)

// account is the user of a registry; its password may change.
type account struct {
	password atomic.Value
	pulled   atomic.Int32 // requests with the right password
}

func (a *account) is(r *http.Request) bool {
	user, password, ok := r.BasicAuth()
	return ok && user == "eggo" && password == a.password.Load()
}

// privateRegistry is a registry over TLS, with a certificate of a CA of its own and behind a password, on the lab's
// address of this machine. It has agnhost under a name that no bundle has.
func privateRegistry(t *testing.T, s *stand.Stand, a *account) (address, ca string) {
	t.Helper()
	ctx := t.Context()
	cert, pool, ca := serverOfOwnCA(t, s)
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(s.Lab.HostAddress(), "0"))
	must(t, "registry", err)
	store := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	srv := &http.Server{ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !a.is(r) {
				w.Header().Set("WWW-Authenticate", `Basic realm="lab"`)
				http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"login"}]}`, http.StatusUnauthorized)
				return
			}
			if r.Method == http.MethodGet {
				a.pulled.Add(1)
			}
			store.ServeHTTP(w, r)
		})}
	go func() {
		_ = srv.Serve(tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert},
			MinVersion: tls.VersionTLS12}))
	}()
	context.AfterFunc(ctx, func() { _ = srv.Close() })

	spec, err := upstream.LoadSpec("")
	must(t, "spec", err)
	up, err := upstream.Serve(ctx, "", "127.0.0.1:0", spec)
	must(t, "upstream", err)
	from, err := name.ParseReference(up.Addr+"/registry.k8s.io/e2e-test-images/agnhost:2.57", name.Insecure)
	must(t, "image", err)
	index, err := remote.Index(from, remote.WithContext(ctx))
	must(t, "image", err)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	transport.Proxy = nil
	for _, tag := range []string{"1", "2"} {
		to, err := name.ParseReference(l.Addr().String() + "/own/private:" + tag)
		must(t, tag, err)
		must(t, tag, remote.WriteIndex(to, index, remote.WithContext(ctx), remote.WithTransport(transport),
			remote.WithAuth(&authn.Basic{Username: "eggo", Password: a.password.Load().(string)})))
	}
	return l.Addr().String(), ca
}

// serverOfOwnCA is a certificate for the lab's address of this machine, of a CA in a file.
func serverOfOwnCA(t *testing.T, s *stand.Stand) (tls.Certificate, *x509.CertPool, string) {
	t.Helper()
	made := func(c, by *x509.Certificate, key, signer *ecdsa.PrivateKey) []byte {
		c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, c, by, key.Public(), signer)
		must(t, "certificate", err)
		return der
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, "key", err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, "key", err)
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Registry CA"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	root := made(ca, ca, caKey, caKey)
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "registry"},
		IPAddresses: []net.IP{net.ParseIP(s.Lab.HostAddress())}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der := made(leaf, ca, key, caKey)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root})
	file := filepath.Join(s.Dir, "registry-ca.crt")
	must(t, "ca.crt", os.WriteFile(file, text, 0o600))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool, file
}

// nameserver answers every question for an IPv4 address with one, on port 53 of the lab's address of this machine.
func nameserver(t *testing.T, s *stand.Stand, answer string) {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", net.JoinHostPort(s.Lab.HostAddress(), "53"))
	must(t, "nameserver", err)
	context.AfterFunc(t.Context(), func() { _ = conn.Close() })
	go func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type,
					Class: q.Class, TTL: 1}, Body: &dnsmessage.AResource{A: [4]byte(net.ParseIP(answer).To4())}}}
			}
			if out, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(out, from)
			}
		}
	}()
}

// pullsPrivate runs a pod of an image that only the registry has, and says whether it came.
func pullsPrivate(t *testing.T, s *stand.Stand, pod, image string) {
	t.Helper()
	ctx := t.Context()
	out, err := s.Kubectl(ctx, "run", pod, "--image="+image, "--restart=Never", "--overrides",
		`{"spec":{"tolerations":[{"operator":"Exists"}]}}`, "--", "pause")
	must(t, "run "+pod+": "+out, err)
	if out, err := s.Kubectl(ctx, "wait", "--for=condition=Ready", "pod/"+pod, "--timeout=180s"); err != nil {
		why, _ := s.Kubectl(ctx, "describe", "pod", pod)
		t.Errorf("%s: %v %s\n%s", pod, err, out, tail(why, 15))
	}
}

// TestPrivateRegistry: a node pulls images from a registry with a password and a CA of its own; the password changes;
// the registry is removed from deploy.yaml. Labels, taints and the servers of the cluster DNS go the same way.
func TestPrivateRegistry(t *testing.T) {
	full(t)
	s := newLab(t, 1)
	ctx := t.Context()
	a := &account{}
	a.password.Store("first-horse-battery")
	address, ca := privateRegistry(t, s, a)
	n1, err := s.Lab.Address("n1")
	must(t, "address", err)
	nameserver(t, s, n1)
	before := untouched(t, s, 1)
	base, err := s.Deploy("root.yaml", "private", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "deploy.yaml", err)
	t.Setenv("REGISTRY_PASSWORD", "first-horse-battery")
	file, err := s.Vary(base, "private.yaml", "eggo:\n", `eggo:
  registries: {'`+address+`': {username: eggo, password-from: 'env:REGISTRY_PASSWORD', ca-path: `+ca+`}}
  nodes: {n1: {labels: {node-role.kubernetes.io/edge: '', disk: ssd}, taints: ['dedicated=edge:PreferNoSchedule']}}
  dns-upstreams: [`+s.Lab.HostAddress()+`]
`)
	must(t, "private.yaml", err)
	try(t, s, 0, "deploy", "-f", file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 1))

	s.Say("== an image of the registry, and a name that only its server knows")
	pullsPrivate(t, s, "first", address+"/own/private:1")
	if a.pulled.Load() == 0 {
		t.Error("nobody has logged in to the registry")
	}
	out, err := s.Kubectl(ctx, "exec", "first", "--", "/agnhost", "connect", "--timeout=5s",
		"api.upstream.example:6443")
	must(t, "a name of the server of deploy.yaml: "+out, err)
	hasLabels(t, s, "edge", "ssd", "dedicated=edge:PreferNoSchedule")
	if out := onFirst(t, s, "stat -c %a /var/lib/kubelet/config.json"); strings.TrimSpace(out) != "600" {
		t.Errorf("the login has mode %s", out)
	}
	noSecret(t, s, "first-horse-battery")
	try(t, s, 0, "deploy", "-f", file)
	noChange(t, s.State(), "private")

	s.Say("== another password, other labels")
	a.password.Store("second-horse-battery")
	t.Setenv("REGISTRY_PASSWORD", "second-horse-battery")
	_, err = s.Kubectl(ctx, "label", "node", "n1", "theirs=1")
	must(t, "label", err)
	other, err := s.Vary(file, "other.yaml", "node-role.kubernetes.io/edge: '', disk: ssd", "disk: hdd",
		"taints: ['dedicated=edge:PreferNoSchedule']", "taints: []")
	must(t, "other.yaml", err)
	try(t, s, 0, "deploy", "-f", other)
	pullsPrivate(t, s, "second", address+"/own/private:2")
	hasLabels(t, s, "", "hdd", "")
	noSecret(t, s, "second-horse-battery")

	s.Say("== none of it any more")
	try(t, s, 0, "deploy", "-f", base)
	hasLabels(t, s, "", "", "")
	if out := onFirst(t, s,
		"ls /var/lib/kubelet/config.json /etc/containerd/certs.d/* 2>/dev/null || true"); out != "" {
		t.Errorf("left on the node: %s", out)
	}
	if out, err := s.Kubectl(ctx, "get", "node", "n1", "-o", "jsonpath={.metadata.labels.theirs}"); err != nil ||
		out != "1" {
		t.Errorf("somebody else's label: %q %v", out, err)
	}
	try(t, s, 0, "cleanup", "-f", base, "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 1) })
}

// hasLabels wants the Node to have the role edge or not, a value of the label disk, and a taint or none.
func hasLabels(t *testing.T, s *stand.Stand, role, disk, taint string) {
	t.Helper()
	for what, want := range map[string]string{
		`{.metadata.labels.disk}`: disk,
		`{range .spec.taints[?(@.key=="dedicated")]}{.key}={.value}:{.effect}{end}`: taint,
	} {
		if out, err := s.Kubectl(t.Context(), "get", "node", "n1", "-o", "jsonpath="+what); err != nil || out != want {
			t.Errorf("%s: %q %v, want %q", what, out, err, want)
		}
	}
	out, err := s.Kubectl(t.Context(), "get", "nodes", "-l", "node-role.kubernetes.io/edge", "-o", "name")
	if err != nil || (out != "") != (role != "") {
		t.Errorf("nodes with the role edge: %q %v", out, err)
	}
}

// noSecret wants no file of the state directory and no journal of the node to have a secret.
func noSecret(t *testing.T, s *stand.Stand, secret string) {
	t.Helper()
	err := filepath.WalkDir(s.State(), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), secret) {
			t.Errorf("%s has the password", path)
		}
		return err
	})
	must(t, "state", err)
	if out := onFirst(t, s, "journalctl -o cat | grep -c "+secret+" || true"); strings.TrimSpace(out) != "0" {
		t.Errorf("%s lines of the journal have the password", out)
	}
}
