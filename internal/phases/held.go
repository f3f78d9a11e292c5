package phases

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
	"github.com/eggo-k8s/eggo/internal/pki"
)

// Held is a certificate as a node has it in a file, or shows it on a port.
type Held struct {
	Name string // of the certificate in the state directory; "" for one that the node has got by itself
	Own  string // what such a one is: kubelet-client, kubelet-serving
	At   string // the file, or address and port
	Cert *pki.Certificate
	Why  string // in place of Cert: why there is none to see
}

// place of a certificate on a node.
type certPlace struct {
	name, file string
	own        string // of one that the node has got by itself
	config     bool   // the file is a kubeconfig that holds it
	port       int    // where it is shown; 0 nowhere
}

// certPlaces are where a node of these roles has its certificates.
func certPlaces(c *config.Cluster, n config.Node) []certPlace {
	own := "nodes/" + n.Name + "/"
	var out []certPlace
	if n.Has(bundle.ControlPlane) {
		out = append(out, certPlace{name: own + "apiserver", file: layout.PKIDir + "/apiserver.crt", port: 6443},
			certPlace{name: "apiserver-kubelet-client", file: layout.PKIDir + "/apiserver-kubelet-client.crt"},
			certPlace{name: "apiserver-etcd-client", file: layout.PKIDir + "/apiserver-etcd-client.crt"},
			certPlace{name: "front-proxy-client", file: layout.PKIDir + "/front-proxy-client.crt"},
			certPlace{name: "controller-manager", file: layout.KubeDir + "/controller-manager.conf", config: true},
			certPlace{name: "scheduler", file: layout.KubeDir + "/scheduler.conf", config: true},
			certPlace{name: "admin", file: layout.AdminPath, config: true})
		if c.DNS.Type == "binary" {
			out = append(out, certPlace{name: "coredns", file: layout.CoreDNSConf, config: true})
		}
	}
	if n.Has(bundle.Etcd) {
		out = append(out, certPlace{name: own + "etcd-server", file: layout.PKIDir + "/etcd/server.crt", port: 2379},
			certPlace{name: own + "etcd-peer", file: layout.PKIDir + "/etcd/peer.crt", port: 2380})
	}
	if nodes.IsKubelet(n) {
		serving := certPlace{name: own + "kubelet", file: layout.PKIDir + "/kubelet.crt", port: 10250}
		if c.KubeletServing {
			serving = certPlace{own: "kubelet-serving", file: layout.ServingCert, port: 10250}
		}
		out = append(out, serving, certPlace{name: "kube-proxy", file: layout.KubeDir + "/kube-proxy.conf",
			config: true},
			certPlace{own: "kubelet-client", file: "/var/lib/kubelet/pki/kubelet-client-current.pem"})
	}
	return out
}

// HeldCertificates reads what a node has and shows; nothing is changed. Only certificates leave the node, no keys.
func HeldCertificates(ctx context.Context, h node.Host, c *config.Cluster, n config.Node) ([]Held, error) {
	places := certPlaces(c, n)
	var script strings.Builder
	for _, p := range places {
		f := node.Quote(p.file)
		script.WriteString("echo '=='\n")
		if p.config {
			script.WriteString("sed -n 's/^ *client-certificate-data: *//p' " + f +
				" 2>/dev/null | base64 -d 2>/dev/null || true\n")
		} else {
			script.WriteString("sed -n '/^-----BEGIN CERTIFICATE-----$/,/^-----END CERTIFICATE-----$/p' " + f +
				" 2>/dev/null || true\n")
		}
	}
	out, err := node.New(h, nil).Query(ctx, script.String())
	if err != nil {
		return nil, err
	}
	parts := strings.Split("\n"+out, "\n==")
	var all []Held
	for i, p := range places {
		held := Held{Name: p.name, Own: p.own, At: p.file, Why: "absent"}
		if i+1 < len(parts) {
			if c, err := pki.Describe([]byte(parts[i+1])); err == nil {
				held.Cert, held.Why = &c, ""
			}
		}
		all = append(all, held)
		if p.port != 0 {
			all = append(all, shown(ctx, h, p, net.JoinHostPort(n.IP.String(), strconv.Itoa(p.port))))
		}
	}
	return all, nil
}

// shown is the certificate that a server shows to whoever connects.
func shown(ctx context.Context, h node.Host, p certPlace, addr string) Held {
	held := Held{Name: p.name, Own: p.own, At: addr}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := h.Dial(ctx, "tcp", addr)
	if err != nil {
		held.Why = "silent"
		return held
	}
	//nolint:gosec // it is looked at, not trusted
	t := tls.Client(c, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	defer t.Close()
	// A server that wants a certificate of ours refuses after it has shown its own.
	_ = t.HandshakeContext(ctx)
	if certs := t.ConnectionState().PeerCertificates; len(certs) > 0 {
		d := pki.Of(certs[0])
		held.Cert = &d
		return held
	}
	held.Why = "silent"
	return held
}
