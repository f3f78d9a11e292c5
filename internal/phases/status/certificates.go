package status

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
)

// NodeCertificate is a certificate as a node has it in a file, or shows it on a port.
type NodeCertificate struct {
	Name string // of the certificate in the state directory; "" for one that the node has got by itself
	Own  string // what such a one is: kubelet-client, kubelet-serving
	At   string // the file, or address and port
	Cert *pki.Certificate
	Why  string // in place of Cert: why there is none to see
}

// NodeCertificates reads what a node has at these places and shows; nothing is changed. Only certificates leave the
// node, no keys.
func NodeCertificates(ctx context.Context, nd *node.Node, n config.Node,
	places []driver.Certificate) ([]NodeCertificate, error) {
	var script strings.Builder
	for _, p := range places {
		f := shell.Quote(p.File)
		script.WriteString("echo '=='\n")
		if p.Config {
			script.WriteString("sed -n 's/^ *client-certificate-data: *//p' " + f +
				" 2>/dev/null | base64 -d 2>/dev/null || true\n")
		} else {
			script.WriteString("sed -n '/^-----BEGIN CERTIFICATE-----$/,/^-----END CERTIFICATE-----$/p' " + f +
				" 2>/dev/null || true\n")
		}
	}
	out, err := nd.Query(ctx, script.String())
	if err != nil {
		return nil, err
	}
	parts := strings.Split("\n"+out, "\n==")
	var all []NodeCertificate
	for i, p := range places {
		held := NodeCertificate{Name: p.Name, Own: p.Own, At: p.File, Why: "absent"}
		if i+1 < len(parts) {
			if c, err := pki.Describe([]byte(parts[i+1])); err == nil {
				held.Cert, held.Why = &c, ""
			}
		}
		all = append(all, held)
		if p.Port != 0 {
			all = append(all, shown(ctx, nd, p, net.JoinHostPort(n.IP.String(), strconv.Itoa(p.Port))))
		}
	}
	return all, nil
}

// Imported says whether others have made a machine a node, by its record.
func Imported(ctx context.Context, nd *node.Node) (bool, error) {
	out, err := nd.Query(ctx, "grep -s '^imported' "+node.Dir+"/record || true\n")
	return out != "", err
}

// shown is the certificate that a server shows to whoever connects.
func shown(ctx context.Context, nd *node.Node, p driver.Certificate, addr string) NodeCertificate {
	held := NodeCertificate{Name: p.Name, Own: p.Own, At: addr}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := nd.Dial(ctx, "tcp", addr)
	if err != nil {
		held.Why = "silent"
		return held
	}
	//nolint:gosec // it is read, not trusted
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
