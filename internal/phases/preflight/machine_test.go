package preflight

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

var etcdOnly = config.Node{Name: "e1", IP: worker.IP, Port: 22, Arch: "amd64", Roles: []bundle.Role{etcdRole}}

func TestCheckOfANodeThatIsOursOrSeemsSo(t *testing.T) {
	for name, c := range map[string]struct {
		node  config.Node
		spoil func(f *facts.Facts)
		want  []string
	}{
		"ours": {worker, func(f *facts.Facts) {
			f.Cluster, f.NodeName, f.Kubelet, f.Recorded = "mine", "w1", "v1.34.2", true
		}, nil},
		"another name": {worker, func(f *facts.Facts) { f.Cluster, f.NodeName = "mine", "w2" },
			[]string{"error preflight.renamed"}},
		"another version": {worker, func(f *facts.Facts) { f.Cluster, f.Kubelet = "mine", "v1.33.9" },
			[]string{"error preflight.version"}},
		"another runtime": {worker, func(f *facts.Facts) { f.Cluster, f.OwnRuntimes = "mine", []string{"docker"} },
			[]string{"error preflight.runtime-change"}},
		"the same runtime": {worker, func(f *facts.Facts) {
			f.Cluster, f.OwnRuntimes = "mine", []string{"containerd"}
		}, nil},
		"a kubelet of another cluster": {worker, func(f *facts.Facts) { f.Cluster, f.Kubelet = "theirs", "v1.33.9" },
			[]string{"error preflight.other-cluster"}},
		"kept by a cleanup": {worker, func(f *facts.Facts) {
			f.Recorded, f.Present = true, []string{"/var/lib/kubelet"}
		}, nil},
		"leftovers without a record": {worker, func(f *facts.Facts) { f.Present = []string{"/var/lib/kubelet"} },
			[]string{"error preflight.leftovers"}},
		"a containerd": {worker, func(f *facts.Facts) { f.Runtimes = []string{"containerd"} },
			[]string{"error preflight.foreign-runtime"}},
		"ours, cut off behind packages": {worker, func(f *facts.Facts) {
			f.Cluster, f.Runtimes = "mine", []string{"containerd"}
		}, nil},
		"a containerd beside etcd": {etcdOnly, func(f *facts.Facts) { f.Runtimes = []string{"containerd"} }, nil},
		"no route": {worker, func(f *facts.Facts) { f.NoRoute = true },
			[]string{"error preflight.no-route"}},
		"no route from etcd": {etcdOnly, func(f *facts.Facts) { f.NoRoute = true }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := nodestest.Good(c.node)
			c.spoil(f)
			if diff := cmp.Diff(c.want, nodestest.Codes(findings(t, newInput(), c.node, f))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckOfAuthorities(t *testing.T) {
	sum := func(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) }
	const no = "error preflight.state-elsewhere"
	for name, c := range map[string]struct {
		here            map[string]string
		ca, etcd        string
		deploy, cleanup []string
	}{
		"the same":              {map[string]string{"ca.crt": "a", "etcd/ca.crt": "e"}, sum("a"), sum("e"), nil, nil},
		"not yet on the node":   {map[string]string{"ca.crt": "a", "etcd/ca.crt": "e"}, "", "", nil, nil},
		"only claimed, no keys": {nil, "", "", nil, nil},
		"another": {map[string]string{"ca.crt": "b", "etcd/ca.crt": "e"}, sum("a"), sum("e"),
			[]string{no}, []string{no}},
		"another etcd's": {map[string]string{"ca.crt": "a", "etcd/ca.crt": "x"}, sum("a"), sum("e"),
			[]string{no}, []string{no}},
		"lost":     {nil, sum("a"), sum("e"), []string{no}, nil},
		"one lost": {map[string]string{"ca.crt": "a"}, sum("a"), sum("e"), []string{no}, nil},
		"one lost, one another": {map[string]string{"etcd/ca.crt": "x"}, sum("a"), sum("e"), []string{no},
			[]string{no}},
		"an etcd member alone": {map[string]string{"ca.crt": "a", "etcd/ca.crt": "e"}, "", sum("other"), []string{no},
			[]string{no}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newInput()
			r.StateDir = t.TempDir()
			for file, text := range c.here {
				path := filepath.Join(r.StateDir, "pki", file)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			f := nodestest.Good(worker)
			f.Cluster, f.CA, f.EtcdCA = "mine", c.ca, c.etcd
			if diff := cmp.Diff(c.deploy, nodestest.Codes(findings(t, r, worker, f))); diff != "" {
				t.Error("deploy:", diff)
			}
			r.SetFact("w1", f)
			if diff := cmp.Diff(c.cleanup, nodestest.Codes(allFindings(t, r, checkAuthority(true)))); diff != "" {
				t.Error("cleanup:", diff)
			}
			f.Cluster = "theirs"
			if got := allFindings(t, r, checkAuthority(true)); got != nil {
				t.Error("of another cluster, which is told elsewhere:", got)
			}
		})
	}
}

// mute is a machine whose SSH server does not forward.
type mute struct{ node.Host }

func TestCheckOfReachAsksASingleMachineToo(t *testing.T) {
	r := newInput()
	r.Cluster.Nodes = []config.Node{master}
	if got := allFindings(t, r, checkReach()); got != nil {
		t.Error("a machine that could not be inspected, which is told elsewhere:", got)
	}
	r.SetNode("m1", node.New(mute{}, nil))
	r.SetFact("m1", nodestest.Good(master))
	if got := allFindings(t, r, checkReach()); !slices.Equal(nodestest.Codes(got),
		[]string{"error preflight.unreachable"}) ||
		got[0].Host != "m1" {
		t.Errorf("%+v", got)
	}
}

// Several control planes that are reached at the address of one of them.
func TestCheckSinglePoint(t *testing.T) {
	r := newInput()
	second := master
	second.Name, second.IP = "m2", worker.IP.Next()
	r.Cluster.Endpoint = net.JoinHostPort(master.IP.String(), "6443")
	check := func(want ...string) {
		t.Helper()
		if got := nodestest.Codes(allFindings(t, r, checkSinglePoint())); !slices.Equal(got, want) {
			t.Error(got)
		}
	}
	check()
	r.Cluster.Nodes = []config.Node{master, second, worker}
	check("warning preflight.endpoint-single")
	r.Cluster.Endpoint = "api.example.com:6443"
	check()
}

// A load balancer that deploy.yaml no longer has on its machine is stopped there later: that is said.
func TestALoadBalancerThatMovedIsTold(t *testing.T) {
	r := newInput()
	was := worker
	was.Roles = []bundle.Role{workerRole, bundle.LoadBalancer}
	r.Saved = &config.Cluster{Name: "mine", Nodes: []config.Node{master, was}}
	r.SetFormer(input.ReadFormer(r.Env))
	checks := []Check{checkDNSChange(), checkLost(true), checkBalancer()}
	if got := nodestest.Codes(allFindings(t, r, checks...)); !slices.Equal(got,
		[]string{"warning preflight.balancer-stops"}) {
		t.Error(got)
	}
	r.Cluster.Nodes[1] = was
	r.SetFormer(input.ReadFormer(r.Env))
	if got := allFindings(t, r, checks...); got != nil {
		t.Error(got)
	}
}

// What bundle and deploy.yaml say together is held against the list before anything is touched.
func TestPlacesAreCheckedTogether(t *testing.T) {
	m := nodestest.Manifest()
	m.Members = append(m.Members,
		bundle.Member{Path: "x", Kind: bundle.ExtraFile, Name: "x", Dst: "/etc/sudoers.d",
			Roles: []bundle.Role{workerRole}},
		bundle.Member{Path: "pki/ca.crt", Kind: bundle.ExtraDir, Name: "pki"},
		bundle.Member{Path: "site.service", Kind: bundle.ExtraFile, Name: "site.service"},
		bundle.Member{Path: "kubelet.service", Kind: bundle.ExtraFile, Name: "kubelet.service"})
	for name, c := range map[string]struct {
		list []config.Package
		want []string
	}{
		"the manifest alone": {nil, []string{"error place.not-listed"}},
		"a unit that is listed": {[]config.Package{{Name: "site.service", Type: "file", Dst: "/etc/systemd/system"}},
			nil},
		"a unit of ours": {[]config.Package{{Name: "kubelet.service", Type: "file", Dst: "/etc/systemd/system"}},
			[]string{"error place.ours"}},
		"into our certificates": {[]config.Package{{Name: "pki", Type: "dir", Dst: "/etc/kubernetes"}},
			[]string{"error place.ours"}},
	} {
		r := newInput()
		r.SetBundle("amd64", nodestest.Box{Is: m})
		r.Cluster.Packages[workerRole] = c.list
		if got := nodestest.Codes(findingsOf(t, r, checkPlaces(), worker, nodestest.Good(worker))); !slices.Equal(got,
			c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// complete is a bundle with every program of every role, but those that are absent.
func complete(absent ...string) *bundle.Manifest {
	m := nodestest.Manifest()
	m.Members = slices.DeleteFunc(m.Members, func(x bundle.Member) bool { return x.Kind == bundle.Binary })
	for _, role := range bundle.AllRoles() {
		for _, name := range slices.Concat(starts(role), config.ToolPrograms(role)) {
			m.Members = append(m.Members, bundle.Member{Path: string(role) + "/" + name, Kind: bundle.Binary,
				Name: name, Dst: "/usr/local/bin", Roles: []bundle.Role{role}})
		}
	}
	m.Install = append(m.Install, bundle.Package{Name: "nginx", Roles: []bundle.Role{bundle.LoadBalancer}})
	m.Members = slices.DeleteFunc(m.Members, func(x bundle.Member) bool { return slices.Contains(absent, x.Name) })
	m.Install = slices.DeleteFunc(m.Install, func(p bundle.Package) bool { return slices.Contains(absent, p.Name) })
	return m
}

func TestEachMachineGetsTheProgramsOfItsRoles(t *testing.T) {
	lb := config.Node{Name: "lb", Arch: "amd64", Roles: []bundle.Role{bundle.LoadBalancer}}
	both := config.Node{Name: "b", Arch: "amd64", Roles: []bundle.Role{cpRole, workerRole}}
	own := func(list ...config.Package) func(*Input, *facts.Facts) {
		return func(r *Input, _ *facts.Facts) { r.Cluster.Packages[workerRole] = list }
	}
	kubelet := config.Package{Name: "kubelet", Type: "binary", Dst: "/usr/bin"}
	for name, c := range map[string]struct {
		node   config.Node
		absent []string
		change func(*Input, *facts.Facts)
		want   []string
	}{
		"all there": {master, nil, nil, nil},
		"a worker without kubelet": {worker, []string{"kubelet"}, nil,
			[]string{"error preflight.no-program kubelet worker"}},
		"two roles, each once": {both, []string{"kubelet"}, nil,
			[]string{"error preflight.no-program kubelet control-plane"}},
		"a control plane and a member": {master, []string{"etcd", "kube-apiserver"}, nil,
			[]string{"error preflight.no-program kube-apiserver control-plane",
				"error preflight.no-program etcd etcd"}},
		"tools": {master, []string{"etcdctl", "kubectl"}, nil,
			[]string{"warning preflight.no-tool kubectl control-plane", "warning preflight.no-tool etcdctl etcd"}},
		"what other roles need": {worker, []string{"etcd", "kube-apiserver", "nginx"}, nil, nil},
		"a balancer":            {lb, nil, nil, nil},
		"a balancer without nginx": {lb, []string{"nginx"}, nil,
			[]string{"error preflight.no-balancer nginx loadbalancer"}},
		"a balancer with its own nginx": {lb, []string{"nginx"}, func(_ *Input, f *facts.Facts) { f.Nginx = true },
			nil},
		"nginx from its repositories": {lb, []string{"nginx"}, func(r *Input, _ *facts.Facts) {
			r.Cluster.Packages[bundle.LoadBalancer] = []config.Package{{Name: "nginx-core", Type: "repo"}}
		}, nil},
		"a list that forgets one": {worker, nil, own(kubelet),
			[]string{"error preflight.unlisted kube-proxy worker"}},
		"a list with all": {worker, nil,
			own(kubelet, config.Package{Name: "kube-proxy", Type: "binary", Dst: "/usr/bin"}), nil},
		"a list and a script": {worker, nil,
			own(kubelet, config.Package{Name: "get.sh", Type: "shell", Schedule: "prejoin"}), nil},
		"a list and a late script": {worker, nil,
			own(kubelet, config.Package{Name: "get.sh", Type: "shell", Schedule: "postjoin"}),
			[]string{"error preflight.unlisted kube-proxy worker"}},
		"additions are no list": {worker, nil, own(config.Package{Name: "jq", Type: "pkg", Addition: true}), nil},
		"no bundle serves it": {worker, []string{"kubelet"},
			func(r *Input, _ *facts.Facts) { r.SetBundle("amd64", nil) }, nil},
		"a bundle for another system": {worker, []string{"kubelet"},
			func(_ *Input, f *facts.Facts) { f.OS["ID"], f.OS["ID_LIKE"] = "fedora", "" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, f := newInput(), nodestest.Good(c.node)
			r.SetBundle("amd64", nodestest.Box{Is: complete(c.absent...)})
			if c.change != nil {
				c.change(r, f)
			}
			var got []string
			for _, x := range findingsOf(t, r, checkPrograms(), c.node, f) {
				got = append(got, string(x.Severity)+" "+x.Fault.Code+" "+x.Fault.Args["program"]+" "+
					x.Fault.Args["role"])
				if x.Host != c.node.Name || x.Fault.Args["arch"] != "amd64" || x.Fault.Args["bundle"] != "b" {
					t.Errorf("%+v", x)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsWrongWithAMachine(t *testing.T) {
	for name, c := range map[string]struct {
		node  config.Node
		spoil func(r *Input, f *facts.Facts)
		want  []string
	}{
		"nothing": {worker, func(*Input, *facts.Facts) {}, nil},
		"another architecture": {worker, func(_ *Input, f *facts.Facts) { f.Arch = "arm64" },
			[]string{"error preflight.arch"}},
		"no systemd": {worker, func(_ *Input, f *facts.Facts) { f.Systemd = false },
			[]string{"error preflight.no-systemd"}},
		"another address": {worker, func(_ *Input, f *facts.Facts) { f.Addresses = []string{"10.0.0.1"} },
			[]string{"error preflight.address"}},
		"clock ahead": {worker, func(_ *Input, f *facts.Facts) { f.Skew = 31 * time.Second },
			[]string{"error preflight.clock"}},
		"clock behind": {worker, func(_ *Input, f *facts.Facts) { f.Skew = -time.Hour },
			[]string{"error preflight.clock"}},
		"clock a little off": {worker, func(_ *Input, f *facts.Facts) { f.Skew = -6 * time.Second },
			[]string{"warning preflight.clock"}},
		"a slow answer is no skew": {worker, func(_ *Input, f *facts.Facts) {
			f.Skew, f.SkewError = 32*time.Second, 30*time.Second
		}, nil},
		"something missing": {worker, func(_ *Input, f *facts.Facts) {
			f.Missing = []string{"program tar", "cgroup controller pids"}
		}, []string{"error preflight.missing"}},
		"swap": {worker, func(_ *Input, f *facts.Facts) { f.Swap = true },
			[]string{"error preflight.swap"}},
		"swap under etcd alone": {config.Node{Name: "e1", IP: worker.IP, Arch: "amd64", Roles: []bundle.Role{etcdRole}},
			func(_ *Input, f *facts.Facts) {
				f.Swap = true
			}, nil},
		"another release": {worker, func(_ *Input, f *facts.Facts) { f.OS["VERSION_CODENAME"] = "trixie" },
			[]string{"error preflight.os"}},
		"another package manager": {worker, func(_ *Input, f *facts.Facts) { f.PkgManagers = []string{"dnf"} },
			[]string{"error preflight.no-packager"}},
		"dnf beside apt": {worker, func(_ *Input, f *facts.Facts) {
			f.PkgManagers = []string{"apt-get", "dnf", "yum"}
		}, nil},
		"another family": {worker, func(_ *Input, f *facts.Facts) {
			f.OS["ID"], f.PkgManagers = "openEuler", []string{"apt-get", "dnf"}
		}, []string{"error preflight.os"}},
		"a derivative": {worker, func(_ *Input, f *facts.Facts) {
			f.OS["ID"], f.OS["ID_LIKE"] = "raspbian", "debian"
		}, nil},
		"a system nobody knows": {worker, func(_ *Input, f *facts.Facts) { f.OS = map[string]string{} },
			[]string{"error preflight.os"}},
		"another cluster": {worker, func(_ *Input, f *facts.Facts) {
			f.Cluster, f.Active = "theirs", []string{"kubelet"}
		}, []string{"error preflight.other-cluster"}},
		"ours already": {worker, func(_ *Input, f *facts.Facts) {
			f.Cluster, f.Active, f.Present, f.Listening[10250] = "mine", []string{"kubelet"},
				[]string{"/etc/kubernetes"}, "kubelet"
		}, nil},
		"a foreign kubelet": {worker, func(_ *Input, f *facts.Facts) {
			f.Active, f.Listening[10250] = []string{"kubelet"}, "kubelet"
		}, []string{"error preflight.foreign-cluster"}},
		"leftovers": {worker, func(_ *Input, f *facts.Facts) { f.Present = []string{"/var/lib/etcd"} },
			[]string{"error preflight.leftovers"}},
		"a port is taken": {worker, func(_ *Input, f *facts.Facts) { f.Listening[10250] = "nginx" },
			[]string{"error preflight.port"}},
		"two ports of the master": {master, func(_ *Input, f *facts.Facts) {
			f.Listening[2379], f.Listening[6443] = "x", "y"
		}, []string{"error preflight.port", "error preflight.port"}},
		"the master's, on a worker": {worker, func(_ *Input, f *facts.Facts) {
			f.Listening[2379], f.Listening[6443] = "x", "y"
		}, nil},
		"no space": {worker, func(_ *Input, f *facts.Facts) { full(f, "/dev/vda1", 100<<20) },
			[]string{"error preflight.disk"}},
		"no space for images": {worker, func(_ *Input, f *facts.Facts) {
			f.Free["/var/lib/containerd"] = facts.FreeSpace{Device: "/dev/vdb", Bytes: 600 << 20}
		}, []string{"error preflight.disk"}},
		"just space for images": {worker, func(_ *Input, f *facts.Facts) {
			f.Free["/var/lib/containerd"] = facts.FreeSpace{Device: "/dev/vdb", Bytes: (512 + 3*71) << 20}
		}, nil},
		"no space, but ours already": {worker, func(_ *Input, f *facts.Facts) {
			f.Cluster = "mine"
			full(f, "/dev/vda1", 1)
			f.Versions = []string{"kubelet-"}
		}, nil},
		"a daemon.json": {worker, func(r *Input, f *facts.Facts) {
			r.Cluster.Runtime, f.DockerJSON = "docker", true
		}, []string{"warning preflight.docker-json"}},
		"a daemon.json in vain": {worker, func(_ *Input, f *facts.Facts) { f.DockerJSON = true }, nil},
		"a slow machine": {worker, func(_ *Input, f *facts.Facts) { f.Took = 2 * time.Second },
			[]string{"warning preflight.slow"}},
		"a slow control plane": {master, func(r *Input, f *facts.Facts) {
			f.Took, r.Leases = 2*time.Second, true
		}, []string{"warning preflight.slow", "warning preflight.slow-leases"}},
		"a slow control plane with longer leases": {master, func(_ *Input, f *facts.Facts) {
			f.Took = 2 * time.Second
		}, []string{"warning preflight.slow"}},
		"a slow worker": {worker, func(r *Input, f *facts.Facts) {
			f.Took, r.Leases = 2*time.Second, true
		}, []string{"warning preflight.slow"}},
		"a machine that is busy for a moment": {worker, func(_ *Input, f *facts.Facts) {
			f.Took = 700 * time.Millisecond
		}, nil},
		"one CPU": {master, func(_ *Input, f *facts.Facts) { f.CPUs = 1 },
			[]string{"warning preflight.cpus"}},
		"1 GiB of memory": {master, func(_ *Input, f *facts.Facts) { f.Memory = 1 << 30 },
			[]string{"warning preflight.memory"}},
		"a small worker":     {worker, func(_ *Input, f *facts.Facts) { f.CPUs, f.Memory = 1, 1<<30 }, nil},
		"two CPUs and 2 GiB": {master, func(_ *Input, f *facts.Facts) { f.CPUs, f.Memory = 2, 2<<30 }, nil},
		"SELinux under nginx": {balancerNode, func(_ *Input, f *facts.Facts) { f.SELinux = true },
			[]string{"warning preflight.selinux-balancer"}},
		"SELinux elsewhere": {worker, func(_ *Input, f *facts.Facts) { f.SELinux = true }, nil},
		"an endpoint nobody knows": {worker, func(r *Input, f *facts.Facts) {
			named(r, f)
			r.Cluster.Nodes = append(r.Cluster.Nodes, master)
		}, []string{"error preflight.endpoint-unknown"}},
		"of one control plane": {worker, named, []string{"warning preflight.endpoint-told"}},
		"of a load balancer": {worker, func(r *Input, f *facts.Facts) {
			named(r, f)
			r.Cluster.Nodes = append(r.Cluster.Nodes, master, balancerNode)
		}, []string{"warning preflight.endpoint-told"}},
		"which a member never asks": {etcdOnly, named, nil},
		"no bundle to compare with": {worker, func(r *Input, f *facts.Facts) {
			r.SetBundle("amd64", nil)
			f.PkgManagers = nil
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, f := newInput(), nodestest.Good(c.node)
			c.spoil(r, f)
			got := findings(t, r, c.node, f)
			if diff := cmp.Diff(c.want, nodestest.Codes(got)); diff != "" {
				t.Error(diff)
			}
			for _, g := range got {
				if g.Host != c.node.Name || g.Fault.Node != c.node.Name || g.Fault.Class != event.ClassPreflight {
					t.Errorf("%+v", g)
				}
			}
		})
	}
}

var balancerNode = config.Node{Name: "lb", IP: netip.MustParseAddr("192.0.2.41"), Port: 22, Arch: "amd64",
	Roles: []bundle.Role{bundle.LoadBalancer}}

// named has the cluster reached by a name that the machine cannot resolve.
func named(r *Input, f *facts.Facts) { r.Cluster.Endpoint, f.Resolves = "api.example.org:6443", "no" }

func full(f *facts.Facts, device string, left int64) {
	for p := range f.Free {
		f.Free[p] = facts.FreeSpace{Device: device, Bytes: left}
	}
}

func TestMachinesThatWereCopiedAreTold(t *testing.T) {
	r := newInput()
	r.SetFact("m1", nodestest.Good(master))
	r.SetFact("w1", nodestest.Good(worker))
	if got := allFindings(t, r, checkDuplicateIdentity()); got != nil {
		t.Error(got)
	}
	r.Fact("w1").MachineID = "m1"
	if got := nodestest.Codes(allFindings(t, r, checkDuplicateIdentity())); !slices.Equal(got,
		[]string{"warning preflight.machine-id"}) {
		t.Error(got)
	}
	r.Fact("w1").MachineID, r.Fact("m1").MachineID = "", ""
	if got := allFindings(t, r, checkDuplicateIdentity()); got != nil {
		t.Error("two machines without an identity:", got)
	}
}

func TestSkewIsWordedAsPreciselyAsItIsKnown(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Hour - 700*time.Millisecond: "1h0m0s", time.Hour + 2*time.Second: "1h0m0s",
		-time.Hour - time.Second: "-1h0m0s",
		31 * time.Second:         "31s", 31*time.Second + 400*time.Millisecond: "31s",
		9*time.Minute + 59*time.Second: "9m59s",
	} {
		if got := wordSkew(d); got != want {
			t.Errorf("%s is worded %s, not %s", d, got, want)
		}
	}
}

// TestRoomForAnotherVersion: beside the binaries that run the node needs room for those that are about to come, and for
// no others.
func TestRoomForAnotherVersion(t *testing.T) {
	r := newInput()
	m := nodestest.Manifest()
	for i := range m.Members {
		m.Members[i].SHA256 = strings.Repeat("5", 64)
	}
	r.SetBundle("amd64", nodestest.Box{Is: m})
	f := nodestest.Good(worker)
	f.Cluster = r.Cluster.Name
	f.Free["/opt/eggo"] = facts.FreeSpace{Device: "/dev/vdc", Bytes: 50 << 20}
	if got := nodestest.Codes(findingsOf(t, r, checkSpace(), worker, f)); !slices.Equal(got,
		[]string{"error preflight.disk"}) {
		t.Errorf("60 MiB into 50: %v", got)
	}
	f.Versions = []string{"kubelet-555555555555"}
	if got := nodestest.Codes(findingsOf(t, r, checkSpace(), worker, f)); len(got) > 0 {
		t.Errorf("it is there already: %v", got)
	}
	f.Cluster, f.Versions = "", nil
	if got := nodestest.Codes(findingsOf(t, r, checkSpace(), worker, f)); !slices.Equal(got,
		[]string{"error preflight.disk"}) {
		t.Errorf("a new machine: %v", got)
	}
}

func (mute) Dial(context.Context, string, string) (net.Conn, error) {
	return nil, event.NewFault(event.ClassFailed, "ssh.forward-prohibited", errors.New("administratively prohibited"))
}

func TestKernelOfPlugins(t *testing.T) {
	for _, c := range []struct {
		plugin, kernel string
		noIPSet        bool
		want           []string
	}{
		{"cilium", "5.10.0-32-amd64", true, nil},
		{"cilium", "6.1.0", true, nil},
		{"cilium", "4.19.90-2109.1.0", true, []string{"error preflight.plugin-kernel"}},
		{"cilium", "5.4.0-100-generic", true, []string{"error preflight.plugin-kernel"}},
		{"cilium", "odd", true, nil},
		{"calico", "4.19.90", false, nil},
		{"calico", "4.19.90", true, []string{"warning preflight.plugin-module"}},
		{"flannel", "3.10.0", true, nil},
	} {
		r := newInput()
		r.Cluster.NetworkPlugin = c.plugin
		f := nodestest.Good(worker)
		f.Kernel, f.NoIPSet = c.kernel, c.noIPSet
		if got := nodestest.Codes(findings(t, r, worker, f)); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestServicesByIPVS(t *testing.T) {
	ipset := bundle.Package{Name: "ipset", Roles: []bundle.Role{bundle.Worker}}
	for name, c := range map[string]struct {
		node     config.Node
		ipvs     bool
		kubeadm  bool
		module   bool
		packages []bundle.Package
		want     []string
	}{
		"not by IPVS": {node: worker},
		"all there":   {node: worker, ipvs: true, module: true, packages: []bundle.Package{ipset}},
		"no module": {worker, true, false, false, []bundle.Package{ipset},
			[]string{"error preflight.proxy-module"}},
		"no program":          {worker, true, false, true, nil, []string{"error preflight.proxy-ipset"}},
		"no program in a pod": {node: worker, ipvs: true, kubeadm: true, module: true},
		"for others alone": {master, true, false, true, []bundle.Package{ipset},
			[]string{"error preflight.proxy-ipset"}},
		"nothing": {worker, true, false, false, nil,
			[]string{"error preflight.proxy-module", "error preflight.proxy-ipset"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newInput()
			r.IPVS = c.ipvs
			if c.kubeadm {
				r.Cluster.Eggo.Driver = "kubeadm"
			}
			m := nodestest.Manifest()
			m.Install = c.packages
			r.SetBundle("amd64", nodestest.Box{Is: m})
			f := nodestest.Good(c.node)
			f.NoIPVS, f.NoIPSetProgram = !c.module, true
			r.SetFact(c.node.Name, f)
			if got := nodestest.Codes(findingsOf(t, r, checkProxy(), c.node, f)); !slices.Equal(got, c.want) {
				t.Errorf("%v, not %v", got, c.want)
			}
		})
	}
}

func TestAnotherServerOnThePortOfCoreDNS(t *testing.T) {
	in := newInput()
	in.Cluster.DNS.Type = "binary"
	for who, want := range map[string]int{"": 0, "dnsmasq": 1, "coredns": 1} {
		f := nodestest.Good(master)
		f.DNSTaken = who
		if got := nodestest.Codes(findings(t, in, master, f)); len(got) != want ||
			want > 0 && got[0] != "error preflight.port" {
			t.Errorf("%q on port 53: %v", who, got)
		}
		if got := findingsOf(t, in, checkDNSPort(), worker, f); len(got) > 0 {
			t.Errorf("%q on a worker: %v", who, nodestest.Codes(got))
		}
		f.Cluster = in.Cluster.Name
		if got := findings(t, in, master, f); who == "coredns" && len(got) != 0 {
			t.Error("our own is no obstacle")
		}
	}
}

func TestAStateDirectoryWithoutReadableAuthorities(t *testing.T) {
	in := newInput()
	in.StateDir = t.TempDir()
	ca := filepath.Join(in.StateDir, "pki", "ca.crt")
	if err := os.MkdirAll(ca, 0o700); err != nil {
		t.Fatal(err)
	}
	f := nodestest.Good(worker)
	f.Cluster, f.CA = "mine", "sum"
	got := findings(t, in, worker, f)
	if !slices.Equal(nodestest.Codes(got), []string{"error state.read"}) || !strings.Contains(got[0].Fault.Cause, ca) {
		t.Errorf("%+v", got)
	}
}

// TestCgroup1OfEveryVersion: a kubelet warns of it since 1.35.
func TestCgroup1OfEveryVersion(t *testing.T) {
	for minor := bundle.OldestMinor; minor <= bundle.NewestMinor+1; minor++ {
		for _, cgroup2 := range []bool{false, true} {
			in, m, f := newInput(), nodestest.Manifest(), nodestest.Good(worker)
			m.Kubernetes, f.Cgroup2 = fmt.Sprintf("v1.%d.1", minor), cgroup2
			in.SetBundle("amd64", nodestest.Box{Is: m})
			warned := slices.Contains(nodestest.Codes(findings(t, in, worker, f)), "warning preflight.cgroup-v1")
			if warned != (!cgroup2 && minor >= 35) {
				t.Errorf("%s, cgroup2 %v: warned %v", m.Kubernetes, cgroup2, warned)
			}
		}
	}
}
