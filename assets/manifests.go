package assets

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"text/template"
)

//go:embed manifests
var manifests embed.FS

// Rights are the roles that nodes and the API server need, as a YAML stream.
func Rights() []byte {
	data, err := manifests.ReadFile("manifests/rights.yaml")
	if err != nil {
		panic(err) // embedded: it is there
	}
	return data
}

// AuditPolicy says which requests an API server logs.
func AuditPolicy() []byte {
	data, err := manifests.ReadFile("manifests/audit-policy.yaml")
	if err != nil {
		panic(err) // embedded: it is there
	}
	return data
}

// CoreDNSParams fill the manifest of CoreDNS. Values come from a validated deploy.yaml.
type CoreDNSParams struct {
	Image    string // with tag
	Domain   string // of the cluster
	Address  string // of the Service kube-dns
	Replicas int
	Forward  bool // ask the node's resolvers for other names
	// Upstreams are asked for other names instead.
	Upstreams []string
}

// What may stand in the manifest; regular expressions, for the values end up in YAML and in a Corefile, which has a
// syntax of its own.
var (
	domainName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)
	imageName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:@-]*$`)
)

// check refuses values that would change the meaning of the manifest.
func (p CoreDNSParams) check() error {
	if !domainName.MatchString(p.Domain) {
		return fmt.Errorf("%q is not the domain of a cluster", p.Domain)
	}
	if !imageName.MatchString(p.Image) {
		return fmt.Errorf("%q is not the name of an image", p.Image)
	}
	if _, err := netip.ParseAddr(p.Address); err != nil {
		return fmt.Errorf("the address of the cluster's DNS: %w", err)
	}
	for _, u := range p.Upstreams {
		if _, err := netip.ParseAddr(u); err != nil {
			return fmt.Errorf("a server that CoreDNS forwards to: %w", err)
		}
	}
	if p.Replicas < 1 {
		return fmt.Errorf("%d replicas", p.Replicas)
	}
	return nil
}

// CoreDNS renders the manifest.
func CoreDNS(p CoreDNSParams) ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return render("coredns.yaml", p)
}

// DNSServiceParams fill the manifest of a Service kube-dns whose servers run outside of the cluster's pods.
type DNSServiceParams struct {
	Address string   // of the Service
	Servers []string // addresses of the control planes
}

// Family is the address type of an EndpointSlice.
func (p DNSServiceParams) Family() string {
	if a, err := netip.ParseAddr(p.Address); err == nil && a.Is6() {
		return "IPv6"
	}
	return "IPv4"
}

// CoreDNSService renders the Service, its EndpointSlice, and the rights of the user system:coredns.
func CoreDNSService(p DNSServiceParams) ([]byte, error) {
	if len(p.Servers) == 0 {
		return nil, errors.New("no DNS server")
	}
	for _, s := range append([]string{p.Address}, p.Servers...) {
		if _, err := netip.ParseAddr(s); err != nil {
			return nil, fmt.Errorf("an address of the cluster's DNS: %w", err)
		}
	}
	return render("coredns-service.yaml", p)
}

func render(name string, values any) ([]byte, error) {
	t, err := template.New(name).Option("missingkey=error").ParseFS(manifests, "manifests/"+name)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, values)
	return out.Bytes(), err
}
