package phases

import (
	"strings"
	"testing"
)

// TestTheBalancerNeverGivesUpEveryServer: a server that failed is left alone for a while, but there is always a way to
// each: nginx refuses everybody while all servers of a group are left alone, as when one is restarted right after the
// other.
func TestTheBalancerNeverGivesUpEveryServer(t *testing.T) {
	servers := []string{"192.0.2.11:6443", "192.0.2.12:6443", "192.0.2.13:6443"}
	var list []server
	for _, s := range servers {
		list = append(list, server{addr: s})
	}
	conf := string(nginx{}.conf(8443, list))
	for _, s := range servers {
		for _, want := range []string{"server " + s + " max_fails=1 fail_timeout=5s;\n",
			"server " + s + " max_fails=0 backup;\n"} {
			if strings.Count(conf, want) != 1 {
				t.Errorf("%q does not stand there once:\n%s", want, conf)
			}
		}
	}
	if !strings.Contains(conf, "listen 8443 ") || strings.Contains(conf, "[::]") {
		t.Errorf("it listens elsewhere:\n%s", conf)
	}
}

// TestAServerThatIsDownGetsNobody: neither as one of the servers nor as a backup.
func TestAServerThatIsDownGetsNobody(t *testing.T) {
	conf := string(nginx{}.conf(8443, []server{{"192.0.2.11:6443", false}, {"192.0.2.12:6443", true}}))
	for line := range strings.Lines(conf) {
		if is := strings.Contains(line, "192.0.2.12:6443"); is != strings.Contains(line, " down;") {
			t.Errorf("%s in\n%s", line, conf)
		}
	}
	if strings.Count(conf, " down;") != 2 {
		t.Error(conf)
	}
}
