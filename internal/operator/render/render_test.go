package render_test

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	eggov1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operator/render"
)

var update = flag.Bool("update", false, "write the golden files")

// keyOf is a host key of a test.
const keyOf = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAaYiG2ut1m9WLBOF8rZb0wHJ2JbLDKJHk7OoCfJGJjJ"

func machine(name, ip, arch string, roles ...eggov1.Role) render.Machine {
	return render.Machine{Roles: roles, Object: &eggov1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: eggov1.MachineSpec{HostName: name + "-host", IP: ip, Arch: arch}}}
}

// input reads a Cluster and its Infrastructure, in the form of upstream's samples, and binds four machines.
func input(t *testing.T) render.Input {
	t.Helper()
	in := render.Input{Cluster: &eggov1.Cluster{}, Infrastructure: &eggov1.Infrastructure{},
		Login: render.Login{Secret: "machine-login", User: "ops"}}
	for file, into := range map[string]any{"cluster.yaml": in.Cluster, "infrastructure.yaml": in.Infrastructure} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err == nil {
			err = yaml.UnmarshalStrict(data, into)
		}
		if err != nil {
			t.Fatal(file, err)
		}
	}
	in.Machines = []render.Machine{
		machine("m1", "192.0.2.11", "x86_64", eggov1.RoleMaster, eggov1.RoleWorker),
		machine("w1", "192.0.2.12", "amd64", eggov1.RoleWorker), machine("w2", "192.0.2.13", "", eggov1.RoleWorker),
		machine("lb", "192.0.2.14", "amd64", eggov1.RoleLoadBalance),
	}
	in.Machines[2].Object.Status.Facts = &eggov1.MachineFacts{Arch: "arm64"}
	in.Bundles = []render.Bundle{{"amd64", "/bundles/a.tar.gz"}, {"arm64", "/bundles/b.tar.gz"},
		{"amd64", "/bundles/c.tar.gz"}}
	return in
}

