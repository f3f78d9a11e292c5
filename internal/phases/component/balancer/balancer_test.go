package balancer

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle/nodepath"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/run/event"
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
	conf := string(nginx{}.conf([]int{8443}, list))
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
	conf := string(nginx{}.conf([]int{8443}, []server{{"192.0.2.11:6443", false}, {"192.0.2.12:6443", true}}))
	for line := range strings.Lines(conf) {
		if is := strings.Contains(line, "192.0.2.12:6443"); is != strings.Contains(line, " down;") {
			t.Errorf("%s in\n%s", line, conf)
		}
	}
	if strings.Count(conf, " down;") != 2 {
		t.Error(conf)
	}
}

func TestABalancerThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct{ says, code string }{
		"no nginx":           {"", "balancer.no-nginx"},
		"without its module": {"program /usr/sbin/nginx\nconfigure arguments: --with-debug\n", "balancer.no-stream"},
		"built in":           {"program /usr/sbin/nginx\nconfigure arguments: --with-stream\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, nd := asideRun(), node.New(&teller{name: "lb", says: map[string]string{"nginx": c.says}}, nil)
			_, err := r.service(t.Context(), nd)
			f := event.AsFault(err)
			if (err != nil) != (c.code != "") || err != nil && (f.Code != c.code || f.Node != "lb") {
				t.Errorf("%+v", f)
			}
		})
	}
}

// TestABalancerThatDoesNotAnswer says what it logged, and is waited for.
func TestABalancerThatDoesNotAnswer(t *testing.T) {
	r := asideRun()
	r.StateDir = t.TempDir()
	r.Cluster.DNSDomain, r.Cluster.Endpoint = "cluster.local", "192.0.2.41:8443"
	r.Cluster.ServiceGateway = netip.MustParseAddr("10.32.0.1")
	if err := r.EnsurePKI(t.Context()); err != nil {
		t.Fatal(err)
	}
	nd := node.New(&teller{name: "lb", says: map[string]string{"journalctl": "no live upstreams\n"}}, nil)
	err := r.Answers(t.Context(), config.Node{Name: "lb", IP: netip.MustParseAddr("192.0.2.41")}, nd)
	f := event.AsFault(err)
	if f == nil || f.Code != "balancer.silent" || f.Node != "lb" || !strings.Contains(f.Cause, "connection refused") ||
		!f.Retry || f.Args["port"] != "8443" || f.Args["log"] != "no live upstreams" {
		t.Errorf("%+v", f)
	}
}

// TestWhoIsOut: a server stands in a configuration twice, and somebody else's is none of ours.
func TestWhoIsOut(t *testing.T) {
	r := asideRun()
	conf := nginx{}.conf([]int{8443}, []server{{"192.0.2.11:6443", false}, {"192.0.2.12:6443", true},
		{"192.0.2.99:6443", true}})
	if out := r.Out(string(conf)); !slices.Equal(out, []string{"m2"}) {
		t.Errorf("%q", out)
	}
	if out := r.Out(""); out != nil {
		t.Errorf("%q", out)
	}
}

// TestTheProgramOfTheUnit is the one that was found, whatever its name means to systemd.
func TestTheProgramOfTheUnit(t *testing.T) {
	for program, word := range map[string]string{"/usr/sbin/nginx": "/usr/sbin/nginx", "/a b/nginx": `"/a b/nginx"`,
		"/a%n": "/a%%n", "/a\nExecStartPre=/bin/evil": `"/a\x0aExecStartPre=/bin/evil"`, `/a"$x\y`: `"/a\"$x\\y"`} {
		text := string(nginx{program: program}.unit())
		for _, line := range []string{"ExecStartPre=" + word + " -t -q -c " + Conf, "ExecStart=" + word + " -c " + Conf,
			"ExecReload=" + word + " -t -q -c " + Conf} {
			if strings.Count(text, "\n"+line+"\n") != 1 {
				t.Errorf("no %s in\n%s", line, text)
			}
		}
		if got, want := strings.Count(text, "\n"), strings.Count(string(nginx{}.unit()), "\n"); got != want {
			t.Errorf("%q: %d lines, not %d", program, got, want)
		}
	}
}

// TestFilesOfOurs cannot be named by a bundle or deploy.yaml.
func TestFilesOfOurs(t *testing.T) {
	for _, file := range []string{nginxMask, layout.UnitDir + Unit, Conf} {
		if nodepath.Check(nodepath.Listed, file) == nil {
			t.Errorf("%s may come from outside", file)
		}
	}
}
