package phases

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
)

// complete is a bundle with every program of every role, but those that are absent.
func complete(absent ...string) *bundle.Manifest {
	m := manifest()
	m.Members = slices.DeleteFunc(m.Members, func(x bundle.Member) bool { return x.Kind == bundle.Binary })
	for _, role := range bundle.AllRoles() {
		for _, name := range slices.Concat(config.StartedPrograms(role), config.ToolPrograms(role)) {
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
	own := func(list ...config.Package) func(*run, *facts.Facts) {
		return func(r *run, _ *facts.Facts) { r.Cluster.Packages[workerRole] = list }
	}
	kubelet := config.Package{Name: "kubelet", Type: "binary", Dst: "/usr/bin"}
	for name, c := range map[string]struct {
		node   config.Node
		absent []string
		change func(*run, *facts.Facts)
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
		"a balancer with its own nginx": {lb, []string{"nginx"}, func(_ *run, f *facts.Facts) { f.Nginx = true }, nil},
		"nginx from its repositories": {lb, []string{"nginx"}, func(r *run, _ *facts.Facts) {
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
			func(r *run, _ *facts.Facts) { r.SetBundle("amd64", nil) }, nil},
		"a bundle for another system": {worker, []string{"kubelet"},
			func(_ *run, f *facts.Facts) { f.OS["ID"], f.OS["ID_LIKE"] = "fedora", "" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, f := newTestRun(), good(c.node)
			r.SetBundle("amd64", box{complete(c.absent...)})
			if c.change != nil {
				c.change(r, f)
			}
			var got []string
			for _, x := range r.judgePrograms(c.node, f) {
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

// A service starts the program where the list puts it.
func TestServicesStartWhatWasPlaced(t *testing.T) {
	r := newTestRun()
	r.SetFact(worker.Name, good(worker))
	r.Cluster.Packages[workerRole] = []config.Package{{Name: "kubelet", Type: "binary", Dst: "/usr/bin"}}
	if got := r.ProgramPath(worker, "kubelet"); got != "/usr/bin/kubelet" {
		t.Error(got)
	}
	if got := r.ProgramPath(master, "kubelet"); got != "/usr/local/bin/kubelet" {
		t.Error(got)
	}
}
