package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// addPackage installs a package on a node from the archives that this machine is set up for: the nodes themselves reach
// nothing.
func addPackage(t *testing.T, s *stand.Stand, node, name string) {
	t.Helper()
	ctx := t.Context()
	status, err := s.Lab.Run(ctx, node, "cat /var/lib/dpkg/status")
	must(t, "package state", err)
	dir := filepath.Join(s.Dir, "debs", name)
	must(t, "debs", os.RemoveAll(dir))
	must(t, "debs", os.MkdirAll(filepath.Join(dir, "partial"), 0o700))
	list := filepath.Join(dir, "status")
	must(t, "package state", os.WriteFile(list, []byte(status), 0o600))
	get := s.Command(ctx, "apt-get", "-qq", "-y", "--no-install-recommends", "-o", "Dir::State::status="+list, "-o",
		"Dir::Cache::archives="+dir, "-o", "Debug::NoLocking=1", "-o", "Dir::Cache::pkgcache=", "-o",
		"Dir::Cache::srcpkgcache=", "--download-only", "install", name)
	must(t, "downloading "+name, get.Run())
	must(t, "status", os.Remove(list))
	if debs, err := filepath.Glob(filepath.Join(dir, "*.deb")); err != nil || len(debs) == 0 {
		t.Fatalf("no package for %s was downloaded: %v", name, err)
	}
	tar := s.Command(ctx, "tar", "-C", dir, "--exclude=partial", "-c", ".")
	ssh := s.Lab.SSH(ctx, node,
		"mkdir -p /root/debs && tar -C /root/debs -x && DEBIAN_FRONTEND=noninteractive apt-get -qq -y "+
			"--no-install-recommends install /root/debs/*.deb >/var/log/debs.log 2>&1 && rm -rf /root/debs")
	must(t, "installing "+name, pipe(tar, ssh))
}

// pipe gives what one program prints to another.
func pipe(from, to *exec.Cmd) error {
	from.Stdout = nil
	out, err := from.StdoutPipe()
	if err != nil {
		return err
	}
	to.Stdin = out
	if err := from.Start(); err != nil {
		return err
	}
	if err := to.Run(); err != nil {
		return err
	}
	return from.Wait()
}

const ownFilter = `#!/usr/sbin/nft -f
flush ruleset
table inet own {
	chain in {
		type filter hook input priority filter; policy drop;
		ct state established,related accept
		iif lo accept
		tcp dport 22 accept
		counter drop
	}
	chain through {
		type filter hook forward priority filter; policy drop;
		ct state established,related accept
	}
}
`

// TestFirewalls is a cluster whose machines have each another firewall: what it needs is opened, it works from node to
// node, also when every machine was rebooted, and after the cleanup each firewall has the rules that it had.
func TestFirewalls(t *testing.T) {
	full(t)
	s := newLab(t, 3)
	ctx := t.Context()
	addPackage(t, s, "n1", "firewalld")
	addPackage(t, s, "n2", "ufw")
	addPackage(t, s, "n3", "nftables")
	run := func(node, line string) string {
		t.Helper()
		out, err := s.Lab.Run(ctx, node, line)
		must(t, node+": "+line, err)
		return out
	}
	run("n2", "ufw allow 22/tcp && ufw --force enable")
	run("n3", "printf '%s' '"+ownFilter+"' >/etc/nftables.conf && systemctl enable --now nftables")
	rules := func() []string {
		var out []string
		for node, line := range map[string]string{
			"n1": "for p in '' --permanent; do for z in public trusted; do firewall-cmd $p --zone=$z --list-all; " +
				"done; done; find /etc/firewalld -type f | sort | xargs md5sum",
			"n2": "ufw show added; md5sum /etc/ufw/*.rules",
			"n3": "nft list table inet own | sed 's/packets [0-9]* bytes [0-9]*//'",
		} {
			out = append(out, node+"\n"+run(node, line))
		}
		for i := range out {
			for j := range i {
				if out[i] < out[j] {
					out[i], out[j] = out[j], out[i]
				}
			}
		}
		return out
	}
	file, err := s.Deploy("firewalls.yaml", "firewalls", stand.OneAndTwo())
	must(t, "deploy.yaml", err)
	file, err = s.Vary(file, "firewalls-open.yaml", "addons:\n",
		"open-ports:\n  node:\n  - {port: 111, protocol: tcp}\naddons:\n")
	must(t, "deploy.yaml", err)
	wasRules, before := rules(), untouched(t, s, 3)

	got := try(t, s, 0, "deploy", "-f", file)
	if err := got.Has("firewalld", "ufw", "6443/tcp", "8472/udp"); err != nil {
		t.Errorf("%v\n%s", err, tail(got.Out, 40))
	}
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 3))
	if out := run("n2", "ufw status"); !strings.Contains(out, "111/tcp") {
		t.Error(out)
	}
	try(t, s, 0, "deploy", "-f", file)
	noChange(t, s.State(), "firewalls")

	s.Say("every machine is rebooted; the packet filter of n3 is loaded again")
	for k := 1; k <= 3; k++ {
		must(t, "reboot", s.Lab.Reboot(context.WithoutCancel(ctx), fmt.Sprintf("n%d", k)))
	}
	run("n3", "nft list ruleset | grep -q 'eggo port 10250/tcp'")
	// systemctl waits for the unit that it was told, and not for ours that is part of it.
	run("n3", "systemctl restart nftables")
	must(t, "the packet filter of n3", stand.Until(ctx, 30*time.Second, "its rules are back",
		func(ctx context.Context) error {
			_, err := s.Lab.Run(ctx, "n3", "nft list ruleset | grep -q 'eggo port 10250/tcp'")
			return err
		}))
	must(t, "use", s.Works(ctx, 3))

	got = try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge")
	for i, now := range rules() {
		if now != wasRules[i] {
			t.Errorf("rules before:\n%s\nafter:\n%s", wasRules[i], now)
		}
	}
	// firewalld has taken our iptables into use and would end half way, with nobody let in, when it loads its rules
	// again without them. So they stay until somebody takes them away and restarts it; chains that it made for a zone
	// that is in no use go with its restart too.
	if err := got.Has("iptables (firewalld uses it)"); err != nil {
		t.Errorf("%v\n%s", err, tail(got.Out, 40))
	}
	run("n1", "firewall-cmd --reload")
	run("n1", "apt-get -qq -y purge "+keptPackages(got.Out)+" >/dev/null 2>&1 && systemctl restart firewalld")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 3) })
}

// keptPackages are those that a cleanup has said to have kept for firewalld.
func keptPackages(out string) string {
	var names []string
	for _, m := range regexp.MustCompile(`package ([a-z0-9.+-]+) \(firewalld uses it\)`).FindAllStringSubmatch(out,
		-1) {
		names = append(names, m[1])
	}
	return strings.Join(names, " ")
}
