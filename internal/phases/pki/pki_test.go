package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

var born = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func cluster() Spec {
	return Spec{
		Domain: "air.gap", ServiceGateway: netip.MustParseAddr("10.32.0.1"), Endpoint: "api.example.com",
		ExtraDNS: []string{"extra.example.com"}, ExtraIPs: []netip.Addr{netip.MustParseAddr("192.0.2.9")},
		Machines: []Machine{
			{Name: "m1", IP: netip.MustParseAddr("192.0.2.1"), ControlPlane: true, Etcd: true, Kubelet: true},
			{Name: "w1", IP: netip.MustParseAddr("2001:db8::2"), Kubelet: true},
			{Name: "e1", IP: netip.MustParseAddr("192.0.2.3"), Etcd: true},
		},
	}
}

func ensure(t *testing.T, dir string, s Spec, now time.Time) (*PKI, []string) {
	t.Helper()
	p, changed, err := Ensure(dir, s, now)
	if err != nil {
		t.Fatal(err)
	}
	return p, changed
}

func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		data := []byte(nil)
		if !d.IsDir() {
			data, err = os.ReadFile(path)
		}
		rel, _ := filepath.Rel(dir, path)
		files[rel] = st.Mode().String() + "\n" + string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func certOf(t *testing.T, data []byte) *x509.Certificate {
	t.Helper()
	b, rest := pem.Decode(data)
	if b == nil || len(rest) > 0 {
		t.Fatalf("not one PEM block: %q", data)
	}
	c, err := x509.ParseCertificate(b.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEveryCertificateServesItsPurposeAndNoOther(t *testing.T) {
	p, _ := ensure(t, t.TempDir(), cluster(), born)
	authorities := map[string]Pair{"ca": p.CA, "front": p.FrontProxyCA, "etcd": p.EtcdCA}
	m1, w1, e1 := p.Nodes["m1"], p.Nodes["w1"], p.Nodes["e1"]
	const client, server, both = "client", "server", "client+server"
	for _, c := range []struct {
		what, ca, use, cn, org string
		pair                   Pair
		names                  []string
	}{
		{"admin", "ca", client, "kubernetes-admin", "system:masters", p.Admin, nil},
		{"controller manager", "ca", client, "system:kube-controller-manager", "", p.ControllerManager, nil},
		{"scheduler", "ca", client, "system:kube-scheduler", "", p.Scheduler, nil},
		{"kube-proxy", "ca", client, "system:kube-proxy", "", p.KubeProxy, nil},
		{"API server to kubelet", "ca", client, "kube-apiserver-kubelet-client", "", p.APIServerKubeletClient, nil},
		{"API server to etcd", "etcd", client, "kube-apiserver-etcd-client", "", p.APIServerEtcdClient, nil},
		{"front proxy", "front", client, "front-proxy-client", "", p.FrontProxyClient, nil},
		{"health check", "etcd", client, "kube-etcd-healthcheck-client", "", p.EtcdHealthcheckClient, nil},
		{"API server", "ca", server, "kube-apiserver", "", m1.APIServer, []string{
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.air.gap", "localhost",
			"m1",
			"api.example.com", "extra.example.com", "127.0.0.1", "10.32.0.1", "192.0.2.1", "192.0.2.9"}},
		{"etcd of the master", "etcd", both, "m1", "", m1.EtcdServer,
			[]string{"m1", "localhost", "127.0.0.1", "192.0.2.1"}},
		{"etcd peer", "etcd", both, "e1", "", e1.EtcdPeer, []string{"e1", "localhost", "127.0.0.1", "192.0.2.3"}},
		{"kubelet of the worker", "ca", server, "system:node:w1", "system:nodes", w1.Kubelet,
			[]string{"w1", "2001:db8::2"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			cert := certOf(t, c.pair.Cert)
			if cert.Subject.CommonName != c.cn || strings.Join(cert.Subject.Organization, ",") != c.org || cert.IsCA {
				t.Errorf("subject %v, authority %v", cert.Subject, cert.IsCA)
			}
			for name, a := range authorities {
				pool := x509.NewCertPool()
				pool.AddCert(certOf(t, a.Cert))
				for use, eku := range map[string]x509.ExtKeyUsage{client: x509.ExtKeyUsageClientAuth,
					server: x509.ExtKeyUsageServerAuth} {
					_, err := cert.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: born,
						KeyUsages: []x509.ExtKeyUsage{eku}})
					if want := name == c.ca && (c.use == use || c.use == both); (err == nil) != want {
						t.Errorf("as %s under %s: %v, want accepted %v", use, name, err, want)
					}
				}
			}
			var names []string
			names = append(names, cert.DNSNames...)
			for _, ip := range cert.IPAddresses {
				names = append(names, ip.String())
			}
			slices.Sort(names)
			slices.Sort(c.names)
			if d := cmp.Diff(c.names, names); d != "" {
				t.Error(d)
			}
			for _, n := range c.names {
				if err := cert.VerifyHostname(n); err != nil {
					t.Error(err)
				}
			}
			if life := cert.NotAfter.Sub(born); life != 365*24*time.Hour || born.Sub(cert.NotBefore) != time.Hour {
				t.Errorf("valid from %v to %v", cert.NotBefore, cert.NotAfter)
			}
		})
	}
	if w1.APIServer.Cert != nil || w1.EtcdServer.Key != nil || e1.Kubelet.Cert != nil {
		t.Error("a node got what its roles do not need")
	}
	if ca := certOf(t, p.CA.Cert); !ca.IsCA || ca.NotAfter.Sub(born) != 10*365*24*time.Hour {
		t.Errorf("authority %v until %v", ca.IsCA, ca.NotAfter)
	}
}

func TestTwiceIsOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	first, changed := ensure(t, dir, cluster(), born)
	before := listing(t, dir)
	directories := 0
	for _, file := range before {
		if strings.HasPrefix(file, "d") {
			directories++
		}
	}
	if len(changed) != len(before)-directories {
		t.Errorf("%d files reported, listing:\n%v", len(changed), changed)
	}
	second, changed := ensure(t, dir, cluster(), born.Add(200*24*time.Hour))
	if len(changed) != 0 {
		t.Errorf("changed %v", changed)
	}
	if d := cmp.Diff(before, listing(t, dir)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(first, second); d != "" {
		t.Error(d)
	}
	for name, file := range before {
		want := "-rw-------"
		switch {
		case strings.HasPrefix(file, "d"):
			want = "drwx------"
		case strings.HasSuffix(name, ".crt"):
			want = "-rw-r--r--"
		}
		if mode, _, _ := strings.Cut(file, "\n"); mode != want {
			t.Errorf("%s has mode %s, want %s", name, mode, want)
		}
	}
}

func TestOnlyWhatMustBeIsIssuedAnew(t *testing.T) {
	files := func(names ...string) (out []string) {
		for _, n := range names {
			out = append(out, n+".crt", n+".key")
		}
		return out
	}
	for name, c := range map[string]struct {
		change func(*Spec)
		later  time.Duration
		want   []string
	}{
		"a name more": {func(s *Spec) { s.ExtraDNS = append(s.ExtraDNS, "new.example.com") }, 0,
			files("nodes/m1/apiserver")},
		"a name less":     {func(s *Spec) { s.ExtraDNS = nil }, 0, files("nodes/m1/apiserver")},
		"an address less": {func(s *Spec) { s.ExtraIPs = nil }, 0, files("nodes/m1/apiserver")},
		"an endpoint that is an address": {func(s *Spec) { s.Endpoint = "198.51.100.7" }, 0,
			files("nodes/m1/apiserver")},
		"another domain": {func(s *Spec) { s.Domain = "cluster.local" }, 0,
			files("nodes/m1/apiserver")},
		"a node that moved": {func(s *Spec) { s.Machines[1].IP = netip.MustParseAddr("192.0.2.22") }, 0,
			files("nodes/w1/kubelet")},
		"a node more": {func(s *Spec) {
			s.Machines = append(s.Machines, Machine{Name: "w2", IP: loopback(), Kubelet: true})
		}, 0, files("nodes/w2/kubelet")},
		"a node less":                     {func(s *Spec) { s.Machines = s.Machines[:2] }, 0, nil},
		"a day before the month of grace": {func(*Spec) {}, 334 * 24 * time.Hour, nil},
		"in the month of grace": {func(*Spec) {}, 336 * 24 * time.Hour,
			files("admin", "apiserver-etcd-client", "apiserver-kubelet-client", "controller-manager",
				"etcd/healthcheck-client", "front-proxy-client", "kube-proxy", "nodes/e1/etcd-peer",
				"nodes/e1/etcd-server", "nodes/m1/apiserver",
				"nodes/m1/etcd-peer", "nodes/m1/etcd-server", "nodes/m1/kubelet", "nodes/w1/kubelet", "scheduler")},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			ensure(t, dir, cluster(), born)
			s := cluster()
			c.change(&s)
			_, changed := ensure(t, dir, s, born.Add(c.later))
			slices.Sort(changed)
			if d := cmp.Diff(c.want, changed); d != "" {
				t.Error(d)
			}
			if _, again := ensure(t, dir, s, born.Add(c.later)); len(again) != 0 {
				t.Errorf("and again %v", again)
			}
		})
	}
}

