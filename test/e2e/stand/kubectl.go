package stand

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
)

// kubectlHere returns a kubectl that runs on this machine against the API server of s.Admin: on an emulated machine
// each start of the program takes seconds.
func (s *Stand) kubectlHere(ctx context.Context, args ...string) (*exec.Cmd, error) {
	file, err := s.extractKubectl(ctx)
	if err != nil {
		return nil, err
	}
	text, err := s.Lab.Run(ctx, s.Admin, "cat /etc/kubernetes/admin.conf")
	if err != nil {
		return nil, err
	}
	access := filepath.Join(s.Dir, "admin-"+s.Admin+".conf")
	if err := os.WriteFile(access, []byte(text), 0o600); err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, file, append([]string{"--kubeconfig", access}, args...)...)
	c.Env = append(os.Environ(), "KUBECACHEDIR="+filepath.Join(s.Dir, "kubectl-cache"), "NO_PROXY=*", "no_proxy=*")
	return c, nil
}

// extractKubectl takes kubectl out of the stand's bundle, once.
func (s *Stand) extractKubectl(ctx context.Context) (string, error) {
	file := filepath.Join(s.Dir, "kubectl")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	a, err := bundle.Open(s.Bundle)
	if err != nil {
		return "", err
	}
	m := a.Manifest()
	var data bytes.Buffer
	err = eachMember(ctx, s.Bundle, func(head *tar.Header, body io.Reader) error {
		if e, ok := m.Member(head.Name); ok && e.Kind == bundle.Binary && filepath.Base(e.Path) == "kubectl" {
			_, err := io.Copy(&data, body)
			return err
		}
		return nil
	})
	if err == nil && data.Len() == 0 {
		err = errors.New("no kubectl in " + s.Bundle)
	}
	if err != nil {
		return "", err
	}
	return file, os.WriteFile(file, data.Bytes(), 0o700)
}

// Kubectl runs kubectl for the cluster of the control plane s.Admin, on it or, where that is a virtual machine, on this
// machine.
func (s *Stand) Kubectl(ctx context.Context, args ...string) (string, error) {
	return s.kubectl(ctx, "", args...)
}

// Apply has kubectl apply a manifest.
func (s *Stand) Apply(ctx context.Context, manifest string) error {
	_, err := s.kubectl(ctx, manifest, "apply", "-f", "-")
	return err
}

func (s *Stand) kubectl(ctx context.Context, input string, args ...string) (string, error) {
	var c *exec.Cmd
	if s.Lab.IsVM(s.Admin) {
		var err error
		if c, err = s.kubectlHere(ctx, args...); err != nil {
			return "", err
		}
	} else {
		c = s.Lab.SSH(ctx, s.Admin, kubectl+" "+shell.QuoteAll(args))
	}
	var out, complaint bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(input), &out, &complaint
	if err := c.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, complaint.String())
	}
	return out.String(), nil
}
