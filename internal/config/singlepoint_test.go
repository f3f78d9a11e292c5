package config

import (
	"strings"
	"testing"
)

// Several control planes whose endpoint is the first of them are reported by validate, where the endpoint is or would
// be, and nothing else is.
func TestWithWarnings_SinglePoint(t *testing.T) {
	const planes = "cluster-id: c\npackage-src: {x86src: /srv/eggo-amd64.tar.gz}\nusername: u\n" +
		"private-key-path: /k\nmasters:\n" +
		"- {name: m0, ip: 192.0.2.1, arch: amd64}\n- {name: m1, ip: 192.0.2.2, arch: amd64}\n" +
		"- {name: m2, ip: 192.0.2.3, arch: amd64}\n" +
		"workers:\n- {name: w0, ip: 192.0.2.4, arch: amd64}\n"
	one := strings.Replace(strings.Replace(planes, "- {name: m1, ip: 192.0.2.2, arch: amd64}\n", "", 1),
		"- {name: m2, ip: 192.0.2.3, arch: amd64}\n", "", 1)
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"by default":       {planes, true},
		"by address":       {planes + "apiserver-endpoint: 192.0.2.2:6443\n", true},
		"by name":          {planes + "apiserver-endpoint: m2:6443\n", true},
		"of one":           {one, false},
		"a load balancer":  {planes + "loadbalance: {name: w0, ip: 192.0.2.4, port: 22}\n", false},
		"one of their own": {planes + "apiserver-endpoint: 192.0.2.9:6443\n", false},
		"past the balancer": {planes + "loadbalance: {name: w0, ip: 192.0.2.4}\n" +
			"apiserver-endpoint: 192.0.2.1:6443\n", false},
	} {
		c0, problems := Load([]byte(c.text), "deploy.yaml")
		if c0 == nil {
			t.Fatalf("%s: %+v", name, problems)
		}
		got := false
		for _, p := range WithWarnings(c0, problems) {
			got = got || p.Code == "config.endpoint-single" && p.Args["name"] != "" && p.Args["count"] == "3"
		}
		if got != c.want {
			t.Errorf("%s: reported %v\n%+v", name, got, problems)
		}
	}
}
