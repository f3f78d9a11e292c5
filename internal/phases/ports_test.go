package phases_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// fakeFirewalld keeps the rules of each zone in a file, those that run and those for good; it writes a zone's own file
// as firewalld does.
const fakeFirewalld = `perm=run zone='' verb='' what=''
for a in "$@"; do
  case $a in
  --permanent) perm=perm ;;
  --zone=*) zone=${a#--zone=} ;;
  --state) exit 0 ;;
  --get-default-zone) echo public; exit 0 ;;
  --get-zone-of-interface=*) echo 'no zone' >&2; exit 2 ;;
  --get-active-zones) printf 'public\n  interfaces: eth0\n'; exit 0 ;;
  --list-all) verb=list ;;
  --reload | --runtime-to-permanent | --complete-reload) echo "$a" >>"$SIM/state/forbidden"; exit 0 ;;
  --query-* | --add-* | --remove-*) v=${a#--}; verb=${v%%-*}; what=${v#*-} ;;
  *) exit 2 ;;
  esac
done
f=$SIM/state/firewalld/$perm.$zone
touch "$f"
case $verb in
list) printf '%s\n  target: default\n  ports: %s\n' "$zone" "$(sed -n 's/^port=//p' "$f" | tr '\n' ' ')" ;;
query) grep -qxF "$what" "$f" ;;
add)
  echo "$what" >>"$f"
  if [ $perm = perm ]; then cat "$SIM/root/usr/lib/firewalld/zones/$zone.xml" "$f" >"$SIM/root/etc/firewalld/zones/$zone.xml"; fi ;;
remove)
  grep -vxF "$what" "$f" >"$f.new"; mv "$f.new" "$f"
  if [ $perm = perm ]; then cat "$SIM/root/usr/lib/firewalld/zones/$zone.xml" "$f" >"$SIM/root/etc/firewalld/zones/$zone.xml"; : >"$SIM/root/etc/firewalld/zones/$zone.xml.old"; fi ;;
esac
`

// fakeUFW keeps the rules as "ufw show added" prints them.
const fakeUFW = `f=$SIM/state/ufw
touch "$f"
case "$*" in
'status' | 'status verbose')
  printf 'Status: active\nDefault: deny (incoming), allow (outgoing), deny (routed)\n'
  sed -n "s/^ufw allow \([0-9]*\/[a-z]*\).*/\1 ALLOW IN Anywhere/p" "$f" ;;
'show added') echo 'Added user rules:'; cat "$f" ;;
'delete '*) shift; grep -v "^ufw $*\( comment.*\)*$" "$f" >"$f.new"; mv "$f.new" "$f" ;;
'route delete '*) shift 2; grep -v "^ufw route $*\( comment.*\)*$" "$f" >"$f.new"; mv "$f.new" "$f" ;;
*' comment eggo') echo "ufw ${*% comment eggo} comment 'eggo'" >>"$f" ;;
*) echo "$*" >>"$SIM/state/forbidden"; exit 1 ;;
esac
exit 0
`

func withFirewalld(t *testing.T, n *phasestest.Node) {
	t.Helper()
	put(t, n.State("active/firewalld.service"), "")
	put(t, n.State("firewalld/run.public"), "port=10250/tcp\nservice=ssh\n")
	put(t, n.State("firewalld/perm.public"), "")
	put(t, n.Path("/etc/firewalld/zones/.keep"), "")
	put(t, n.Path("/usr/lib/firewalld/zones/public.xml"), "<zone>\n</zone>\n")
	put(t, n.Path("/usr/lib/firewalld/zones/trusted.xml"), "<zone target=\"ACCEPT\">\n</zone>\n")
	for _, f := range []string{"run.trusted", "perm.trusted"} {
		put(t, n.State("firewalld/"+f), "")
	}
	program(t, n, "firewall-cmd", fakeFirewalld)
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := strings.Split(strings.TrimSpace(string(data)), "\n")
	slices.Sort(out)
	return out
}

