package input

import (
	"net"
	"net/netip"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
)

// FormerName is the file in the cluster's directory that says which load balancers and endpoints nodes may still use
// that deploy.yaml no longer has. It is there from the moment in which the new deploy.yaml becomes the cluster's own
// until no node needs them any more, so that a run that was killed is continued by the next one.
const FormerName = "endpoint.json"

// Former are the endpoints and load balancers that the cluster had, and nodes may still use.
type Former struct {
	Endpoints []string   `json:"endpoints,omitempty"` // host:port
	Balancers []Balancer `json:"balancers,omitempty"`
}

// Balancer is a load balancer that the cluster had: a machine and the port that clients came to. Port is that of SSH.
type Balancer struct {
	Name string     `json:"name"`
	IP   netip.Addr `json:"ip"`
	Port int        `json:"port"`
	Arch string     `json:"arch"`
	Bind int        `json:"bind"`
}

// Any says whether there is one.
func (f Former) Any() bool { return len(f.Endpoints)+len(f.Balancers) > 0 }

// Hosts are the addresses and names by which nodes may still reach the API.
func (f Former) Hosts() (names []string, ips []netip.Addr) {
	for _, e := range f.Endpoints {
		host, _, err := net.SplitHostPort(e)
		if err != nil {
			continue
		}
		if ip, err := netip.ParseAddr(host); err == nil {
			ips = append(ips, ip)
		} else {
			names = append(names, host)
		}
	}
	for _, b := range f.Balancers {
		ips = append(ips, b.IP)
	}
	return names, ips
}

// Address is where a load balancer of the cluster was; not valid when there is none.
func (f Former) Address() netip.Addr {
	if n := len(f.Balancers); n > 0 {
		return f.Balancers[n-1].IP
	}
	return netip.Addr{}
}

// ReadFormer is what an earlier run has left, and what this one changes. A file that cannot be read counts as none: it
// was written at once or not at all.
func ReadFormer(r *Env) Former {
	var f Former
	if ReadUnderWay(r.StateDir, FormerName, &f) != nil {
		f = Former{}
	}
	if was := r.Saved; was != nil {
		if was.Endpoint != "" && !slices.Contains(f.Endpoints, was.Endpoint) {
			f.Endpoints = append(f.Endpoints, was.Endpoint)
		}
		for _, n := range was.With(bundle.LoadBalancer) {
			b := Balancer{Name: n.Name, IP: n.IP, Port: n.Port, Arch: n.Arch, Bind: was.LBPort}
			if !slices.ContainsFunc(f.Balancers, b.same) {
				f.Balancers = append(f.Balancers, b)
			}
		}
	}
	f.Endpoints = slices.DeleteFunc(f.Endpoints, func(e string) bool { return e == r.Cluster.Endpoint })
	f.Balancers = slices.DeleteFunc(f.Balancers, func(b Balancer) bool {
		return slices.ContainsFunc(r.Cluster.With(bundle.LoadBalancer), func(n config.Node) bool {
			return n.IP == b.IP && r.Cluster.LBPort == b.Bind
		})
	})
	return f
}

func (b Balancer) same(o Balancer) bool { return b.IP == o.IP && b.Bind == o.Bind }

// WriteFormer keeps it for the next run; none removes the file.
func (r *Env) WriteFormer(f Former) error {
	if !f.Any() {
		return ForgetUnderWay(r.StateDir, FormerName)
	}
	return WriteUnderWay(r.StateDir, FormerName, f)
}
