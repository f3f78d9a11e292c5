package assets

import (
	"bytes"
	"embed"
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

// CoreDNSParams fill the manifest of CoreDNS. Values come from a validated deploy.yaml.
type CoreDNSParams struct {
	Image    string // with tag
	Domain   string // of the cluster
	Address  string // of the Service kube-dns
	Replicas int
	Forward  bool // ask the node's resolvers for other names
}

// What may stand in the manifest; regular expressions, for the values end up in YAML and in a Corefile, which has a syntax of its own.
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
	t, err := template.New("coredns.yaml").Option("missingkey=error").ParseFS(manifests, "manifests/coredns.yaml")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, p)
	return out.Bytes(), err
}
