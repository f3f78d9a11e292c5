package phases

import (
	"strings"
	"testing"
)

// TestTheBalancerNeverGivesUpEveryServer: a server that failed is left alone for a while, but there is always a way to each: nginx refuses
// everybody while all servers of a group are left alone, as when one is restarted right after the other.
func TestTheBalancerNeverGivesUpEveryServer(t *testing.T) {
	servers := []string{"192.0.2.11:6443", "192.0.2.12:6443", "192.0.2.13:6443"}
	conf := string(nginx{}.conf(8443, servers))
	for _, s := range servers {
		for _, want := range []string{"server " + s + " max_fails=1 fail_timeout=5s;\n", "server " + s + " max_fails=0 backup;\n"} {
			if strings.Count(conf, want) != 1 {
				t.Errorf("%q does not stand there once:\n%s", want, conf)
			}
		}
	}
	if !strings.Contains(conf, "listen 8443 ") || strings.Contains(conf, "[::]") {
		t.Errorf("it listens elsewhere:\n%s", conf)
	}
}
