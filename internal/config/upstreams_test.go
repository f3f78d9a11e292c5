package config

import (
	"slices"
	"testing"
)

func TestServersThatCoreDNSForwardsTo(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want string // problems
		are  []string
	}{
		"none":          {"eggo: {dns-upstreams: []}\n", "", nil},
		"two, in order": {"eggo: {dns-upstreams: [192.0.2.53, 10.9.9.9]}\n", "", []string{"192.0.2.53", "10.9.9.9"}},
		"twice": {"eggo: {dns-upstreams: [192.0.2.53, 192.0.2.53]}\n", "10:config.twice-in-list",
			[]string{"192.0.2.53"}},
		"a name":     {"eggo: {dns-upstreams: [dns.example.com]}\n", "10:config.ip", nil},
		"a port":     {"eggo: {dns-upstreams: ['192.0.2.53:5353']}\n", "10:config.ip", nil},
		"a Corefile": {"eggo: {dns-upstreams: [\"192.0.2.53 }\"]}\n", "10:config.ip", nil},
		"IPv6":       {"eggo: {dns-upstreams: ['2001:db8::53']}\n", "10:config.family", nil},
		"loopback":   {"eggo: {dns-upstreams: [127.0.0.53]}\n", "10:config.dns-upstream-loop", nil},
		"itself":     {"eggo: {dns-upstreams: [10.32.0.10]}\n", "10:config.dns-upstream-loop", nil},
		"a pod":      {"eggo: {dns-upstreams: [10.244.3.4]}\n", "10:config.dns-upstream-loop", nil},
		"all at once": {"eggo: {dns-upstreams: [x, 127.0.0.1, 10.32.0.10]}\n",
			"10:config.dns-upstream-loop 10:config.dns-upstream-loop 10:config.ip", nil},
		"its own node": {"eggo: {dns-upstreams: [192.168.0.1]}\nservice: {dns: {corednstype: binary}}\n",
			"10:config.dns-upstream-loop", nil},
		"a node of pods": {"eggo: {dns-upstreams: [192.168.0.1]}\n", "", []string{"192.168.0.1"}},
		"too many": {"eggo: {dns-upstreams: [192.0.2.1, 192.0.2.2, 192.0.2.3, 192.0.2.4, 192.0.2.5, 192.0.2.6, " +
			"192.0.2.7, 192.0.2.8, 192.0.2.9, 192.0.2.10, 192.0.2.11, 192.0.2.12, 192.0.2.13, 192.0.2.14, " +
			"192.0.2.15, 192.0.2.16]}\n", "10:config.dns-upstreams-many", nil},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, ps := Load([]byte(minimal+c.text), "f")
			if codes(ps) != c.want {
				t.Errorf("%q, want %q", codes(ps), c.want)
			}
			if cluster != nil && !slices.Equal(cluster.Upstreams(), c.are) {
				t.Errorf("%v, want %v", cluster.Upstreams(), c.are)
			}
			rendered(t, ps)
		})
	}
}
