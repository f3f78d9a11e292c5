// Package apiservertest runs kube-apiserver with etcd on the loopback interface, with the programs that the lab built.
package apiservertest

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/assets/eggops"
)

// Server is a running API server. It authorizes by RBAC.
type Server struct {
	// Config is of a user who may do anything.
	Config *rest.Config

	env *envtest.Environment
}

// Start starts an API server until the end of the test, with the definitions of the operator. If the programs are not
// there, the test is skipped; with EGGO_E2E it fails.
func Start(t testing.TB) *Server {
	t.Helper()
	dir, err := programs(t)
	if err != nil {
		if os.Getenv("EGGO_E2E") == "" {
			t.Skipf("no kube-apiserver and etcd (go run ./test/lab/cmd/upstream build makes them): %v", err)
		}
		t.Fatal(err)
	}
	env := &envtest.Environment{BinaryAssetsDirectory: dir, ControlPlaneStartTimeout: 2 * time.Minute,
		ControlPlaneStopTimeout: time.Minute}
	config, err := env.Start()
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stopping the API server: %v", err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = 500, 1000
	s := &Server{Config: config, env: env}
	definitions, err := fs.Glob(eggops.Files(), "crds/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := s.Client(t)
	for _, name := range definitions {
		s.Apply(t, c, name)
	}
	Until(t, func() error {
		return c.List(t.Context(), &v1.OperationList{})
	})
	for _, list := range []client.ObjectList{&v1.MachineList{}, &v1.MachineBindingList{}, &v1.InfrastructureList{},
		&v1.ClusterList{}} {
		Until(t, func() error { return c.List(t.Context(), list) })
	}
	return s
}

// Scheme returns the kinds of Kubernetes and those of the operator.
func Scheme(t testing.TB) *kruntime.Scheme {
	t.Helper()
	s := kruntime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(s), v1.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	return s
}

// Client returns a client that may do anything. It asks the server each time.
func (s *Server) Client(t testing.TB) client.Client { return clientOf(t, s.Config) }

// As returns a client of a user who has no rights but those that are bound to name or groups.
func (s *Server) As(t testing.TB, name string, groups ...string) client.Client {
	t.Helper()
	config := rest.CopyConfig(s.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: name,
		Groups: append([]string{"system:authenticated"}, groups...)}
	return clientOf(t, config)
}

func clientOf(t testing.TB, config *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{Scheme: Scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Apply applies the objects of a manifest of assets/eggops, by its path there.
func (s *Server) Apply(t testing.TB, c client.Client, name string) {
	t.Helper()
	text, err := fs.ReadFile(eggops.Files(), name)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range Objects(t, text) {
		err := c.Patch(t.Context(), o, client.Apply, client.FieldOwner("test"), client.ForceOwnership)
		if apimeta.IsNoMatchError(err) { // a kind whose definition was applied a moment ago
			Until(t, func() error {
				return c.Patch(t.Context(), o, client.Apply, client.FieldOwner("test"), client.ForceOwnership)
			})
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// Objects reads the documents of a YAML text.
func Objects(t testing.TB, text []byte) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var o map[string]any
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		if len(o) > 0 {
			out = append(out, &unstructured.Unstructured{Object: o})
		}
	}
}

// Until calls do until it returns nil, for at most a minute.
func Until(t testing.TB, do func() error) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); ; <-tick.C {
		err := do()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// programs returns a directory with kube-apiserver and etcd: $KUBEBUILDER_ASSETS, or one made of the lab's files.
func programs(t testing.TB) (string, error) {
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		return dir, nil
	}
	lab := os.Getenv("EGGO_LAB_DIR")
	if lab == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		lab = filepath.Join(cache, "eggo-lab")
	}
	files := filepath.Join(lab, "upstream", "files")
	server, err := newest(filepath.Join(files, "dl.k8s.io/release/v*/bin/linux", runtime.GOARCH, "kube-apiserver"))
	if err != nil {
		return "", err
	}
	etcd, err := newest(filepath.Join(files, "github.com/etcd-io/etcd/releases/download/v*",
		"etcd-v*-linux-"+runtime.GOARCH+".tar.gz"))
	if err != nil {
		return "", err
	}
	dir := t.TempDir()
	return dir, errors.Join(os.Symlink(server, filepath.Join(dir, "kube-apiserver")), unpack(etcd, dir))
}

func newest(pattern string) (string, error) {
	found, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", &fs.PathError{Op: "glob", Path: pattern, Err: fs.ErrNotExist}
	}
	return slices.Max(found), nil
}

// unpack writes the program etcd of an archive of its release.
func unpack(archive, dir string) (err error) {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			return err
		}
		if path.Base(h.Name) != "etcd" || !strings.HasPrefix(h.Name, "etcd-") || h.Typeflag != tar.TypeReg {
			continue
		}
		out, err := os.OpenFile(filepath.Join(dir, "etcd"), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o700)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, r)
		return errors.Join(err, out.Close())
	}
}
