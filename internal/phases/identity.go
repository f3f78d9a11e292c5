package phases

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/env"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
	"github.com/eggo-k8s/eggo/internal/pki"
)

// ReadPKI makes sure of the certificates outside the step that does so; nodes that ask for them side by side wait for the first.
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

// EnsurePKI makes the certificates that are missing; engine.ErrUnchanged when none is.
func (r *Certs) EnsurePKI(ctx context.Context) error {
	c := r.Cluster
	host, _, err := net.SplitHostPort(c.Endpoint)
	if err != nil {
		host = c.Endpoint
	}
	spec := pki.Spec{Domain: c.DNSDomain, ServiceGateway: c.ServiceGateway, Endpoint: host, ExtraDNS: c.SANs.DNSNames, ExtraIPs: c.SANs.IPs, CoreDNS: c.DNS.Type == "binary", IssuedAfter: r.RenewBefore}
	for _, n := range c.With(bundle.LoadBalancer) { // the endpoint may be a name of it
		spec.ExtraIPs = append(spec.ExtraIPs[:len(spec.ExtraIPs):len(spec.ExtraIPs)], n.IP)
	}
	for _, n := range c.Nodes {
		spec.Machines = append(spec.Machines, pki.Machine{Name: n.Name, IP: n.IP, ControlPlane: n.Has(bundle.ControlPlane), Etcd: n.Has(bundle.Etcd), Kubelet: nodes.IsKubelet(n)})
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
	if err := r.Keep(ctx, env.KeptPKI); err != nil { // a node that trusts authorities which are lost is lost, too
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

// judgeExternal looks at the user's authorities before anything is touched: whether they can be used, and whether the cluster has others.
func (r *run) judgeExternal() []event.Finding {
	if r.Cluster.ExternalCA == "" {
		return nil
	}
	own, err := pki.ReadExternal(r.Cluster.ExternalCA, r.Now())
	if err == nil {
		if file := own.Differs(filepath.Join(r.StateDir, "pki")); file != "" {
			err = event.NewFault(event.ClassPreflight, "pki.external-differs", nil, "file", file)
		}
	}
	if err == nil {
		return nil
	}
	return []event.Finding{{Severity: event.Error, Fault: *event.AsFault(err)}}
}

// Kubeconfig for a user with a certificate; everything is in the file.
func (r *Certs) Kubeconfig(server, user string, p pki.Pair) ([]byte, error) {
	return r.kubeconfigOf(server, user, clientcmdapi.AuthInfo{ClientCertificateData: p.Cert, ClientKeyData: p.Key})
}

func (r *Certs) BootstrapKubeconfig(t token) ([]byte, error) {
	return r.kubeconfigOf("https://"+r.Cluster.Endpoint, "kubelet-bootstrap", clientcmdapi.AuthInfo{Token: t.ID + "." + t.Secret})
}

func (r *Certs) kubeconfigOf(server, user string, auth clientcmdapi.AuthInfo) ([]byte, error) {
	name := r.Cluster.Name
	return yaml.Marshal(clientcmdapi.Config{
		APIVersion: "v1", Kind: "Config", CurrentContext: user + "@" + name,
		Clusters:  []clientcmdapi.NamedCluster{{Name: name, Cluster: clientcmdapi.Cluster{Server: server, CertificateAuthorityData: r.PKI().CA.Cert}}},
		AuthInfos: []clientcmdapi.NamedAuthInfo{{Name: user, AuthInfo: auth}},
		Contexts:  []clientcmdapi.NamedContext{{Name: user + "@" + name, Context: clientcmdapi.Context{Cluster: name, AuthInfo: user}}},
	})
}

// AdminConf is the administrator's kubeconfig, on the jump host and on every control plane.
func (r *Certs) AdminConf() ([]byte, error) {
	return r.Kubeconfig("https://"+r.Cluster.Endpoint, "kubernetes-admin", r.PKI().Admin)
}

func (r *run) adminConfWritten(ctx context.Context) (bool, error) {
	want, err := r.AdminConf()
	if err != nil {
		return false, err
	}
	if have, err := os.ReadFile(filepath.Join(r.StateDir, "admin.conf")); err != nil || !bytes.Equal(have, want) {
		return false, nil
	}
	for _, n := range r.Cluster.With(bundle.ControlPlane) {
		if same, err := r.Node(n.Name).Same(ctx, []node.File{layout.SecretFile(layout.AdminPath, want)}); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

func (r *run) writeAdminConf(ctx context.Context) error {
	data, err := r.AdminConf()
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(filepath.Join(r.StateDir, "admin.conf"), data, 0o600); err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	if err := r.Keep(ctx, env.KeptAdminConf); err != nil {
		return err
	}
	for _, n := range r.Cluster.With(bundle.ControlPlane) {
		if _, err := r.Node(n.Name).Put(ctx, []node.File{layout.SecretFile(layout.AdminPath, data)}); err != nil {
			return err
		}
	}
	return nil
}

// rights are what nodes may ask for before they are nodes, and what the API server may do on kubelets.
func (r *run) rights() ([]byte, error) { return assets.Rights(), nil }

// corednsManifest is CoreDNS for this cluster.
func (r *run) corednsManifest() ([]byte, error) {
	b := r.BundleOf(r.Cluster.With(bundle.ControlPlane)[0])
	return assets.CoreDNS(assets.CoreDNSParams{
		Image: r.DNSImage(b.Manifest()), Domain: r.Cluster.DNSDomain, Address: r.Cluster.DNSAddr.String(), Replicas: r.Cluster.DNS.Replicas, Forward: r.anyNameserver(),
	})
}

// anyNameserver says whether CoreDNS has somebody to ask for other names: every node's resolv.conf names a server that is not the node
// itself. Else forwarding would loop.
func (r *run) anyNameserver() bool {
	for _, n := range nodes.Kubelets(r.Cluster) {
		if !r.Skipped(n.Name) && !r.Fact(n.Name).Nameserver {
			return false
		}
	}
	return true
}
