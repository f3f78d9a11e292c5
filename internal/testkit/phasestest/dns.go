package phasestest

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"strings"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/eggo-k8s/eggo/internal/config"
)

// WithCoreDNS is a build whose bundle has CoreDNS as a program too.
const WithCoreDNS = "coredns"

// What the cluster's DNS consists of, as paths of the API.
const (
	dnsService    = "/api/v1/namespaces/kube-system/services/kube-dns"
	dnsEndpoints  = "/api/v1/namespaces/kube-system/endpoints/kube-dns"
	dnsDeployment = "/apis/apps/v1/namespaces/kube-system/deployments/coredns"
	dnsSlices     = "/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices/"
	dnsBindings   = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/"
	podAddress    = "10.200.0.9"
)

// dnsTrouble is what goes wrong with the names of a cluster.
type dnsTrouble struct {
	late  int                 // how often the controller of slices makes one again that it should not
	idle  bool                // it finds no pods
	mute  map[string]bool     // machines on which CoreDNS does not answer
	lag   map[string][]string // endpoints that a node's kube-proxy still has
	turn  int                 // of the endpoints
	watch bool
	gaps  []string
}

// LateController has the controller of slices make that of the pods again, so often, after the selector is gone.
func (l *Lab) LateController(times int) { l.trouble(func(d *dnsTrouble) { d.late = times }) }

// IdleController has it find no pods.
func (l *Lab) IdleController(is bool) { l.trouble(func(d *dnsTrouble) { d.idle = is }) }

// Mute has CoreDNS of a machine answer no questions.
func (l *Lab) Mute(name string, is bool) { l.trouble(func(d *dnsTrouble) { d.mute[name] = is }) }

// Lag has kube-proxy of a node not hear of changes of the cluster's DNS from now on.
func (l *Lab) Lag(name string, is bool) {
	l.trouble(func(d *dnsTrouble) {
		delete(d.lag, name)
		if is {
			d.lag[name] = l.API.dnsServers()
		}
	})
}

// WatchNames has every change of the cluster followed by the question whether all servers that the DNS's Service leads
// to answer.
func (l *Lab) WatchNames() { l.trouble(func(d *dnsTrouble) { d.watch = true }) }

// Gaps are the moments in which they did not, each once.
func (l *Lab) Gaps() (out []string) {
	l.trouble(func(d *dnsTrouble) {
		l.watchNames(l.API)
		out = append(out, d.gaps...)
	})
	return out
}

func (l *Lab) trouble(f func(*dnsTrouble)) {
	l.API.mu.Lock()
	defer l.API.mu.Unlock()
	f(&l.API.dns)
}

// watchNames keeps what does not answer.
func (l *Lab) watchNames(a *API) {
	if !a.dns.watch || a.store[dnsService] == nil {
		return
	}
	servers := a.dnsServers()
	why := ""
	if len(servers) == 0 {
		why = "the Service leads nowhere"
	}
	for _, s := range servers {
		if !l.answers(a, s) {
			why = "nobody answers at " + s
		}
	}
	if n := len(a.dns.gaps); why != "" && (n == 0 || a.dns.gaps[n-1] != why) {
		a.dns.gaps = append(a.dns.gaps, why)
	}
}

// dnsServers are the addresses that the slices of the Service have.
func (a *API) dnsServers() []string {
	var out []string
	for _, p := range sorted(a.store) {
		labels, _ := meta(a.store[p])["labels"].(object)
		if !strings.HasPrefix(p, dnsSlices) || labels["kubernetes.io/service-name"] != "kube-dns" {
			continue
		}
		list, _ := a.store[p]["endpoints"].([]any)
		for _, e := range list {
			o, _ := e.(object)
			addresses, _ := o["addresses"].([]any)
			for _, x := range addresses {
				out = append(out, fmt.Sprint(x))
			}
		}
	}
	return out
}

// machineAt is the machine of an address.
func (l *Lab) machineAt(address string) *Node {
	for _, n := range l.machines {
		if n.IP.String() == address {
			return l.Nodes[n.Name]
		}
	}
	return nil
}

// answers says whether a server of the DNS runs, and may ask the API.
func (l *Lab) answers(a *API, server string) bool {
	if nd := l.machineAt(server); nd != nil {
		return nd.active("coredns.service") && a.store[dnsBindings+"eggo:coredns"] != nil
	}
	return a.store[dnsDeployment] != nil && a.store[dnsBindings+"system:coredns"] != nil
}

