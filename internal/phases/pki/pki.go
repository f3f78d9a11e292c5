// Package pki keeps a cluster's authorities, leaf certificates and keys in a directory of the jump host. Keys leave it
// only for the node that needs them; the etcd authority's key never does.
//
// The set of certificates is the one that Kubernetes documents (kubernetes.io/docs/setup/best-practices/certificates),
// on ECDSA P-256, with one difference: kubelets get their serving certificates from here too, so that the API server
// can verify them.
package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Lives of certificates. NotBefore is an hour back, so that a node whose clock is behind accepts them.
const (
	caLife     = 10 * 365 * 24 * time.Hour
	leafLife   = 365 * 24 * time.Hour
	renewAhead = 30 * 24 * time.Hour
	backdate   = time.Hour
)

// Pair is a certificate and its key, both PEM.
type Pair struct{ Cert, Key []byte }

// KeyPair signs and verifies service account tokens, both PEM.
type KeyPair struct{ Private, Public []byte }

// Node is what one node has of its own. What its roles do not need is empty.
type Node struct {
	APIServer, EtcdServer, EtcdPeer, Kubelet Pair
}

// PKI is everything of one cluster.
type PKI struct {
	CA, FrontProxyCA, EtcdCA Pair
	ServiceAccount           KeyPair
	EncryptionConfig         []byte // the API server's configuration for secrets at rest

	Admin, ControllerManager, Scheduler, KubeProxy Pair
	APIServerKubeletClient, APIServerEtcdClient    Pair
	FrontProxyClient, EtcdHealthcheckClient        Pair
	CoreDNS                                        Pair // only where the spec asks for it

	Nodes map[string]Node
}

// Machine is a node as its certificates name it.
type Machine struct {
	Name                        string
	IP                          netip.Addr
	ControlPlane, Etcd, Kubelet bool
}

// Spec is what the certificates must cover.
type Spec struct {
	Domain         string     // of the cluster's DNS
	ServiceGateway netip.Addr // of the kubernetes Service
	Endpoint       string     // host that clients reach the API server at
	ExtraDNS       []string
	ExtraIPs       []netip.Addr
	CoreDNS        bool // it runs outside of the cluster's pods, and needs a certificate of its own
	Machines       []Machine
	// IssuedAfter, when it is set, has every leaf that was issued before it reissued; nothing else is.
	IssuedAfter time.Time
}

// Ensure makes in dir what is missing, keeps what is there, and reissues a leaf when its names are not just those
// that spec asks, it is within 30 days of its end or not valid yet. changed lists the files written, relative to dir.
// Nothing that a running cluster could not live without is made again in silence. The faults, all of class failed and
// with the file's path in the argument "file":
//
//	pki.mismatch   an authority's key does not belong to its certificate
//	pki.damaged    a file does not hold what its name says
//	pki.lost       a file that cannot be replaced is gone, though certificates made after it are there
//	pki.expired    an authority's life is over
//	pki.clock      an authority is not valid yet: this machine's clock is wrong
//	pki.read, pki.write, pki.make
func Ensure(dir string, spec Spec, now time.Time) (p *PKI, changed []string, err error) {
	m := &maker{dir: dir, now: now, after: spec.IssuedAfter}
	m.directory(".")
	for _, n := range spec.Machines {
		if n.Name == "" || n.Name != filepath.Base(n.Name) || !filepath.IsLocal(n.Name) {
			m.fail("pki.make", "nodes", fmt.Errorf("%q is not the name of a node", n.Name))
		}
	}
	p = &PKI{Nodes: map[string]Node{}}
	var authorities [3]*signer
	leaves := leavesOf(p, spec)
	for _, l := range leaves {
		m.settled = m.settled || m.exists(l.name+".crt")
	}
	for i, a := range []struct {
		name, cn string
		out      *Pair
	}{
		clusterCA:    {"ca", "kubernetes", &p.CA},
		frontProxyCA: {"front-proxy-ca", "front-proxy-ca", &p.FrontProxyCA},
		etcdCA:       {"etcd/ca", "etcd-ca", &p.EtcdCA},
	} {
		authorities[i] = m.authority(a.name, a.cn, a.out)
	}
	m.serviceAccount(&p.ServiceAccount)
	m.encryption(&p.EncryptionConfig)
	for _, l := range leaves {
		m.leaf(l.name, authorities[l.ca], l.out, l.want)
	}
	if m.err != nil {
		return nil, m.changed, m.err
	}
	for _, n := range spec.Machines {
		own := Node{}
		for _, l := range leaves {
			if l.node == n.Name {
				*l.field(&own) = *l.out
			}
		}
		p.Nodes[n.Name] = own
	}
	return p, m.changed, nil
}

// The authorities, as indexes of Ensure's table.
const (
	clusterCA = iota
	frontProxyCA
	etcdCA
)

// leaf is one certificate to be had.
type leaf struct {
	name string // of its files, without .crt and .key
	ca   int
	out  *Pair
	want request

	node  string // "" for those of the cluster
	field func(*Node) *Pair
}

