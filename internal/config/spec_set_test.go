package config

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

func TestSpecSet_ReadsWhatIsTyped(t *testing.T) {
	var s Spec
	for _, x := range []struct{ key, value, code string }{
		{"cluster-id", "UPPER", ""}, // wrong, but a text
		{"service.dns.replicas", "3", ""},
		{"external-ca", "Yes", ""},
		{"registry-mirrors", "https://a.example,, https://b.example ,", ""},
		{"addons", "x.yaml, y.yaml", ""},
		{"eggo.bastion", "ops@b.example:2222, c.example", ""},
		{"eggo.nodes", "w1: {labels: {disk: ssd}} // fast", ""},
		{"open-ports", "worker: [{port: 179}]", ""},
		{"config-extra-args", "[{name: kubelet, extra-args: ['--v=2', '--v=3']}, x]", "config.twice-in-list"},
		{"service.dnsaddr", "x", ""},
		{"service.dnsaddr", "", ""}, // taken back
		{"network.plugin-args", "{a: b}", "config.unknown-key"},
		{"eggo.machines", "a: [", "config.syntax"},
		{"eggo.registries", "{a: &x {}}", "config.alias"},
		{"enable-kubelet-serving", "maybe", "config.boolean"},
		{"masters", "[]", "config.unknown-key"}, // SetMachines
		{"service", "{}", "config.unknown-key"},
	} {
		problems := s.Set(x.key, x.value)
		if (len(problems) > 0) != (x.code != "") || x.code != "" &&
			!slices.ContainsFunc(problems, func(p Problem) bool { return p.Code == x.code && p.Args["key"] == p.Key }) {
			t.Errorf("%s: %s: %s, want %s", x.key, x.value, dump(problems), x.code)
		}
	}
	want := Spec{ClusterID: "UPPER", Service: ServiceSpec{DNS: DNSSpec{Replicas: 3}}, ExternalCA: true,
		RegistryMirrors: []string{"https://a.example", "https://b.example"},
		Addons:          []AddonSpec{{Filename: "x.yaml"}, {Filename: "y.yaml"}},
		OpenPorts:       PortsSpec{Node: []PortSpec{{Port: 179}}},
		ConfigExtraArgs: []ComponentSpec{{Name: "kubelet", ExtraArgs: map[string]string{"--v": "2"}}, {}},
		Eggo: EggoSpec{Bastion: []HopSpec{{Host: "b.example", Port: 2222, User: "ops"}, {Host: "c.example", Port: 22}},
			Nodes:      map[string]NodeSpec{"w1": {Labels: map[string]string{"disk": "ssd"}}},
			Registries: s.Eggo.Registries}}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
}

func TestSpecSetMachines_FillsTheLists(t *testing.T) {
	plane, worker, etcd, lb := bundle.ControlPlane, bundle.Worker, bundle.Etcd, bundle.LoadBalancer
	list := []Machine{{Name: "w", IP: "192.0.2.2", Roles: []bundle.Role{worker}},
		{Name: "m", IP: "192.0.2.1", Port: "2222", Roles: []bundle.Role{plane, etcd}},
		{Name: "b", IP: "x", Roles: []bundle.Role{lb}}}
	var s Spec
	if problems := s.SetMachines(list, "9443"); len(problems) > 0 {
		t.Error(dump(problems))
	}
	want := Spec{Masters: []MachineSpec{{Name: "m", IP: "192.0.2.1", Port: 2222}},
		Nodes:       []MachineSpec{{Name: "w", IP: "192.0.2.2"}},
		LoadBalance: BalancerSpec{MachineSpec: MachineSpec{Name: "b", IP: "x"}, BindPort: 9443}}
	if d := cmp.Diff(want, s); d != "" { // members of etcd that are the control planes are not listed
		t.Error(d)
	}
	s.PackageSrc.X86Src = "/x.tar.gz"
	if _, problems := s.Cluster("f"); !slices.ContainsFunc(problems.OfMachines(list), func(p Problem) bool {
		return p.Key == "machines[2].ip" && p.Code == "config.ip"
	}) {
		t.Error(dump(problems))
	}
	list = append(list, Machine{Name: "c", IP: "x", Port: "a", Roles: []bundle.Role{lb}}, Machine{Name: "d"})
	var got []string
	for _, p := range s.SetMachines(list, "0") {
		got = append(got, p.Key+" "+p.Code)
	}
	slices.Sort(got)
	if d := cmp.Diff([]string{"machines[2].bind-port config.integer", "machines[3] config.loadbalance-many",
		"machines[3].ip config.shared-address", "machines[3].port config.integer",
		"machines[4] config.no-role"}, got); d != "" {
		t.Error(d)
	}
}

func TestSpecSetBundle_KeepsTheLayout(t *testing.T) {
	older, newer := Spec{}, Spec{Install: InstallSpec{PackageSource: PackageSourceSpec{
		SrcPath: map[string]string{"x86": "/old", "arm64": "/arm"}}}}
	older.SetBundle("amd64", "/a")
	older.SetBundle("arm64", "/b")
	newer.SetBundle("amd64", "/a")
	if older.PackageSrc != (PackageSrcSpec{X86Src: "/a", ArmSrc: "/b"}) || newer.PackageSrc != (PackageSrcSpec{}) {
		t.Errorf("%+v %+v", older.PackageSrc, newer.PackageSrc)
	}
	if d := cmp.Diff(map[string]string{"amd64": "/a", "arm64": "/arm"}, newer.Install.PackageSource.SrcPath); d != "" {
		t.Error(d)
	}
}
