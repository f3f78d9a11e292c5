package e2e

import (
	"strings"
	"syscall"
	"testing"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// packagesOn says which versions of packages a node has, and when what runs from them was started.
const packagesOn = `dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n' ` +
	`containerd runc nginx 2>/dev/null | sed -n 's/^installed //p'; for u in containerd eggo-lb; do systemctl is-active -q $u && echo runs $u; done; true`

// TestUpgradePackages: a patch upgrade with newer packages of the container runtime and of the load balancer. The plan
// names them; without --packages they stay. Killed while a worker has its turn, it is reverted, with the old packages
// from the nodes themselves, and made once more to its end. One that somebody else installed stays.
func TestUpgradePackages(t *testing.T) {
	full(t)
	u := installed(t, "packages", []stand.Node{{Name: "n1", Roles: "me"}, {Name: "n2", Roles: "nl"},
		{Name: "n3", Roles: "n"}, {Name: "n4", Roles: "n"}}, nil)
	newer, old, err := u.NewerDebs(t.Context(), u.patched(), "containerd", "runc", "nginx")
	must(t, "newer packages", err)
	const record = "/var/lib/eggo-node/record"
	_, err = u.Lab.Run(t.Context(), "n4", `cp -p `+record+` /run/record; sed -i '/^package\trunc\t/d' `+record)
	must(t, "runc of n4 is somebody else's", err)
	was := u.packages()

	u.Say("== the plan names them, and changes nothing")
	plan := try(t, u.Stand, 0, "plan", "upgrade", "--id", u.cluster, "--bundle", newer)
	u.says(plan, "containerd "+old["containerd"]+" → "+old["containerd"]+"+eggo1", "--packages")
	plan = try(t, u.Stand, 0, "plan", "upgrade", "--id", u.cluster, "--bundle", newer, "--packages")
	u.says(plan, "nginx "+old["nginx"]+" → "+old["nginx"]+"+eggo1")
	u.have(was)

	u.Say("== killed while a worker has its turn, and reverted")
	u.until("nodes.turn/n3", u.args([]string{newer}, "--packages"), func(r *stand.Running) {
		must(t, "kill", r.Signal(syscall.SIGKILL))
		_, err := r.Wait()
		must(t, "upgrade", err)
	})
	for _, n := range []string{"n1", "n2"} {
		if is := u.packages()[n]; !strings.Contains(is, "containerd "+old["containerd"]+"+eggo1") {
			t.Errorf("%s has\n%s", n, is)
		}
	}
	try(t, u.Stand, 0, "upgrade", "--back", "--id", u.cluster, "--yes")
	u.allRun(minorOwn)
	u.have(was)
	u.notKept()
	u.spread()
	u.healthy()
	try(t, u.Stand, 0, "deploy", "--id", u.cluster)
	noChange(t, u.State(), u.cluster)
	u.refused(2, []string{"upgrade", "--back", "--id", u.cluster, "--yes"}, "upgrade.none")

	u.Say("== once more, while clients call, to the end")
	c := u.clients()
	u.to(0, newer, "--packages")
	_, _ = c.end(t)
	u.allRun(aPatch)
	for _, n := range u.nodes {
		is := u.packages()[n.Name]
		for name, version := range old {
			want := !strings.Contains(was[n.Name], name+" ") || strings.Contains(is, name+" "+version+"+eggo1\n")
			if theirs := n.Name == "n4" && name == "runc"; want == theirs {
				t.Errorf("%s has\n%s", n.Name, is)
			}
		}
	}
	u.notKept()
	u.spread()
	u.healthy()
	before := u.changes()
	u.to(0, newer, "--packages")
	if n := u.changes(); n != before {
		t.Errorf("a second one made %d changes", n-before)
	}
	_, err = u.Lab.Run(t.Context(), "n4",
		`awk -F'\t' '$1=="package" && $2=="runc"' /run/record >>`+record+`; rm /run/record`)
	must(t, "runc of n4 is ours again", err)
	u.gone()
}

// packages are those of each node.
func (u *upgraded) packages() map[string]string {
	u.t.Helper()
	out := map[string]string{}
	for _, n := range u.nodes {
		is, err := u.Lab.Run(u.t.Context(), n.Name, packagesOn)
		must(u.t, "packages", err)
		out[n.Name] = is + "\n"
	}
	return out
}

// have wants the nodes to have packages.
func (u *upgraded) have(want map[string]string) {
	u.t.Helper()
	for name, is := range u.packages() {
		if is != want[name] {
			u.t.Errorf("%s had\n%s\nand has\n%s", name, want[name], is)
		}
	}
}

// notKept wants no node to keep old packages.
func (u *upgraded) notKept() {
	u.t.Helper()
	for _, n := range u.nodes {
		out, err := u.Lab.Run(u.t.Context(), n.Name, "ls -d /var/lib/eggo-node/kept 2>/dev/null || true")
		if err != nil || strings.TrimSpace(out) != "" {
			u.t.Errorf("%s keeps %q, %v", n.Name, out, err)
		}
	}
}
