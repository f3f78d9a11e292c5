package e2e

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
	"github.com/eggo-k8s/eggo/test/lab/upstream"
)

// criDocker is the release of cri-dockerd, which has no file of checksums: the example takes the program from a file.
const criDocker = "https://github.com/Mirantis/cri-dockerd/releases/download/v0.3.17/cri-dockerd-0.3.17.{arch}.tgz"

// example packs the default spec with one of assets/examples laid over it.
func example(t *testing.T, s *stand.Stand, file string, change func(map[string]any)) {
	t.Helper()
	w := workshopOn(t, s)
	text, err := os.ReadFile(filepath.Join(s.Root, "assets", "examples", file))
	must(t, file, err)
	var more map[string]any
	must(t, file, yaml.Unmarshal(text, &more))
	title := strings.TrimSuffix(file, ".yaml")
	path := w.spec(t, title, func(doc map[string]any) {
		doc["binaries"] = append(doc["binaries"].([]any), more["binaries"].([]any)...)
		if list, ok := more["images"].([]any); ok {
			doc["images"] = append(doc["images"].([]any), list...)
		}
		if p, ok := more["packages"].(map[string]any); ok {
			mine := doc["packages"].(map[string]any)
			mine["install"] = append(mine["install"].([]any), p["install"].([]any)...)
		}
		change(doc)
	})
	spec, err := upstream.LoadSpec(path)
	must(t, file, err)
	if title == "docker" {
		spec.Binaries = append(spec.Binaries, upstream.Download{URL: criDocker})
	}
	options := upstream.Options{Spec: spec, Report: upstream.Printer(s.Out)}
	must(t, "upstream of "+file, upstream.Build(t.Context(), options))
	made, err := upstream.List(options)
	must(t, "upstream of "+file, err)
	for _, m := range made {
		if m.Name == strings.ReplaceAll(criDocker, "{arch}", runtime.GOARCH) {
			program(t, "sh", "-c", `tar -xzOf "$1" cri-dockerd/cri-dockerd >"$2" && chmod 755 "$2"`, "sh", m.File,
				filepath.Join(s.Dir, "cri-dockerd-"+runtime.GOARCH))
		}
	}
	s.Bundle = filepath.Join(w.pack(t, path, runtime.GOARCH), title+"-"+runtime.GOARCH+".tar.gz")
}

// plainRegistry is a registry over plain http on the lab's address of this machine, with agnhost under a name that no
// bundle has.
func plainRegistry(t *testing.T, s *stand.Stand) (address string, asked func() int) {
	t.Helper()
	ctx := t.Context()
	spec, err := upstream.LoadSpec("")
	must(t, "spec", err)
	up, err := upstream.Serve(ctx, "", "127.0.0.1:0", spec)
	must(t, "upstream", err)
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(s.Lab.HostAddress(), "0"))
	must(t, "registry", err)
	count := make(chan int, 1)
	count <- 0
	store := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	srv := &http.Server{ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				count <- <-count + 1
			}
			store.ServeHTTP(w, r)
		})}
	go func() { _ = srv.Serve(l) }()
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	from, err := name.ParseReference(up.Addr+"/registry.k8s.io/e2e-test-images/agnhost:2.57", name.Insecure)
	must(t, "image", err)
	index, err := remote.Index(from, remote.WithContext(ctx))
	must(t, "image", err)
	for _, as := range []string{"library/through-a-mirror:1", "own/insecure:1"} {
		to, err := name.ParseReference(l.Addr().String()+"/"+as, name.Insecure)
		must(t, as, err)
		must(t, as, remote.WriteIndex(to, index, remote.WithContext(ctx)))
	}
	return l.Addr().String(), func() int { n := <-count; count <- n; return n }
}

// pulls runs pods of images that only the registry has: one of docker.io that comes through the mirror, one of the
// registry itself.
func pulls(t *testing.T, s *stand.Stand, address string, asked func() int) {
	t.Helper()
	ctx := t.Context()
	before := asked()
	for pod, image := range map[string]string{"mirrored": "docker.io/library/through-a-mirror:1",
		"insecure": address + "/own/insecure:1"} {
		out, err := s.Kubectl(ctx, "run", pod, "--image="+image, "--restart=Never", "--", "pause")
		must(t, "run "+pod+": "+out, err)
	}
	for _, pod := range []string{"mirrored", "insecure"} {
		if out, err := s.Kubectl(ctx, "wait", "--for=condition=Ready", "pod/"+pod, "--timeout=120s"); err != nil {
			why, _ := s.Kubectl(ctx, "describe", "pod", pod)
			t.Errorf("%s: %v %s\n%s", pod, err, out, tail(why, 15))
		}
	}
	if n := asked() - before; n == 0 {
		t.Error("nobody asked the registry")
	}
	_, err := s.Kubectl(ctx, "delete", "pod", "mirrored", "insecure", "--grace-period=1")
	must(t, "delete", err)
}

// registries are the lines of a deploy.yaml that name the registry.
func registries(address string) string {
	return "registry-mirrors: ['http://" + address + "']\ninsecure-registries: ['" + address + "']\n"
}

// life deploys a cluster, uses it, deploys it again in vain and takes it away.
func life(t *testing.T, s *stand.Stand, cluster, file string, nodes int, use func()) {
	t.Helper()
	ctx := t.Context()
	before := untouched(t, s, nodes)
	try(t, s, 0, "deploy", "-f", file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, nodes))
	use()
	try(t, s, 0, "deploy", "-f", file)
	noChange(t, s.State(), cluster)
	try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, nodes) })
}

