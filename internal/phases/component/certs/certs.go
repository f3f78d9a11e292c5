// Package certs has the certificates of a run and the kubeconfigs made with them: made or read once, and persisted
// before a node depends on them.
package certs

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Certs are the cluster's certificates and the kubeconfigs made with them.
type Certs struct {
	*input.Env
	mu      sync.Mutex
	pkiOnce sync.Mutex // held while ReadPKI makes pki
	pki     *pki.PKI
	former  input.Former
}

// New are the certificates of a run, which have not been read yet.
func New(e *input.Env) *Certs { return &Certs{Env: e} }

// SetFormer has the API servers' certificates hold the addresses by which nodes may still reach them.
func (r *Certs) SetFormer(f input.Former) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.former = f
}

// PKI is what was read or made; nil before.
func (r *Certs) PKI() *pki.PKI {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pki
}

// Use has p in the place of what would be read.
func (r *Certs) Use(p *pki.PKI) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pki = p
}

// ReadPKI makes sure of the certificates outside the step that does so; nodes that ask for them side by side wait for
// the first.
func (r *Certs) ReadPKI(ctx context.Context) error {
	r.pkiOnce.Lock()
	defer r.pkiOnce.Unlock()
	if r.PKI() != nil {
		return nil
	}
	if err := r.EnsurePKI(ctx); err != nil && !errors.Is(err, engine.ErrUnchanged) {
		return err
	}
	return nil
}

// OpenPKI reads the cluster's certificates; where there are none it makes none, for they would be another cluster's.
func (r *Certs) OpenPKI(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(r.StateDir, "pki", "etcd", "ca.key")); err != nil {
		return event.NewFault(event.ClassPreflight, "snapshot.no-state", err, "dir", r.StateDir)
	}
	return r.ReadPKI(ctx)
}

// HavePKI reads the cluster's certificates; none are made where there are none.
func (r *Certs) HavePKI(ctx context.Context) error {
	if _, err := os.Lstat(filepath.Join(r.StateDir, "pki", "ca.crt")); err != nil {
		return event.NewFault(event.ClassFailed, "status.no-pki", nil, "cluster", r.Cluster.Name)
	}
	return r.ReadPKI(ctx)
}

// EnsurePKI makes the certificates that are missing; engine.ErrUnchanged when none is.
func (r *Certs) EnsurePKI(ctx context.Context) error {
	c := r.Cluster
	host, _, err := net.SplitHostPort(c.Endpoint)
	if err != nil {
		host = c.Endpoint
	}
	spec := pki.Spec{Domain: c.DNSDomain, ServiceGateway: c.ServiceGateway, Endpoint: host, ExtraDNS: c.SANs.DNSNames,
		ExtraIPs: c.SANs.IPs, CoreDNS: c.DNS.Type == "binary", IssuedAfter: r.RenewBefore}
	for _, n := range c.With(bundle.LoadBalancer) { // the endpoint may be a name of it
		spec.ExtraIPs = append(spec.ExtraIPs[:len(spec.ExtraIPs):len(spec.ExtraIPs)], n.IP)
	}
	r.mu.Lock()
	names, ips := r.former.Hosts()
	r.mu.Unlock()
	spec.ExtraDNS, spec.ExtraIPs = slices.Concat(spec.ExtraDNS, names), slices.Concat(spec.ExtraIPs, ips)
	for _, n := range c.Nodes {
		spec.Machines = append(spec.Machines, pki.Machine{Name: n.Name, IP: n.IP,
			ControlPlane: n.Has(bundle.ControlPlane), Etcd: n.Has(bundle.Etcd), Kubelet: inventory.IsKubelet(n)})
	}
	dir := filepath.Join(r.StateDir, "pki")
	var adopted []string
	if c.ExternalCA != "" {
		own, err := pki.ReadExternal(c.ExternalCA, r.Now())
		if err != nil {
			return err
		}
		if adopted, err = own.Adopt(dir, r.Now()); err != nil {
			return err
		}
	}
	p, changed, err := pki.Ensure(dir, spec, r.Now())
	if err != nil {
		return err
	}
	changed = append(changed, adopted...)
	if err := r.Keep(ctx, input.KeptPKI); err != nil { // a node that trusts authorities which are lost is lost, too
		return err
	}
	r.mu.Lock()
	r.pki = p
	r.mu.Unlock()
	if len(changed) == 0 {
		return engine.ErrUnchanged
	}
	return nil
}

// Kubeconfig for a user with a certificate; everything is in the file.
func (r *Certs) Kubeconfig(server, user string, p pki.Pair) ([]byte, error) {
	return r.kubeconfigOf(server, user, clientcmdapi.AuthInfo{ClientCertificateData: p.Cert, ClientKeyData: p.Key})
}

// BootstrapKubeconfig is for a kubelet that has no certificate yet.
func (r *Certs) BootstrapKubeconfig(token string) ([]byte, error) {
	return r.kubeconfigOf("https://"+r.Cluster.Endpoint, "kubelet-bootstrap", clientcmdapi.AuthInfo{Token: token})
}

func (r *Certs) kubeconfigOf(server, user string, auth clientcmdapi.AuthInfo) ([]byte, error) {
	name := r.Cluster.Name
	return yaml.Marshal(clientcmdapi.Config{
		APIVersion: "v1", Kind: "Config", CurrentContext: user + "@" + name,
		Clusters: []clientcmdapi.NamedCluster{{Name: name,
			Cluster: clientcmdapi.Cluster{Server: server, CertificateAuthorityData: r.PKI().CA.Cert}}},
		AuthInfos: []clientcmdapi.NamedAuthInfo{{Name: user, AuthInfo: auth}},
		Contexts: []clientcmdapi.NamedContext{{Name: user + "@" + name,
			Context: clientcmdapi.Context{Cluster: name, AuthInfo: user}}},
	})
}

// AdminConf is the administrator's kubeconfig, on the jump host and on every control plane.
func (r *Certs) AdminConf() ([]byte, error) {
	return r.Kubeconfig("https://"+r.Cluster.Endpoint, "kubernetes-admin", r.PKI().Admin)
}
