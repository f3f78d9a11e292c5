package binary

import (
	"fmt"
	"net"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node/systemd"
)

func (r *Binary) corednsService(n config.Node) (node.Service, error) {
	conf, err := r.Kubeconfig(layout.LocalAPI, "system:coredns", r.PKI().CoreDNS)
	if err != nil {
		return node.Service{}, err
	}
	// On the node's own address and not on all: a resolver of the machine on 127.0.0.53 stays where it is.
	var b strings.Builder
	fmt.Fprintf(&b,
		"# Written by Eggo; removed by eggo-tui cleanup.\n.:%d {\n    bind %s\n    errors\n    kubernetes %s "+
			"in-addr.arpa ip6.arpa {\n        kubeconfig %s\n        pods insecure\n"+
			"        fallthrough in-addr.arpa ip6.arpa\n        ttl 30\n    }\n    prometheus %s\n", layout.DNSPort,
		n.IP, r.Cluster.DNSDomain, corednsConf, net.JoinHostPort(n.IP.String(), fmt.Sprint(layout.DNSMetrics)))
	upstreams := r.Cluster.Upstreams()
	if f := r.Fact(n.Name); len(upstreams) == 0 && f.Nameserver && f.Resolv != "" {
		upstreams = []string{f.Resolv}
	}
	if len(upstreams) > 0 {
		fmt.Fprintf(&b, "    forward . %s {\n        max_concurrent 1000\n    }\n", strings.Join(upstreams, " "))
	}
	b.WriteString("    cache 30\n    loop\n    reload\n    loadbalance\n}\n")
	u := systemd.Unit{Description: "CoreDNS, the names of the cluster",
		After: []string{"network-online.target", "kube-apiserver.service"}, Wants: []string{"network-online.target"},
		Program: r.DNSProgram(n, r.BundleOf(n).Manifest()), Flags: map[string]string{"conf": corefile}}
	return node.Service{Unit: "coredns.service", Binaries: r.Binaries(n, "coredns"), Files: []node.File{
		layout.RootFile(corefile, []byte(b.String())), layout.SecretFile(corednsConf, conf),
		layout.RootFile(layout.UnitDir+"coredns.service", u.Render()),
	}}, nil
}
