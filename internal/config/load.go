package config

import (
	"net/netip"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// loader carries what is known of the file while it is read.
type loader struct {
	table    *table
	file     string
	lines    int
	text     [][]byte // the lines, without CR
	problems Problems
	more     bool // there were more problems than are kept
	c        *Cluster

	source

	hosts      []host
	machines   []host // the first entry of every node of c.Nodes
	dnsVIP     netip.Addr
	asked      map[string]listed // packages by role and name
	ports      []askedPort
	externalCA bool
	caPath     string
}

// Load decodes a deploy.yaml of either layout from its bytes and returns the cluster, with defaults filled in, and all
// problems in the order of the lines. The cluster is nil if one of the problems is an error. The filename is only for
// the problems; nothing is opened.
func Load(data []byte, filename string) (*Cluster, Problems) {
	_, c, problems := LoadSpec(data, filename)
	return c, problems
}

// LoadSpec is Load, and returns what the file says as well, as far as it can be read.
func LoadSpec(data []byte, filename string) (Spec, *Cluster, Problems) {
	l := theTable().newLoader(filename)
	s, ok := l.spec(data)
	if !ok {
		return s, nil, l.sorted()
	}
	c, problems := l.cluster(s)
	return s, c, problems
}

// sorted returns the problems in the order of the lines, and the last one says if there were more.
func (l *loader) sorted() Problems {
	l.problems = l.problems.Sorted()
	if l.more {
		last := l.problems[len(l.problems)-1]
		l.problems = append(l.problems, Problem{
			File: l.file, Line: last.Line, Col: last.Col, Code: "config.more", Severity: last.Severity,
			Args: map[string]string{"key": ""},
		})
		event.Provoked(l.problems[len(l.problems)-1].Fault())
	}
	return l.problems
}

// newLoader returns a loader that has read nothing.
func (t *table) newLoader(filename string) *loader {
	l := &loader{
		table: t, file: filename, source: newSource(), asked: map[string]listed{},
		c: &Cluster{
			OpenPorts: map[bundle.Role][]Port{}, Packages: map[bundle.Role][]Package{}, PluginArgs: map[string]string{},
			Source: PackageSource{Bundles: map[string]string{}},
		},
	}
	for _, k := range t.below[""] {
		if k.Written != "" { // unless the file has another spelling
			l.names[k.Path] = k.Written
		}
	}
	return l
}

// defaultEndpoints are the sockets of the runtimes.
var defaultEndpoints = map[string]string{
	"containerd": "unix:///run/containerd/containerd.sock",
	"docker":     "unix:///run/cri-dockerd.sock",
	"isulad":     "unix:///var/run/isulad.sock",
}

// defaults fills in what follows from other keys.
func (l *loader) defaults() {
	c := l.c
	if c.Runtime != "" && c.RuntimeEndpoint == "" {
		c.RuntimeEndpoint = defaultEndpoints[c.Runtime]
	}
	if l.externalCA {
		c.ExternalCA = l.caPath
	}
	if !c.ServiceGateway.IsValid() {
		c.ServiceGateway = nth(c.ServiceCIDR, 1)
	}
	if !c.DNSAddr.IsValid() {
		if c.DNSAddr = l.dnsVIP; !c.DNSAddr.IsValid() {
			c.DNSAddr = nth(c.ServiceCIDR, 10)
		}
	}
}

// nth returns the address n after the network's own, or its first one if the network has not so many.
func nth(p netip.Prefix, n int) netip.Addr {
	a := p.Addr()
	for range n {
		a = a.Next()
	}
	if !p.Contains(a) {
		return p.Addr().Next()
	}
	return a
}
