package config_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func drafted(machines int, first string, values ...string) config.Draft {
	d := config.Draft{}.WithValues(map[string]string{"package-src.x86src": "/x.tar.gz"})
	for i := range machines {
		m := config.Machine{Name: fmt.Sprintf("n%d", i), IP: fmt.Sprintf("%s%d", first, i+1),
			Roles: []bundle.Role{bundle.Worker}}
		if i == 0 {
			m.Roles = []bundle.Role{bundle.ControlPlane, bundle.Etcd}
		}
		d.Machines = append(d.Machines, m)
	}
	for i := 0; i < len(values); i += 2 {
		d.Set(values[i], values[i+1])
	}
	return d
}

// networkProblem is the first error that proposes a network, and the key where it is to be written.
func networkProblem(problems config.Problems) (p config.Problem, key string) {
	for _, p := range problems {
		switch p.Code {
		case "config.cidr-node":
			return p, p.Args["name"]
		case "config.cidr", "config.cidr-host-bits", "config.service-size", "config.cidr-overlap",
			"config.pod-capacity":
			return p, p.Key
		}
	}
	return config.Problem{}, ""
}

// What a problem of a network proposes can be written: done as it says, there is no such problem any more, whatever
// else stands in the file.
func TestAProposedNetworkIsRight(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: make test-long")
	}
	rnd := rand.New(rand.NewPCG(22, 1))
	nets := []string{"10.1.2.3/8", "10.0.0.0/99", "10.244.0.0/16", "10.32.0.0/16", "10.32.1.1/11", "0.0.0.1/0",
		"10.244.1.0/24", "192.168.0.0/16", "172.16.9.9/12", "10.0.0.0/8", "fd00::1/8", "10.96.0.0/29", "x",
		"100.64.1.1/10", "127.0.0.1/16", ""}
	for range 400 {
		d := drafted(1+rnd.IntN(80), []string{"10.244.0.", "10.32.7.", "192.168.0.", "10.0.0.", "172.20.3.",
			"10.96.0."}[rnd.IntN(6)],
			"network.podcidr", nets[rnd.IntN(len(nets))], "service.cidr", nets[rnd.IntN(len(nets))])
		was := d.Clone()
		_, problems := d.Check("x")
		for range 4 { // each of the two may be wrong by itself, and beside the other
			p, key := networkProblem(problems)
			if key == "" {
				break
			}
			if !strings.Contains(p.Args["instead"], "/") {
				t.Fatalf("%s proposes nothing: %v", p.Code, p.Args)
			}
			d.Set(key, p.Args["instead"])
			_, problems = d.Check("x")
		}
		if p, key := networkProblem(problems); key != "" {
			t.Fatalf("%v: after all that was proposed, %s is wrong still: %s %v", was, key, p.Code, p.Args)
		}
	}
}

// An IPv6 address that was typed first makes no IPv4 address wrong.
func TestIPv6TypedFirst(t *testing.T) {
	d := drafted(4, "192.168.0.")
	d.Machines[0].IP = "fd00::1"
	_, problems := d.Check("x")
	for _, p := range problems {
		if p.Severity == event.Error && p.Key != "machines[0]" && p.Key != "machines[0].ip" {
			t.Errorf("%s: %s %v", p.Key, p.Code, p.Args)
		}
	}
	if !problems.HasErrors() {
		t.Error("it is not told")
	}
}

// A name that is wrong is answered with an example of its own kind.
func TestANameIsAnsweredWithOneOfItsKind(t *testing.T) {
	for key, want := range map[string]string{"cluster-id": "k8s-cluster", "dns-domain": "cluster.local",
		"apiserver-cert-sans.dnsnames": "api.example.org"} {
		if p, is := config.CheckValue(key, "Bad Name!"); !is || p.Code != "config.name" || p.Args["example"] != want {
			t.Errorf("%s: %+v", key, p)
		}
	}
	if p, is := config.CheckMachine("name", "Bad_Name"); !is || p.Args["example"] != "k8s-master-0" {
		t.Errorf("%+v", p)
	}
}