func TestALeafDoesNotOutliveItsAuthority(t *testing.T) {
	dir := t.TempDir()
	p, _ := ensure(t, dir, cluster(), born)
	end := certOf(t, p.CA.Cert).NotAfter
	late := end.Add(-20 * 24 * time.Hour)
	p, _ = ensure(t, dir, cluster(), late)
	if got := certOf(t, p.Admin.Cert).NotAfter; !got.Equal(end) {
		t.Errorf("ends %v, the authority %v", got, end)
	}
	if _, changed := ensure(t, dir, cluster(), late); len(changed) != 0 {
		t.Errorf("reissued though it could not last longer: %v", changed)
	}
}

// What a run that was cut off between the two files of a pair leaves is fixed, and the cluster's trust stays what it
// was.
func TestWhatWasCutOffIsFixed(t *testing.T) {
	other := t.TempDir()
	ensure(t, other, cluster(), born)
	for name, cut := range map[string]func(t *testing.T, dir string){
		"a leaf without its certificate": func(t *testing.T, dir string) { remove(t, dir, "admin.crt") },
		"a leaf without its key":         func(t *testing.T, dir string) { remove(t, dir, "admin.key") },
		"a new key, an old certificate":  func(t *testing.T, dir string) { copyFrom(t, other, dir, "admin.key") },
		"an authority's certificate":     func(t *testing.T, dir string) { remove(t, dir, "ca.crt") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			before, _ := ensure(t, dir, cluster(), born)
			cut(t, dir)
			after, changed := ensure(t, dir, cluster(), born.Add(time.Minute))
			if len(changed) == 0 {
				t.Fatal("nothing was fixed")
			}
			if !bytes.Equal(before.CA.Key, after.CA.Key) ||
				!bytes.Equal(before.EncryptionConfig, after.EncryptionConfig) {
				t.Error("what the cluster rests on has changed")
			}
			for _, a := range []Pair{before.CA, after.CA} {
				pool := x509.NewCertPool()
				pool.AddCert(certOf(t, a.Cert))
				for _, leaf := range []Pair{before.Scheduler, after.Admin} {
					if _, err := certOf(t, leaf.Cert).Verify(x509.VerifyOptions{Roots: pool,
						CurrentTime: born.Add(2 * time.Minute),
						KeyUsages:   []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func overwrite(t *testing.T, dir, name, data string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func copyFrom(t *testing.T, from, to, name string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(from, name))
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, to, name, string(data))
}

func TestWhatCannotBeTrustedIsAFaultThatNamesTheFile(t *testing.T) {
	other := t.TempDir()
	ensure(t, other, cluster(), born)
	for name, c := range map[string]struct {
		break_     func(t *testing.T, dir string)
		later      time.Duration
		code, file string
	}{
		"another key of the authority": {func(t *testing.T, d string) { copyFrom(t, other, d, "ca.key") }, 0,
			"pki.mismatch", "ca.crt"},
		"another etcd authority": {func(t *testing.T, d string) { copyFrom(t, other, d, "etcd/ca.crt") }, 0,
			"pki.mismatch", "etcd/ca.crt"},
		"no authority": {func(t *testing.T, d string) {
			remove(t, d, "ca.key")
			remove(t, d, "ca.crt")
		}, 0, "pki.lost", "ca.key"},
		"no key of the authority": {func(t *testing.T, d string) { remove(t, d, "front-proxy-ca.key") }, 0,
			"pki.lost", "front-proxy-ca.key"},
		"no key of service accounts": {func(t *testing.T, d string) { remove(t, d, "sa.key") }, 0, "pki.lost",
			"sa.key"},
		"no key of the secrets": {func(t *testing.T, d string) { remove(t, d, "encryption-config.yaml") }, 0,
			"pki.lost", "encryption-config.yaml"},
		"an empty authority": {func(t *testing.T, d string) { overwrite(t, d, "ca.crt", "") }, 0,
			"pki.damaged", "ca.crt"},
		"an empty key of the accounts": {func(t *testing.T, d string) { overwrite(t, d, "sa.key", "") }, 0,
			"pki.damaged", "sa.key"},
		"a key in place of an authority": {func(t *testing.T, d string) {
			copyFrom(t, d, d, "ca.key")
			rename(t, d, "ca.key", "ca.crt")
		}, 0, "pki.lost", "ca.key"},
		"a leaf as authority": {func(t *testing.T, d string) {
			rename(t, d, "admin.crt", "ca.crt")
			rename(t, d, "admin.key", "ca.key")
		}, 0, "pki.damaged", "ca.crt"},
		"a leaf cut in half": {func(t *testing.T, d string) {
			overwrite(t, d, "scheduler.crt", "-----BEGIN CERTIFICATE-----\nMIIB")
		}, 0, "pki.damaged", "scheduler.crt"},
		"garbage in PEM": {func(t *testing.T, d string) {
			overwrite(t, d, "nodes/m1/apiserver.key",
				"-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n")
		}, 0, "pki.damaged", "nodes/m1/apiserver.key"},
		"a directory for a file": {func(t *testing.T, d string) {
			remove(t, d, "admin.crt")
			mkdir(t, d, "admin.crt")
		}, 0, "pki.read", "admin.crt"},
		"after the authority's end": {func(*testing.T, string) {}, 11 * 365 * 24 * time.Hour, "pki.expired", "ca.crt"},
		"a clock of last year":      {func(*testing.T, string) {}, -365 * 24 * time.Hour, "pki.clock", "ca.crt"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			ensure(t, dir, cluster(), born)
			c.break_(t, dir)
			before := listing(t, dir)
			_, changed, err := Ensure(dir, cluster(), born.Add(c.later))
			var f *event.Fault
			if !errors.As(err, &f) || f.Code != c.code || f.Args["file"] != filepath.Join(dir, c.file) {
				t.Fatalf("%v with %v, want %s about %s", err, f.Args, c.code, c.file)
			}
			if d := cmp.Diff(before, listing(t, dir)); d != "" || len(changed) > 0 {
				t.Errorf("changed %v\n%s", changed, d)
			}
		})
	}
}

func rename(t *testing.T, dir, from, to string) {
	t.Helper()
	if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsAskedForMustBePossible(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"every address as a name":        func(s *Spec) { s.ExtraIPs = []netip.Addr{netip.IPv4Unspecified()} },
		"no address":                     func(s *Spec) { s.ServiceGateway = netip.Addr{} },
		"a node outside of the place":    func(s *Spec) { s.Machines[0].Name = "../../etc" },
		"a node with a path":             func(s *Spec) { s.Machines[0].Name = "a/b" },
		"a node without a name":          func(s *Spec) { s.Machines[0].Name = "" },
		"a name that no certificate has": func(s *Spec) { s.ExtraDNS = []string{"蛋.example.com"} },
	} {
		t.Run(name, func(t *testing.T) {
			s := cluster()
			change(&s)
			var f *event.Fault
			if _, _, err := Ensure(t.TempDir(), s, born); !errors.As(err, &f) || f.Code != "pki.make" {
				t.Errorf("%v", err)
			}
		})
	}
}

// What cannot be written is named, and its directory's fault is not a certificate's.
func TestAPlaceThatCannotBeWritten(t *testing.T) {
	for name, file := range map[string]string{"the directory": ".", "a machine's": "nodes/m1", "etcd's": "etcd"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "pki")
			path := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("/nowhere/mounted", path); err != nil { // where a disk is missing
				t.Fatal(err)
			}
			var f *event.Fault
			if _, _, err := Ensure(dir, cluster(), born); !errors.As(err, &f) || f.Code != "pki.write" ||
				f.Args["file"] != path {
				t.Errorf("%v with %v", err, f)
			}
		})
	}
}

func TestOpenedFilesAreClosedAgain(t *testing.T) {
	dir := t.TempDir()
	ensure(t, dir, cluster(), born)
	before := listing(t, dir)
	for name, mode := range map[string]os.FileMode{"ca.key": 0o644, ".": 0o755} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if _, changed := ensure(t, dir, cluster(), born); len(changed) != 0 {
		t.Errorf("changed %v", changed)
	}
	if d := cmp.Diff(before, listing(t, dir)); d != "" {
		t.Error(d)
	}
}

func TestTwoClustersShareNoSecret(t *testing.T) {
	a, _ := ensure(t, t.TempDir(), cluster(), born)
	b, _ := ensure(t, t.TempDir(), cluster(), born)
	for what, same := range map[string]bool{
		"authority":          bytes.Equal(a.CA.Key, b.CA.Key),
		"accounts":           bytes.Equal(a.ServiceAccount.Private, b.ServiceAccount.Private),
		"secrets":            bytes.Equal(a.EncryptionConfig, b.EncryptionConfig),
		"authorities of one": bytes.Equal(a.CA.Key, a.EtcdCA.Key),
	} {
		if same {
			t.Error(what)
		}
	}
}

func TestTheEncryptionConfigurationIsWhatTheAPIServerReads(t *testing.T) {
	p, _ := ensure(t, t.TempDir(), cluster(), born)
	var c struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Resources  []struct {
			Resources []string         `json:"resources"`
			Providers []map[string]any `json:"providers"`
		} `json:"resources"`
	}
	if err := yaml.UnmarshalStrict(p.EncryptionConfig, &c); err != nil {
		t.Fatal(err)
	}
	if c.APIVersion != "apiserver.config.k8s.io/v1" || c.Kind != "EncryptionConfiguration" || len(c.Resources) != 1 ||
		len(c.Resources[0].Providers) != 2 {
		t.Fatalf("%+v", c)
	}
	box := c.Resources[0].Providers[0]["secretbox"].(map[string]any)["keys"].([]any)[0].(map[string]any)
	if key, err := base64.StdEncoding.DecodeString(box["secret"].(string)); err != nil || len(key) != 32 {
		t.Errorf("a key of %d bytes: %v", len(key), err)
	}
	if _, ok := c.Resources[0].Providers[1]["identity"]; !ok {
		t.Error("what was written unencrypted could not be read")
	}
}

// What ends with its authority ends then, however often it is renewed.
func TestWhatARenewalMakesLastLonger(t *testing.T) {
	end := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	list := []Certificate{
		{Name: "ca", Subject: "CN=a", Issuer: "CN=a", Authority: true, NotAfter: end},
		{Name: "capped", Issuer: "CN=a", NotAfter: end},
		{Name: "leaf", Issuer: "CN=a", NotAfter: end.Add(-time.Hour)},
		{Name: "of-another", Issuer: "CN=b", NotAfter: end.Add(time.Hour)},
	}
	if got := Renewable(list); len(got) != 2 || got[0].Name != "leaf" || got[1].Name != "of-another" || len(list) != 4 {
		t.Errorf("%+v", got)
	}
}
