package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/eggo-k8s/eggo/internal/shell"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab/upstream"
)

// The drivers.
const (
	binary  = "binary"
	kubeadm = "kubeadm"
)

// cluster is the one of the lab.
type cluster struct {
	*stand.Stand
	driver, kubernetes string
	nodes              []string
	kubeconfig         string // a file
}

// find gives the lab's cluster, which is installed by the driver if there is none. driver may be empty: any, and binary
// for one that is installed.
func find(ctx context.Context, s *stand.Stand, driver string) (*cluster, error) {
	out, err := s.Kubectl(ctx, "get", "nodes", "-o", "name")
	if err != nil {
		if err := install(ctx, s, driver); err != nil {
			return nil, err
		}
		if out, err = s.Kubectl(ctx, "get", "nodes", "-o", "name"); err != nil {
			return nil, err
		}
	} else {
		s.Say("taking the cluster that runs in the lab")
	}
	c := &cluster{Stand: s, driver: binary, kubeconfig: filepath.Join(s.Dir, "admin.conf")}
	for word := range strings.FieldsSeq(out) {
		c.nodes = append(c.nodes, strings.TrimPrefix(word, "node/"))
	}
	if _, err := s.Lab.Run(ctx, s.Admin, "test -e /etc/kubernetes/manifests/kube-apiserver.yaml"); err == nil {
		c.driver = kubeadm
	}
	if driver != "" && driver != c.driver {
		return nil, fmt.Errorf("the cluster in the lab is of the driver %s, not %s", c.driver, driver)
	}
	version, err := s.Kubectl(ctx, "version", "-o", "json")
	if err != nil {
		return nil, err
	}
	var v struct{ ServerVersion struct{ GitVersion string } }
	if err := json.Unmarshal([]byte(version), &v); err != nil || v.ServerVersion.GitVersion == "" {
		return nil, fmt.Errorf("the version of the cluster: %q %w", version, err)
	}
	c.kubernetes = v.ServerVersion.GitVersion
	conf, err := s.Lab.Run(ctx, s.Admin, "cat /etc/kubernetes/admin.conf")
	if err != nil {
		return nil, err
	}
	return c, os.WriteFile(c.kubeconfig, []byte(conf), 0o600)
}

// install makes a cluster of a control plane and two workers: many tests want two nodes that take pods.
func install(ctx context.Context, s *stand.Stand, driver string) error {
	if driver != "" && driver != binary && driver != kubeadm {
		return fmt.Errorf("DRIVER=%s: must be %s or %s", driver, binary, kubeadm)
	}
	if err := s.Build(ctx); err != nil {
		return err
	}
	pack := s.PackFromAnywhere
	if driver == kubeadm {
		pack = func(ctx context.Context) error { return packKubeadm(ctx, s) }
	}
	if err := pack(ctx); err != nil {
		return err
	}
	if err := s.Lab.Up(ctx, 3); err != nil {
		return err
	}
	file, err := s.Deploy("deploy.yaml", "conformance", stand.OneAndTwo())
	if err != nil {
		return err
	}
	if driver == kubeadm {
		if file, err = s.Vary(file, "kubeadm.yaml", "eggo:\n", "eggo:\n  driver: kubeadm\n"); err != nil {
			return err
		}
	}
	code, err := s.Eggo(ctx, "deploy", "-f", file)
	if err == nil && code != 0 {
		err = fmt.Errorf("deploy ended with %d", code)
	}
	return err
}

// packKubeadm packs a bundle that has what kubeadm asks for.
func packKubeadm(ctx context.Context, s *stand.Stand) error {
	spec, err := upstream.LoadSpec("")
	if err == nil {
		s.Bundle, err = s.PackKubeadm(ctx, spec.Kubernetes)
	}
	return err
}

// images brings the images of the suite to the nodes, those that are not there yet. Where a node has one of another
// content under the name of one that clusters have themselves, it stays.
func (c *cluster) images(ctx context.Context, u *suite) error {
	digests, err := upstream.Digests(u.dir, runtime.GOARCH, u.images)
	if err != nil {
		return err
	}
	for _, n := range c.nodes {
		list, err := c.Lab.Run(ctx, n, "ctr -n k8s.io images ls")
		if err != nil {
			return fmt.Errorf("images are brought to containerd alone: %w", err)
		}
		names := lacking(u.images, digests, list)
		if len(names) == 0 {
			continue
		}
		c.Say("%d images to %s", len(names), n)
		if err := c.load(ctx, n, u.dir, names); err != nil {
			return fmt.Errorf("images to %s: %w", n, err)
		}
	}
	return nil
}

// load has the container runtime of a node import images.
func (c *cluster) load(ctx context.Context, node, dir string, names []string) error {
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := upstream.WriteImages(ctx, w, dir, runtime.GOARCH, names)
		_ = w.CloseWithError(err)
		written <- err
	}()
	ssh := c.Lab.SSH(ctx, node, "sh -c "+shell.Quote("ctr -n k8s.io images import - >/dev/null"))
	ssh.Stdin = r
	out, err := ssh.CombinedOutput()
	_ = r.CloseWithError(errors.New("the node reads no more"))
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return <-written
}

// lacking are the images that a node has to get, by what containerd lists.
func lacking(names []string, digests map[string]string, list string) []string {
	have := map[string]string{}
	for line := range strings.Lines(list) {
		if f := strings.Fields(line); len(f) > 2 {
			have[f[0]] = f[2]
		}
	}
	var out []string
	for _, n := range names {
		digest, there := have[n]
		if !there || strings.Contains(n, "/e2e-test-images/") && digest != digests[n] {
			out = append(out, n)
		}
	}
	return out
}
