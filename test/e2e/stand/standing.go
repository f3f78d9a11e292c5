package stand

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/eggo-k8s/eggo/test/lab/upstream"
)

// The drivers of a cluster.
const (
	Binary  = "binary"
	Kubeadm = "kubeadm"
)

// Standing is the cluster that runs in the lab.
type Standing struct {
	Driver, Kubernetes string   // kubeadm, v1.34.2
	Nodes              []string // by name
}

// Take gives the lab's cluster. If there is none, one of that name is installed on booted nodes, by the driver.
// driver may be empty: any, and binary for a cluster that is installed.
func (s *Stand) Take(ctx context.Context, cluster, driver string, nodes []Node) (*Standing, error) {
	if driver != "" && driver != Binary && driver != Kubeadm {
		return nil, fmt.Errorf("DRIVER=%s: must be %s or %s", driver, Binary, Kubeadm)
	}
	list := func() (string, error) { return s.Kubectl(ctx, "get", "nodes", "-o", "name") }
	out, err := list()
	if err != nil {
		if err := s.install(ctx, cluster, driver, nodes); err != nil {
			return nil, err
		}
		if out, err = list(); err != nil {
			return nil, err
		}
	} else {
		s.Say("taking the cluster that runs in the lab")
	}
	c := &Standing{Nodes: nodeNames(out)}
	is, err := s.Lab.Run(ctx, s.Admin, "if [ -e /etc/kubernetes/manifests/kube-apiserver.yaml ]; then echo "+Kubeadm+
		"; else echo "+Binary+"; fi")
	if err != nil {
		return nil, err
	}
	if c.Driver, err = driverOf(is, driver); err != nil {
		return nil, err
	}
	version, err := s.Kubectl(ctx, "version", "-o", "json")
	if err != nil {
		return nil, err
	}
	c.Kubernetes, err = serverVersion(version)
	return c, err
}

// install makes a cluster of the driver on newly booted nodes.
func (s *Stand) install(ctx context.Context, cluster, driver string, nodes []Node) error {
	if err := s.Build(ctx); err != nil {
		return err
	}
	pack := s.PackFromAnywhere
	if driver == Kubeadm {
		pack = s.PackForKubeadm
	}
	if err := pack(ctx); err != nil {
		return err
	}
	there, err := s.Lab.Nodes()
	if err != nil {
		return err
	}
	if len(there) == 0 { // nor is anything of the cluster that was there before
		if err := os.RemoveAll(s.State()); err != nil {
			return err
		}
	}
	if err := s.Lab.Up(ctx, len(nodes)); err != nil {
		return err
	}
	file, err := s.Deploy("deploy.yaml", cluster, nodes)
	if err != nil {
		return err
	}
	if driver == Kubeadm {
		if file, err = s.ByKubeadm(file, "kubeadm.yaml"); err != nil {
			return err
		}
	}
	code, err := s.Eggo(ctx, "deploy", "-f", file)
	if err == nil && code != 0 {
		err = fmt.Errorf("deploy ended with %d", code)
	}
	return err
}

// PackForKubeadm packs the stand's bundle: that of the default spec's version, with what kubeadm asks for.
func (s *Stand) PackForKubeadm(ctx context.Context) error {
	spec, err := upstream.LoadSpec("")
	if err != nil {
		return err
	}
	bundle, err := s.PackKubeadm(ctx, spec.Kubernetes)
	if err == nil {
		s.Bundle = bundle
	}
	return err
}

// ByKubeadm writes another deploy.yaml made from one: with the kubeadm driver.
func (s *Stand) ByKubeadm(base, name string) (string, error) {
	return s.Vary(base, name, "eggo:\n", "eggo:\n  driver: "+Kubeadm+"\n")
}

// nodeNames are those of a list of Nodes by kubectl.
func nodeNames(list string) []string {
	var out []string
	for word := range strings.FieldsSeq(list) {
		out = append(out, strings.TrimPrefix(word, "node/"))
	}
	return out
}

// driverOf is the driver that the lab's cluster has; want may be empty.
func driverOf(is, want string) (string, error) {
	is = strings.TrimSpace(is)
	if want != "" && is != want {
		return "", fmt.Errorf("the cluster in the lab is of the driver %s, not %s", is, want)
	}
	return is, nil
}

// serverVersion is that of the API server, in what kubectl version prints as JSON.
func serverVersion(text string) (string, error) {
	var v struct{ ServerVersion struct{ GitVersion string } }
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return "", fmt.Errorf("the version of the cluster: %q: %w", text, err)
	}
	if v.ServerVersion.GitVersion == "" {
		return "", fmt.Errorf("the version of the cluster is not in %q", text)
	}
	return v.ServerVersion.GitVersion, nil
}