// The objects of upstream's samples give a deploy.yaml that is valid, and the same one each time.
func TestCluster_OfUpstreamsSamples(t *testing.T) {
	got, problems := render.Cluster(input(t))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	golden := filepath.Join("testdata", "deploy.yaml")
	if *update {
		if err := os.WriteFile(golden, got.Text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Text, want) {
		t.Errorf("deploy.yaml is\n%s\nwant\n%s", got.Text, want)
	}
	if again, _ := render.Cluster(input(t)); !bytes.Equal(again.Text, got.Text) {
		t.Error("the same objects give another deploy.yaml")
	}
	c := got.Cluster
	if len(c.With(bundle.ControlPlane)) != 1 || len(c.With(bundle.Worker)) != 3 || c.Name != "cluster-sample" {
		t.Errorf("%+v", c.Nodes)
	}
}

// What Secrets, machines and bastions say of a login is in the deploy.yaml as paths below the mounts of a run's pod.
func TestCluster_Logins(t *testing.T) {
	in := input(t)
	in.Machines[1].Login = render.Login{Secret: "own", Key: true, Sudo: true}
	in.Machines[2].Object.Spec.Bastions = []eggov1.Bastion{{Host: "gate", HostKeys: []string{keyOf + " gate"}}}
	in.Machines[2].Bastions = []render.Login{{Secret: "gate", User: "jump", Key: true}}
	in.Machines[0].Object.Spec.HostKeys = []string{keyOf + " m1", keyOf}
	in.Machines[3].Object.Status.TrustedHostKeys = []string{keyOf}
	got, problems := render.Cluster(in)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	c := got.Cluster
	if l := c.LoginOf("m1-host"); l.User != "ops" || l.PrivateKeyPath != "" {
		t.Errorf("%+v", l)
	}
	if l := c.LoginOf("w1-host"); l.User != "root" || l.PrivateKeyPath != "/etc/eggo/logins/own/ssh-privatekey" ||
		l.SudoPasswordFrom != "file:/etc/eggo/logins/own/sudo-password" {
		t.Errorf("%+v", l)
	}
	if l := c.LoginOf("w2-host"); len(l.Bastions) != 1 || l.Bastions[0].User != "jump" ||
		l.Bastions[0].PrivateKeyPath != "/etc/eggo/logins/gate/ssh-privatekey" {
		t.Errorf("%+v", l)
	}
	if want := []string{"192.0.2.11:22", "gate:22"}; !slices.Equal(slices.Sorted(maps.Keys(got.Accepted)), want) ||
		!slices.Equal(got.Accepted["192.0.2.11:22"], []string{keyOf}) {
		t.Error("a key that was trusted on first use counts only with that policy:", got.Accepted)
	}
	in.Machines[3].Object.Spec.HostKeyPolicy = eggov1.HostKeysOnFirst
	if got, _ = render.Cluster(in); len(got.Accepted["192.0.2.14:22"]) != 1 {
		t.Error(got.Accepted)
	}
}

// spec.config sets the keys of deploy.yaml that no field sets and that name no file and no secret.
func TestCluster_Config(t *testing.T) {
	for name, c := range map[string]struct{ config, want string }{
		"a value":         {`{"service":{"dns":{"replicas":3}}}`, ""},
		"flags":           {`{"config-extra-args":[{"name":"kubelet","extra-args":{"--max-pods":"200"}}]}`, ""},
		"nothing":         {`null`, ""},
		"a field":         {`{"service":{"cidr":"10.40.0.0/16"}}`, "operator.config-key spec.config.service.cidr"},
		"a login":         {`{"eggo":{"machines":{"m1":{"user":"x"}}}}`, "operator.config-key spec.config.eggo.machines"},
		"a file":          {`{"private-key-path":"/etc/shadow"}`, "operator.config-key spec.config.private-key-path"},
		"a password":      {`{"password":"x"}`, "operator.config-key spec.config.password"},
		"a CA":            {`{"external-ca-path":"/etc"}`, "operator.config-key spec.config.external-ca-path"},
		"an unknown key":  {`{"no-such":1}`, "operator.config-key spec.config.no-such"},
		"not a map":       {`{"service":7}`, "operator.config-key spec.config.service"},
		"no object":       {`[1]`, "config.syntax spec.config"},
		"a wrong value":   {`{"service":{"dns":{"replicas":-1}}}`, "config."},
		"a hostile key":   {`{"\u001b[31m":1}`, "operator.config-key spec.config."},
		"a wrong mapping": {`{"config-extra-args":"x"}`, "config."},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t)
			in.Cluster.Spec.Config = &runtime.RawExtension{Raw: []byte(c.config)}
			got, problems := render.Cluster(in)
			text := ""
			if problems.HasErrors() {
				text = problems[0].Code + " " + problems[0].Key
			}
			if c.want == "" && text != "" || !strings.HasPrefix(text, c.want) || strings.ContainsRune(text, '\x1b') {
				t.Fatalf("%q, want %q", text, c.want)
			}
			if (got.Cluster == nil) != (c.want != "") {
				t.Error(got.Cluster)
			}
		})
	}
	in := input(t)
	in.Cluster.Spec.Config = &runtime.RawExtension{Raw: []byte(`{"service":{"dns":{"replicas":3}}}`)}
	got, _ := render.Cluster(in)
	spec, problems := config.Decode(got.Text, "deploy.yaml")
	if problems.HasErrors() || spec.Service.DNS.Replicas != 3 || spec.Service.CIDR != "10.32.0.0/16" {
		t.Errorf("%+v %v", spec.Service, problems)
	}
}

// What is missing in an object is a problem that names it, and no deploy.yaml is made.
func TestCluster_Missing(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*render.Input)
		want   string
	}{
		"no login": {func(in *render.Input) { in.Login = render.Login{} }, "operator.no-login"},
		"no architecture": {func(in *render.Input) { in.Machines[2].Object.Status.Facts = nil },
			"operator.no-arch"},
		"an argument of a plugin": {func(in *render.Input) {
			in.Cluster.Spec.Network.PodPluginArgs = map[string]string{"x": "y"}
		}, "operator.plugin-arg"},
		"no machine": {func(in *render.Input) { in.Machines = nil }, "config."},
		"one name twice": {func(in *render.Input) {
			in.Machines[1].Object.Spec.HostName = in.Machines[0].Object.Spec.HostName
		}, "config."},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t)
			c.change(&in)
			got, problems := render.Cluster(in)
			if !problems.HasErrors() || got.Cluster != nil || !strings.HasPrefix(problems[0].Code, c.want) {
				t.Error(problems, got.Cluster)
			}
		})
	}
}