// endpointControllers do what a cluster's own do for the Service of the DNS: slices and Endpoints of the pods while it
// has a selector; without one what they have made stays, and Endpoints are copied.
func (a *API) endpointControllers() {
	svc, pods, copied := a.store[dnsService], dnsSlices+"kube-dns-abcde", dnsSlices+"kube-dns-copy"
	if svc == nil {
		return
	}
	spec, _ := svc["spec"].(object)
	ready := []any{object{"addresses": []any{podAddress}, "conditions": object{"ready": true}}}
	slice := func(by string) object {
		return object{"kind": "EndpointSlice", "apiVersion": "discovery.k8s.io/v1", "addressType": "IPv4",
			"endpoints": ready, "metadata": object{"namespace": "kube-system", "labels": object{
				"kubernetes.io/service-name": "kube-dns", "endpointslice.kubernetes.io/managed-by": by}}}
	}
	named := func(path string, o object) {
		meta(o)["name"] = path[strings.LastIndex(path, "/")+1:]
		if is := a.store[path]; is == nil || !reflect.DeepEqual(is["endpoints"], o["endpoints"]) {
			a.put(path, o, true)
		}
	}
	switch selector, _ := spec["selector"].(object); {
	case len(selector) > 0:
		if a.store[dnsDeployment] == nil || a.dns.idle {
			ready = []any{}
		}
		named(pods, slice("endpointslice-controller.k8s.io"))
		if a.store[dnsEndpoints] == nil {
			named(dnsEndpoints, object{"kind": "Endpoints", "apiVersion": "v1",
				"metadata": object{"namespace": "kube-system"}})
		}
		delete(a.store, copied)
	case a.store[dnsEndpoints] != nil:
		named(copied, slice("endpointslicemirroring-controller.k8s.io"))
	default:
		delete(a.store, copied)
		if a.store[pods] == nil && a.dns.late > 0 {
			a.dns.late--
			named(pods, slice("endpointslice-controller.k8s.io"))
		}
	}
}

// dialService connects to a server of the DNS as the node's kube-proxy leads there: to one after another.
func (l *Lab) dialService(from, addr, port string) (net.Conn, error) {
	if l.API == nil || !l.Nodes[from].active("kube-proxy.service") {
		return nil, refused(addr)
	}
	l.API.mu.Lock()
	servers, lags := l.API.dns.lag[from]
	if !lags {
		servers = l.API.dnsServers()
	}
	l.API.dns.turn++
	turn := l.API.dns.turn
	l.API.mu.Unlock()
	if len(servers) == 0 {
		return nil, refused(addr)
	}
	return l.dialDNS(servers[turn%len(servers)], port)
}

// dialDNS connects to one.
func (l *Lab) dialDNS(server, port string) (net.Conn, error) {
	nd, at := l.machineAt(server), ""
	if nd != nil {
		at = server
	}
	l.API.mu.Lock()
	knows := l.answers(l.API, server)
	runs := l.API.store[dnsDeployment] != nil
	if nd != nil {
		runs = nd.active("coredns.service") && (port != "53" || !l.API.dns.mute[nd.name])
	}
	l.API.mu.Unlock()
	if !runs {
		return nil, refused(server)
	}
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		if port == "53" {
			_ = answer(theirs, l.Cluster, knows)
			return
		}
		if _, err := http.ReadRequest(bufio.NewReader(theirs)); err == nil {
			text := fmt.Sprintf("coredns_plugin_enabled{name=\"cache\",server=\"dns://%s\"} 1\n",
				net.JoinHostPort(at, "53"))
			_, _ = fmt.Fprintf(theirs, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
				len(text), text)
		}
	}()
	return ours, nil
}

// answer is what CoreDNS says to one question over TCP.
func answer(c net.Conn, cluster *config.Cluster, knows bool) error {
	var size [2]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return err
	}
	text := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(c, text); err != nil {
		return err
	}
	var m dnsmessage.Message
	if err := m.Unpack(text); err != nil || len(m.Questions) != 1 {
		return err
	}
	m.Response = true
	q := m.Questions[0]
	switch {
	case !knows:
		m.RCode = dnsmessage.RCodeServerFailure
	case q.Name.String() != "kubernetes.default.svc."+cluster.DNSDomain+".":
		m.RCode = dnsmessage.RCodeNameError
	default:
		m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 30},
			Body: &dnsmessage.AResource{A: cluster.ServiceGateway.As4()}}}
	}
	text, err := m.Pack()
	if err != nil {
		return err
	}
	_, err = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(text))), text...))
	return err
}

// dialNames connects to a server of the DNS, if the address is one's.
func (l *Lab) dialNames(_ context.Context, from, host, port string) (c net.Conn, ok bool, err error) {
	if port != "53" && port != "9153" {
		return nil, false, nil
	}
	if a, err := netip.ParseAddr(host); err == nil && a == l.Cluster.DNSAddr {
		c, err := l.dialService(from, net.JoinHostPort(host, port), port)
		return c, true, err
	}
	if l.API == nil || l.machineAt(host) == nil || !l.machineAt(host).active("coredns.service") {
		return nil, false, nil
	}
	c, err = l.dialDNS(host, port)
	return c, true, err
}

// prune takes from o what an owner had applied and no longer applies.
func prune(o, was, now object) {
	for k, v := range was {
		next, stays := now[k]
		inner, isMap := v.(object)
		kept, isKept := o[k].(object)
		switch {
		case isMap && isKept:
			deeper, _ := next.(object)
			prune(kept, inner, deeper)
			if len(kept) == 0 && !stays {
				delete(o, k)
			}
		case !stays:
			delete(o, k)
		}
	}
}