// What is closed is opened, now and for good; what was open stays the owner's; after the cleanup all is as it was.
func TestPortsAreOpenedAndClosedAgain(t *testing.T) {
	long(t)
	t.Parallel()
	l := newLab(t, 1)
	m1, w1 := l.Nodes["m1"], l.Nodes["w1"]
	withFirewalld(t, m1)
	put(t, w1.State("ufw"), "ufw allow 22/tcp\nufw allow 10250/tcp comment 'kubelet'\n")
	program(t, w1, "ufw", fakeUFW)
	l.Cluster.OpenPorts = map[bundle.Role][]config.Port{bundle.Worker: {{Port: 111, Protocol: "tcp"}},
		bundle.ControlPlane: {{Port: 179, Protocol: "udp"}}}
	before := tree(t, l)

	b := deploy(t, l)
	if n := strings.Count(strings.Join(b.notices(), " "), "notice.ports"); n != 2 {
		t.Error("told:", b.notices())
	}
	wantRun := []string{"port=10250/tcp", "port=10256/tcp", "port=179/udp", "port=2379/tcp", "port=2380/tcp",
		"port=6443/tcp", "port=8472/udp", "service=ssh"}
	for f, want := range map[string][]string{"run.public": wantRun, "perm.public": wantRun[:len(wantRun)-1],
		"run.trusted": {"source=10.200.0.0/16"}, "perm.trusted": {"source=10.200.0.0/16"}} {
		if diff := cmp.Diff(want, lines(t, m1.State("firewalld/"+f))); diff != "" {
			t.Errorf("%s: %s", f, diff)
		}
	}
	wantUFW := []string{"ufw allow 10250/tcp comment 'kubelet'", "ufw allow 10256/tcp comment 'eggo'",
		"ufw allow 111/tcp comment 'eggo'", "ufw allow 22/tcp", "ufw allow 8472/udp comment 'eggo'",
		"ufw allow from 10.200.0.0/16 comment 'eggo'",
		"ufw route allow from 10.200.0.0/16 comment 'eggo'", "ufw route allow to 10.200.0.0/16 comment 'eggo'"}
	if diff := cmp.Diff(wantUFW, lines(t, w1.State("ufw"))); diff != "" {
		t.Error(diff)
	}
	if b := deploy(t, l); len(of[event.Change](b)) > 0 {
		t.Error("a second deploy changed", of[event.Change](b))
	}

	// A port that deploy.yaml asks for no more is closed, the others stay.
	l.Cluster.OpenPorts = nil
	deploy(t, l)
	if slices.Contains(lines(t, w1.State("ufw")), "ufw allow 111/tcp comment 'eggo'") ||
		slices.Contains(lines(t, m1.State("firewalld/perm.public")), "port=179/udp") ||
		len(lines(t, w1.State("ufw"))) != len(wantUFW)-1 {
		t.Error("still open:", lines(t, w1.State("ufw")))
	}
	// Somebody else's reload of the rules is fixed.
	put(t, m1.State("firewalld/run.trusted"), "")
	deploy(t, l)
	if diff := cmp.Diff([]string{"source=10.200.0.0/16"}, lines(t, m1.State("firewalld/run.trusted"))); diff != "" {
		t.Error(diff)
	}

	cleanup(t, l, purge)
	if diff := cmp.Diff(before, tree(t, l)); diff != "" {
		t.Error("after cleanup:", diff)
	}
	for _, n := range []*phasestest.Node{m1, w1} {
		if data, err := os.ReadFile(n.State("forbidden")); err == nil {
			t.Errorf("on %s: %s", n.Name(), data)
		}
	}
}

// A zone's file that its owner has changed meanwhile stays.
func TestAZoneThatItsOwnerChangedIsKept(t *testing.T) {
	long(t)
	t.Parallel()
	l := newLab(t, 0)
	m1 := l.Nodes["m1"]
	withFirewalld(t, m1)
	deploy(t, l)
	put(t, m1.State("firewalld/perm.public"), strings.Join(append(lines(t, m1.State("firewalld/perm.public")),
		"port=8080/tcp"), "\n")+"\n")
	cleanup(t, l, purge)
	if diff := cmp.Diff([]string{"port=8080/tcp"}, lines(t, m1.State("firewalld/perm.public"))); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(m1.Path("/etc/firewalld/zones/public.xml")); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(m1.Path("/etc/firewalld/zones/trusted*")); err != nil || len(left) > 0 {
		t.Error("left:", left, err)
	}
}
