package binary

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// CoreDNS as a service of the control planes: its file and its unit.
func TestCoreDNSAsAService(t *testing.T) {
	r := made(t, "service: {dns: {corednstype: binary}, dnsaddr: 10.32.0.53}\ndns-domain: air.gap\n")
	n := r.Cluster.Nodes[0]
	m := nodestest.Manifest()
	m.Images = m.Images[:1] // nobody needs CoreDNS's image
	m.Members = append(m.Members, bundle.Member{Path: "coredns", Kind: bundle.Binary, Name: "coredns",
		Dst: "/usr/local/bin", Roles: []bundle.Role{bundle.ControlPlane}})
	r.SetBundle("amd64", nodestest.Box{Is: m})
	r.Fact("m1").Nameserver, r.Fact("m1").Resolv = true, "/run/systemd/resolve/resolv.conf"
	s, err := r.service(driver.CoreDNS, n)
	conf := fileOf(t, s, err, "Corefile")
	for _, want := range []string{".:53 {", "bind 192.0.2.11\n", "kubernetes air.gap in-addr.arpa",
		"kubeconfig /etc/eggo/coredns/kubeconfig", "prometheus 192.0.2.11:9153",
		"forward . /run/systemd/resolve/resolv.conf"} {
		if !strings.Contains(conf, want) {
			t.Errorf("no %q in\n%s", want, conf)
		}
	}
	if unit := fileOf(t, s, err, "coredns.service"); !strings.Contains(unit,
		"ExecStart=/usr/local/bin/coredns \\\n  --conf=/etc/eggo/coredns/Corefile") {
		t.Error(unit)
	}
	if script := r.StatusScript(n); !strings.Contains(script, "coredns.service") {
		t.Errorf("status asks of %s", script)
	}
	r.Fact("m1").Nameserver = false
	if s, err = r.service(driver.CoreDNS, n); strings.Contains(fileOf(t, s, err, "Corefile"), "forward") {
		t.Error("it would ask itself")
	}
	r.Cluster.Eggo.DNSUpstreams = []netip.Addr{netip.MustParseAddr("192.0.2.53"), netip.MustParseAddr("192.0.2.54")}
	for _, own := range []bool{true, false} {
		r.Fact("m1").Nameserver = own
		s, err = r.service(driver.CoreDNS, n)
		if conf := fileOf(t, s, err, "Corefile"); !strings.Contains(conf, "    forward . 192.0.2.53 192.0.2.54 {\n") ||
			strings.Contains(conf, "resolv.conf") {
			t.Errorf("the servers of deploy.yaml:\n%s", conf)
		}
	}
}
