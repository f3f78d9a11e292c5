package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab/upstream"
)

// The drivers.
const (
	binary  = stand.Binary
	kubeadm = stand.Kubeadm
)

const clusterName = "conformance"

// cluster is the one of the lab.
type cluster struct {
	*stand.Stand
	*stand.Standing
	kubeconfig string // a file
}

// find gives the lab's cluster, which is installed by the driver if there is none: a control plane and two workers,
// because many tests want two nodes that take pods.
func find(ctx context.Context, s *stand.Stand, driver string) (*cluster, error) {
	is, err := s.Take(ctx, clusterName, driver, stand.OneAndTwo())
	if err != nil {
		return nil, err
	}
	// What tests that were killed have left would be in the way of those that want a quiet cluster.
	if _, err := s.Kubectl(ctx, "delete", "namespaces", "-l", "e2e-framework", "--timeout=5m"); err != nil {
		return nil, err
	}
	conf, err := s.Lab.Run(ctx, s.Admin, "cat /etc/kubernetes/admin.conf")
	if err != nil {
		return nil, err
	}
	c := &cluster{Stand: s, Standing: is, kubeconfig: filepath.Join(s.Dir, "admin.conf")}
	return c, os.WriteFile(c.kubeconfig, []byte(conf), 0o600)
}

// upgrade brings a cluster that find has installed to another version, unless all its nodes have it: the kubelets are
// upgraded last.
func (c *cluster) upgrade(ctx context.Context, version string) error {
	kubelets, err := c.Kubectl(ctx, "get", "nodes", "-o", "jsonpath={.items[*].status.nodeInfo.kubeletVersion}")
	if err != nil {
		return err
	}
	if slices.Equal(slices.Compact(strings.Fields(kubelets)), []string{version}) {
		return nil
	}
	pack := c.PackVersion
	if c.Driver == kubeadm {
		pack = c.PackKubeadm
	}
	bundle, err := pack(ctx, version)
	if err != nil {
		return err
	}
	code, err := c.Eggo(ctx, "upgrade", "--id", clusterName, "--bundle", bundle, "--soak", "20s", "--yes")
	if err == nil && code != 0 {
		err = fmt.Errorf("upgrade ended with %d", code)
	}
	if err != nil {
		return err
	}
	c.Kubernetes = version
	return nil
}

// images brings the images of the suite to the nodes, those that are not there yet. Where a node has one of another
// content under the name of one that clusters have themselves, it stays.
func (c *cluster) images(ctx context.Context, u *suite) error {
	digests, err := upstream.Digests(u.dir, runtime.GOARCH, u.images)
	if err != nil {
		return err
	}
	for _, n := range c.Nodes {
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