// runsOn wants the kubelet of every node to name its runtime.
func runsOn(t *testing.T, s *stand.Stand, want string) {
	t.Helper()
	out, err := s.Kubectl(t.Context(), "get", "nodes", "-o",
		"jsonpath={.items[*].status.nodeInfo.containerRuntimeVersion}")
	must(t, "nodes", err)
	for _, v := range strings.Fields(out) {
		if !strings.HasPrefix(v, want) {
			t.Errorf("the runtime is %s, want %s", v, want)
		}
	}
	s.Say("the runtime is %s", out)
}

// TestContainerdOne: a cluster on the distribution's containerd 1.x with mirror, insecure registry, a socket and
// settings of its own, and with CNI plugins in a directory that is not the usual one.
func TestContainerdOne(t *testing.T) {
	full(t)
	s := newLab(t, 1)
	address, asked := plainRegistry(t, s)
	base, err := s.Deploy("root.yaml", "ctr1", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "deploy.yaml", err)
	file, err := s.Vary(base, "containerd-1.yaml", "runtime: containerd\n",
		"runtime: containerd\nruntime-endpoint: unix:///run/own/cri.sock\ncni-bin-dir: /usr/libexec/cni\n"+
			registries(address)+
			"config-extra-args:\n- {name: container-engine, extra-args: {debug.level: warn, "+
			"cri.max_container_log_line_size: 20000}}\n")
	must(t, "deploy.yaml", err)
	life(t, s, "ctr1", file, 1, func() {
		runsOn(t, s, "containerd://1.")
		onNode(t, s,
			"[ -S /run/own/cri.sock ] && [ -x /usr/libexec/cni/flannel ] && [ ! -e /opt/cni/bin ] && grep -q "+
				"'max_container_log_line_size = 20000' /etc/eggo/containerd.toml", "")
		pulls(t, s, address, asked)
	})
}

// containerdTwo packs containerd 2 as programs in place of the distribution's package.
func containerdTwo(t *testing.T, s *stand.Stand) {
	t.Helper()
	example(t, s, "containerd-2.yaml", func(doc map[string]any) {
		p := doc["packages"].(map[string]any)
		var rest []any
		for _, x := range p["install"].([]any) {
			if x.(map[string]any)["name"] != "containerd" {
				rest = append(rest, x)
			}
		}
		p["install"] = rest
	})
}

// TestContainerdTwo: containerd 2 as programs out of the bundle, with a unit of ours and a configuration of version 3.
func TestContainerdTwo(t *testing.T) {
	full(t)
	s := newLab(t, 1)
	containerdTwo(t, s)
	address, asked := plainRegistry(t, s)
	base, err := s.Deploy("root.yaml", "ctr2", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "deploy.yaml", err)
	file, err := s.Vary(base, "containerd-2.yaml", "runtime: containerd\n", "runtime: containerd\n"+registries(address))
	must(t, "deploy.yaml", err)
	life(t, s, "ctr2", file, 1, func() {
		runsOn(t, s, "containerd://2.")
		onNode(t, s,
			"grep -qx 'version = 3' /etc/eggo/containerd.toml && containerd --config /etc/eggo/containerd.toml "+
				"config dump | grep -q 'SystemdCgroup = true'", "")
		pulls(t, s, address, asked)
	})
}

// aRunc is runc for docker on a machine whose root may not lower an oom_score_adj; containerd can be told not to,
// docker cannot.
const aRunc = `cat >/usr/local/sbin/runc-lab <<'RUNC'
#!/bin/sh
prev=
for a in "$@"; do [ "$prev" != --bundle ] || sed -i -E 's/"oomScoreAdj": ?-[0-9]+/"oomScoreAdj":0/' "$a/config.json"; prev=$a; done
exec runc "$@"
RUNC
chmod 755 /usr/local/sbin/runc-lab
`

// TestDocker: a cluster on Debian's docker with cri-dockerd.
func TestDocker(t *testing.T) {
	full(t)
	s := newLab(t, 2)
	ctx := t.Context()
	example(t, s, "docker.yaml", func(map[string]any) {})
	address, asked := plainRegistry(t, s)
	base, err := s.Deploy("root.yaml", "dock", []stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "n"}})
	must(t, "deploy.yaml", err)
	file, err := s.Vary(base, "docker-deploy.yaml", "runtime: containerd\n", "runtime: docker\n"+registries(address)+
		"config-extra-args:\n- name: container-engine\n  extra-args: {default-runtime: lab, runtimes: "+
		"'{\"lab\":{\"path\":\"/usr/local/sbin/runc-lab\"}}'}\n")
	must(t, "deploy.yaml", err)
	_, err = s.Each(ctx, 2, aRunc)
	must(t, "runc", err)
	life(t, s, "dock", file, 2, func() {
		runsOn(t, s, "docker://")
		out, err := s.Each(ctx, 2,
			"docker info --format '{{.CgroupDriver}}'; ip link show docker0 2>/dev/null || true; iptables-save | "+
				"grep DOCKER || true; [ ! -e /etc/docker/daemon.json ]")
		must(t, "docker", err)
		for _, o := range out {
			if o != "systemd" {
				must(t, "docker", errors.New("its cgroup driver, or what it made: "+o))
			}
		}
		pulls(t, s, address, asked)
	})
}