// leavesOf lists what spec asks for; those of the cluster are put straight into p.
func leavesOf(p *PKI, spec Spec) []leaf {
	list := []leaf{
		// Only this one is above the cluster's rules (system:masters); the components have the rights that RBAC gives
		// to their names.
		{name: "admin", ca: clusterCA, out: &p.Admin,
			want: request{cn: "kubernetes-admin", org: "system:masters", client: true}},
		{name: "controller-manager", ca: clusterCA, out: &p.ControllerManager,
			want: request{cn: "system:kube-controller-manager", client: true}},
		{name: "scheduler", ca: clusterCA, out: &p.Scheduler, want: request{cn: "system:kube-scheduler", client: true}},
		{name: "kube-proxy", ca: clusterCA, out: &p.KubeProxy, want: request{cn: "system:kube-proxy", client: true}},
		{name: "apiserver-kubelet-client", ca: clusterCA, out: &p.APIServerKubeletClient,
			want: request{cn: "kube-apiserver-kubelet-client", client: true}},
		{name: "apiserver-etcd-client", ca: etcdCA, out: &p.APIServerEtcdClient,
			want: request{cn: "kube-apiserver-etcd-client", client: true}},
		{name: "front-proxy-client", ca: frontProxyCA, out: &p.FrontProxyClient,
			want: request{cn: "front-proxy-client", client: true}},
		{name: "etcd/healthcheck-client", ca: etcdCA, out: &p.EtcdHealthcheckClient,
			want: request{cn: "kube-etcd-healthcheck-client", client: true}},
	}
	if spec.CoreDNS {
		list = append(list, leaf{name: "coredns", ca: clusterCA, out: &p.CoreDNS,
			want: request{cn: "system:coredns", client: true}})
	}
	for _, n := range spec.Machines {
		own := func(file string, ca int, want request, field func(*Node) *Pair) {
			list = append(list, leaf{name: "nodes/" + n.Name + "/" + file, ca: ca, out: new(Pair), want: want,
				node: n.Name, field: field})
		}
		if n.ControlPlane {
			own("apiserver", clusterCA, spec.apiServer(n), func(o *Node) *Pair { return &o.APIServer })
		}
		if n.Etcd {
			// Client too: a member shows this certificate to the others, and etcd's own gateway to the member.
			member := request{cn: n.Name, server: true, client: true, dns: []string{n.Name, "localhost"},
				ips: []netip.Addr{n.IP, loopback()}}
			own("etcd-server", etcdCA, member, func(o *Node) *Pair { return &o.EtcdServer })
			own("etcd-peer", etcdCA, member, func(o *Node) *Pair { return &o.EtcdPeer })
		}
		if n.Kubelet {
			// Server only: as a client the kubelet has the certificate that it asked the cluster for.
			own("kubelet", clusterCA, request{cn: "system:node:" + n.Name, org: "system:nodes", server: true,
				dns: []string{n.Name}, ips: []netip.Addr{n.IP}},
				func(o *Node) *Pair { return &o.Kubelet })
		}
	}
	return list
}

func loopback() netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, 1}) }

func (s Spec) apiServer(n Machine) request {
	r := request{cn: "kube-apiserver", server: true,
		dns: append([]string{"kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc." + s.Domain, "localhost", n.Name}, s.ExtraDNS...),
		ips: append([]netip.Addr{loopback(), s.ServiceGateway, n.IP}, s.ExtraIPs...)}
	if ip, err := netip.ParseAddr(s.Endpoint); err == nil {
		r.ips = append(r.ips, ip)
	} else if s.Endpoint != "" {
		r.dns = append(r.dns, s.Endpoint)
	}
	return r
}

// authority reads an authority, or makes it where nothing was made with it yet. A key alone (the work was cut off
// between the two files, or the certificate was lost) gets a new certificate: what the key has signed stays valid under
// it.
func (m *maker) authority(name, cn string, out *Pair) *signer {
	key, cert := m.secret(name+".key"), m.read(name+".crt")
	if m.err != nil {
		return nil
	}
	s := &signer{}
	switch {
	case key == nil && cert != nil:
		m.fail("pki.lost", name+".key", nil)
		return nil
	case key == nil:
		own := m.newKey(name + ".key")
		if own == nil {
			return nil
		}
		s.key, out.Key = own, m.encodeKey(name+".key", own)
	default:
		out.Key, s.key = key, m.parseKey(name+".key", key)
	}
	if cert == nil && m.err == nil {
		t := &x509.Certificate{
			Subject: pkix.Name{CommonName: cn}, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
			NotAfter: m.now.Add(caLife),
			KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		}
		cert = m.sign(name+".crt", t, t, s.key, s.key.Public())
		if key == nil {
			m.write(name+".key", out.Key, 0o600)
		}
		m.write(name+".crt", cert, 0o644)
	}
	out.Cert, s.cert = cert, m.parseCert(name+".crt", cert)
	if m.err != nil {
		return nil
	}
	switch {
	case !samePublic(s.cert.PublicKey, s.key.Public()):
		m.fail("pki.mismatch", name+".crt", nil)
	case !s.cert.IsCA:
		m.fail("pki.damaged", name+".crt", errors.New("not the certificate of an authority"))
	case m.now.After(s.cert.NotAfter):
		m.fail("pki.expired", name+".crt", nil, "until", s.cert.NotAfter.UTC().Format(time.DateOnly))
	case m.now.Before(s.cert.NotBefore):
		m.fail("pki.clock", name+".crt", nil, "from", s.cert.NotBefore.UTC().Format(time.RFC3339), "now",
			m.now.UTC().Format(time.RFC3339))
	}
	return s
}

// fail keeps the first error, so that the lists above stay lists.
func (m *maker) fail(code, name string, err error, kv ...string) {
	if m.err == nil {
		m.err = event.NewFault(event.ClassFailed, code, err, append(kv, "file", filepath.Join(m.dir, name))...)
	}
}

// exists says whether a file is there; what cannot be looked at is found out when it is read.
func (m *maker) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(m.dir, name))
	return err == nil
}
