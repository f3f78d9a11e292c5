package config

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func manual(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("testdata/manual.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func dump(ps Problems) string {
	var b strings.Builder
	for _, p := range ps {
		fmt.Fprintf(&b, "%s:%d:%d: %s %s %s %v\n", p.File, p.Line, p.Col, p.Severity, p.Code, p.Key, p.Args)
	}
	return b.String()
}

// The manual's own example has one error, a name that is two machines, and is otherwise only old-fashioned.
func TestManualExampleLoadsWithOneError(t *testing.T) {
	c, problems := Load([]byte(manual(t)), "manual.yaml")
	if n, _ := problems.Count(); c != nil || n != 1 {
		t.Fatalf("want exactly one error, got:\n%s", dump(problems))
	}
	want := map[string]int{ // code → line
		"config.slash-comment": 1, "config.weak-password": 3, "config.name-conflict": 10, "config.arch-mixed": 19,
		"config.endpoint-elsewhere": 43, "config.frozen-registry": 52, "config.docker": 55,
		"config.coredns-package": 84,
	}
	for _, p := range problems {
		if want[p.Code] != p.Line {
			t.Errorf("unexpected: %s", dump(Problems{p}))
		}
		if p.Code != "config.name-conflict" && p.Severity != event.Warning {
			t.Errorf("%s should be a warning", p.Code)
		}
		delete(want, p.Code)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

func TestManualExampleFixedIsValid(t *testing.T) {
	fixed := strings.Replace(manual(t), "ip: 192.168.0.2 ", "ip: 192.168.0.1 ", 1)
	c, problems := Load([]byte(fixed), "manual.yaml")
	if problems.HasErrors() {
		t.Fatalf("want no error, got:\n%s", dump(problems))
	}
	first := c.Nodes[0]
	if first.Name != "test0" || !first.Has(bundle.ControlPlane) || !first.Has(bundle.Worker) ||
		first.Has(bundle.Etcd) || len(c.Nodes) != 4 {
		t.Errorf("nodes: %+v", c.Nodes)
	}
	if c.SSH.Password != "123456" || c.Endpoint != "192.168.122.222:6443" || c.LBPort != 8443 ||
		c.Source.Bundles["arm64"] != "/root/rpms/pacakges-arm.tar.gz" {
		t.Errorf("cluster: %+v", c)
	}
	if n := len(c.Packages[bundle.Worker]); n != 11 {
		t.Errorf("%d packages for workers, the manual has 11", n)
	}
}
