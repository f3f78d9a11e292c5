package lab

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// TestRealNodes boots real machines. It needs root and takes half a minute (and the building of the root file
// system, the first time), so it runs when EGGO_E2E=1 asks for it.
func TestRealNodes(t *testing.T) {
	bootsNodes(t)
	machine, instances := machineState(t), inotifyInstances(t)
	l := freshLab(t, "labtest")
	h := &story{t, l}
	start := time.Now()
	h.must(l.Up(t.Context(), 3))
	t.Logf("three nodes up in %s", time.Since(start).Round(100*time.Millisecond))

	for _, part := range []struct {
		name string
		do   func(*story)
	}{
		{"up again changes nothing", upAgain}, {"systemd has started everything", systemdRuns},
		{"nodes are bare", bare},
		{"logins", logins}, {"no way to the Internet", airGap}, {"the machine's settings are its own", sysctls},
		{"ground for a container runtime", runtimeGround}, {"apt works with local files", aptLocal},
		{"snapshots see every change", snapshots}, {"reboot", reboot}, {"kill and start", killAndStart},
		{"power off from inside", powerOff}, {"freeze and thaw", freezeAndThaw}, {"cut and reconnect", cutAndReconnect},
		{"wipe", wipe},
		{"two labs side by side", sideBySide}, {"ten nodes beside three", tenNodes},
	} {
		t.Run(part.name, func(t *testing.T) { part.do(&story{t, l}) })
	}

	h.must(l.Down(t.Context(), true))
	nothingLeft(t, l)
	if now := machineState(t); now != machine {
		t.Errorf("the machine was\n%s\nand is\n%s", machine, now)
	}
	if _, err := os.Stat(l.inotify().record); err == nil {
		t.Log("another lab is up: fs.inotify.max_user_instances stays as it needs it")
	} else if now := inotifyInstances(t); now != instances {
		t.Errorf("fs.inotify.max_user_instances was %d and is %d", instances, now)
	}
}

// bootsNodes leaves a test that boots nodes to those who ask for it.
func bootsNodes(t *testing.T) {
	t.Helper()
	if os.Getenv("EGGO_E2E") != "1" {
		t.Skip("boots real nodes: EGGO_E2E=1 runs it")
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

func inotifyInstances(t *testing.T) (n int) {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_instances")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(text), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// story is a test that may not go on after an error.
type story struct {
	*testing.T
	l *Lab
}

func (s *story) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *story) run(node, line string) string {
	s.Helper()
	out, err := s.l.Run(s.Context(), node, line)
	s.must(err)
	return strings.TrimSpace(out)
}

// expect runs a command line on n1 and compares what it prints.
func (s *story) expect(line, want string) {
	s.Helper()
	if got := s.run("n1", line); got != want {
		s.Errorf("%s: %q, not %q", line, got, want)
	}
}

func (s *story) reachable(node string) bool {
	ctx, cancel := context.WithTimeout(s.Context(), s.l.kind(node).patient(3*time.Second))
	defer cancel()
	_, err := s.l.Run(ctx, node, "true")
	return err == nil
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func freshLab(t *testing.T, name string) *Lab {
	t.Helper()
	l, err := Open(Options{Name: name, Out: testWriter{t}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.out = io.Discard
		if err := l.Down(context.Background(), true); err != nil {
			t.Error(err)
		}
	})
	if err := l.Down(t.Context(), true); err != nil { // what an earlier test that was killed has left
		t.Fatal(err)
	}
	if l, err = Open(Options{Name: name, Out: testWriter{t}}); err != nil {
		t.Fatal(err)
	}
	return l
}

func upAgain(s *story) {
	before, err := s.l.PID1("n1")
	s.must(err)
	again, err := Open(Options{Name: s.l.name}) // as another process would
	s.must(err)
	s.must(again.Up(s.Context(), 3))
	if after, err := again.PID1("n1"); err != nil || after != before {
		s.Errorf("PID 1 of n1 was %d and is %d, %v", before, after, err)
	}
}

func systemdRuns(s *story) {
	for _, n := range []string{"n1", "n2", "n3"} {
		if got := s.run(n, "systemctl is-system-running; hostname; cat /proc/1/comm"); got != "running\n"+n+
			"\nsystemd" {
			s.Errorf("%s is %q; failed: %s", n, got, s.run(n, "systemctl --failed --no-legend --no-pager"))
		}
	}
	if s.run("n1", "cat /etc/machine-id") == s.run("n2", "cat /etc/machine-id") {
		s.Error("n1 and n2 have one machine-id")
	}
	s.expect("findmnt -n -o FSTYPE /; findmnt -n /tmp; stat -c %a /tmp", "ext4\n1777")
}

func bare(s *story) {
	s.expect("for p in containerd runc docker etcd kubelet kubectl kubeadm nginx haproxy iptables nft ipset "+
		"conntrack socat ethtool modprobe python3; do command -v $p; done; "+
		"ls -d /opt/cni /usr/lib/cni /etc/cni 2>/dev/null; true", "")
	s.expect("cat /etc/apt/sources.list; ls /etc/apt/sources.list.d", "")
}

func logins(s *story) {
	as := func(user, password, line string) (string, error) {
		out, err := s.l.RunAs(s.Context(), "n1", user, password, password+"\n", line)
		return strings.TrimSpace(out), err
	}
	if out, err := as("root", RootPassword, "id -un"); out != "root" {
		s.Errorf("root by password: %q %v", out, err)
	}
	if out, err := as(OpsUser, OpsPassword, "sudo -n true 2>/dev/null || sudo -S -p '' id -un"); out != "root" {
		s.Errorf("ops by password, with sudo: %q %v", out, err)
	}
	if out, err := as(OpsUser, OpsPassword, "sudo -k; sudo -n true && echo no password asked"); err == nil {
		s.Errorf("sudo asks for no password: %q", out)
	}
	if _, err := as("root", "wrong", "true"); err == nil {
		s.Error("a wrong password is taken")
	}
	out, err := command{s.l.SSH(s.Context(), "n1", "-l", OpsUser, "id -un")}.output()
	if strings.TrimSpace(out) != OpsUser {
		s.Errorf("ops by key: %q %v", out, err)
	}
	info, err := os.Stat(s.l.IdentityFile())
	if err != nil || info.Mode().Perm() != 0o600 {
		s.Errorf("the key: %v %v", info, err)
	}
	known, err := os.ReadFile(s.l.KnownHosts())
	s.must(err)
	for _, n := range []string{"n1", "n2", "n3"} {
		for _, kind := range []string{"ed25519", "ecdsa"} {
			key := strings.Join(strings.Fields(s.run(n, "cat /etc/ssh/ssh_host_"+kind+"_key.pub"))[:2], " ")
			if strings.Count(string(known), key) != 1 {
				s.Errorf("the %s key of %s is not once in known_hosts", kind, n)
			}
		}
	}
}

func airGap(s *story) {
	// Documentation and public addresses, by address alone: nothing may even look like it could work.
	for _, address := range []string{"1.1.1.1/53", "198.51.100.1/80", s.l.subnet.Gateway() + "/80"} {
		if out, err := s.l.Run(s.Context(), "n1", "timeout 1 bash -c 'echo > /dev/tcp/"+address+"'"); err == nil {
			s.Errorf("n1 reaches %s: %s", address, out)
		}
	}
	if out := s.run("n1", "ip route get 1.1.1.1"); !strings.Contains(out, "via "+s.l.subnet.Gateway()) {
		s.Errorf("n1 has no default route: %s", out)
	}
	forwarding, err := os.ReadFile("/proc/sys/net/ipv4/conf/" + s.l.hostLink() + "/forwarding")
	if err != nil || strings.TrimSpace(string(forwarding)) != "0" {
		s.Errorf("this machine forwards for the nodes: %q %v", forwarding, err)
	}
	// But nodes reach each other and this machine, both ways.
	s.run("n1", "ping -c 1 -W 2 "+s.l.subnet.Node(2))
	listener, err := net.Listen("tcp", net.JoinHostPort(s.l.HostAddress(), "0"))
	s.must(err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "the jump host")
	}), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	s.expect("curl -sS -m 5 http://"+listener.Addr().String(), "the jump host")
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(s.l.subnet.Node(3), "22"), 3*time.Second)
	s.must(err)
	_ = conn.Close()
}

func sysctls(s *story) {
	before := machineState(s.T)
	s.expect("sysctl -q -w kernel.panic=77 vm.overcommit_memory=1 kernel.keys.root_maxkeys=12345 "+
		"net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0; "+
		"sysctl -n kernel.panic vm.overcommit_memory net.ipv4.ip_forward", "77\n1\n1")
	if s.run("n1", "sysctl -q -w vm.drop_caches=1 || echo refused") != "refused" {
		s.Error("a node may write a setting of this machine")
	}
	if s.run("n1", "date -s 2001-01-01 >/dev/null 2>&1 || echo refused") != "refused" {
		s.Error("a node may set this machine's clock")
	}
	if s.run("n2", "sysctl -n net.ipv4.ip_forward") != "0" {
		s.Error("n1 has changed n2")
	}
	if now := machineState(s.T); now != before {
		s.Errorf("a node changed this machine:\n%s\n%s", before, now)
	}
}

func runtimeGround(s *story) {
	s.expect("systemd-run -q --scope -p MemoryMax=64M sh -c 'cat /sys/fs/cgroup/memory$(sed -n s/^.*:memory://p "+
		"/proc/self/cgroup)/memory.limit_in_bytes 2>/dev/null || "+
		"cat /sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)/memory.max'", "67108864")
	s.expect("d=/var/lib/try; mkdir -p $d/l $d/u $d/w $d/m && mount -t overlay overlay -o "+
		"lowerdir=$d/l,upperdir=$d/u,workdir=$d/w $d/m && touch $d/m/f && umount $d/m && ls $d/u; rm -r $d", "f")
	s.expect("ip link add vx type vxlan id 1 dev eth0 dstport 8472 && ip link add br9 type bridge && ip link add "+
		"ve8 type veth peer name ve9 && ip link del vx && ip link del br9 && ip link del ve8 && echo made", "made")
	s.expect("findmnt -n -o PROPAGATION /", "shared")
	s.expect("dd if=/dev/kmsg of=/dev/null bs=8k count=1 iflag=nonblock status=none && echo readable", "readable")
	release, err := kernelRelease()
	s.must(err)
	if builtin, err := builtinModules(s.Context()); err != nil || len(builtin) > 0 {
		s.must(err)
		s.run("n1", "test -s /lib/modules/"+release+"/modules.builtin.bin")
	}
}

func aptLocal(s *story) {
	s.expect("apt-get -q update >/dev/null && echo quiet", "quiet")
	s.run("n1", `set -e; d=/root/try; mkdir -p $d/DEBIAN $d/usr/share/try; echo hello > $d/usr/share/try/hello
printf 'Package: try\nVersion: 1\nArchitecture: all\nMaintainer: lab <lab@example.com>\nDescription: try\n' > $d/DEBIAN/control
dpkg-deb -b $d /root/try.deb; apt-get -q -y install /root/try.deb; rm -r $d /root/try.deb`)
	s.expect("cat /usr/share/try/hello; dpkg-query -W try", "hello\ntry\t1")
	s.run("n1", "apt-get -q -y purge try")
}

func snapshots(s *story) {
	// What the earlier parts changed for good is part of "before"; a reboot forgets the rest.
	s.must(s.l.Reboot(s.Context(), "n1"))
	before, err := s.l.Snapshot(s.Context(), "n1")
	s.must(err)
	if len(before.Sections["files"]) < 1000 || len(before.Sections["packages"]) < 50 ||
		len(before.Sections["listening ports"]) == 0 {
		s.Fatalf("only %d files, %d packages, %d ports", len(before.Sections["files"]),
			len(before.Sections["packages"]), len(before.Sections["listening ports"]))
	}
	s.run("n1", `set -e; echo x > /opt/x; chmod 600 /etc/hosts; useradd -r try; ip link add try0 type bridge; ip route add 192.0.2.0/24 dev eth0
mkdir /mnt/t; mount -t tmpfs t /mnt/t; systemctl disable -q ssh.service; systemd-run -q --unit=try-fail false || true
systemd-run -q --unit=try-listen perl -MSocket -e 'socket(S,PF_INET,SOCK_STREAM,0); bind(S,sockaddr_in(4711,INADDR_ANY)); listen(S,1); sleep 600'`)
	pid, err := s.l.PID1("n1")
	s.must(err)
	_, err = inside{s.Context(), pid}.net("nft", "add", "table", "ip", "try")
	s.must(err)
	s.must(until(5*time.Second, "the listener", func() bool {
		out, err := s.l.Run(s.Context(), "n1", "ss -Hltn sport = 4711; systemctl is-failed -q try-fail && echo failed")
		return err == nil && strings.Contains(out, "4711") && strings.Contains(out, "failed")
	}))
	after, err := s.l.Snapshot(s.Context(), "n1")
	s.must(err)
	var seen strings.Builder
	for _, d := range Diff(before, after) {
		fmt.Fprintln(&seen, d)
	}
	for _, want := range []string{"files: + /opt/x", "files: ~ /etc/hosts", "users: + try", "groups: + try",
		"links: + try0", "routes: + ip -4 192.0.2.0/24", "mounts: + /mnt/t",
		"units: ~ ssh.service", "failed units: + try-fail.service", "listening ports: + tcp 0.0.0.0:4711 perl",
		"packet filter: + table ip try", "processes: + perl"} {
		if !strings.Contains(seen.String(), want) {
			s.Errorf("not seen: %s\n%s", want, seen.String())
		}
	}
	s.run("n1", `rm /opt/x; chmod 644 /etc/hosts; userdel try; umount /mnt/t; rmdir /mnt/t; systemctl enable -q ssh.service`)
	s.must(s.l.Reboot(s.Context(), "n1"))
	again, err := s.l.Snapshot(s.Context(), "n1")
	s.must(err)
	for _, d := range Diff(before, again) {
		s.Errorf("undone and rebooted, and still: %s", d)
	}
}

func reboot(s *story) {
	boot := s.run("n2", "cat /proc/sys/kernel/random/boot_id; echo kept > /root/kept")
	s.run("n2", "sysctl -q -w kernel.panic=33; ip route add 192.0.2.0/24 dev eth0")
	s.must(s.l.Reboot(s.Context(), "n2"))
	if got := s.run("n2",
		"cat /root/kept /proc/sys/kernel/random/boot_id; ip route show 192.0.2.0/24"); !strings.HasPrefix(got,
		"kept\n") || got == "kept\n"+boot {
		s.Errorf("after the reboot: %q; the boot before: %q", got, boot)
	}
}

func killAndStart(s *story) {
	s.run("n2", "echo killed > /root/kept && sync")
	s.must(s.l.Kill(s.Context(), "n2"))
	if s.reachable("n2") {
		s.Error("n2 is dead and answers")
	}
	if err := s.l.Kill(s.Context(), "n2"); err == nil {
		s.Error("a dead node can be killed")
	}
	s.must(s.l.Start(s.Context(), "n2"))
	if got := s.run("n2", "cat /root/kept"); got != "killed" {
		s.Errorf("the disk has %q", got)
	}
}

func powerOff(s *story) {
	_, _ = s.l.Run(s.Context(), "n2", "systemctl poweroff") // the connection may end first
	s.must(until(s.l.kind("n2").patient(20*time.Second), "n2 to be off", func() bool {
		_, on := s.l.supervisor("n2")
		return !on
	}))
	s.must(s.l.Start(s.Context(), "n2"))
	s.run("n2", "true")
}

func freezeAndThaw(s *story) {
	s.run("n2", "systemd-run -q --unit=tick sh -c 'while :; do date +%s > /run/tick; sleep 0.1; done'")
	s.must(s.l.Freeze("n2"))
	if s.state("n2") != Frozen || s.reachable("n2") {
		s.Errorf("n2 is %s and answers: %v", s.state("n2"), s.reachable("n2"))
	}
	s.must(s.l.Thaw("n2"))
	s.must(until(s.l.kind("n2").patient(10*time.Second), "n2 to go on", func() bool { return s.reachable("n2") }))
	s.run("n2", "systemctl is-active tick && systemctl stop tick")
}

func (s *story) state(node string) State {
	s.Helper()
	nodes, err := s.l.List()
	s.must(err)
	for _, n := range nodes {
		if n.Name == node {
			return n.State
		}
	}
	return ""
}

func cutAndReconnect(s *story) {
	s.must(s.l.Cut(s.Context(), "n2"))
	if s.state("n2") != Cut || s.reachable("n2") {
		s.Errorf("n2 is %s and answers: %v", s.state("n2"), s.reachable("n2"))
	}
	s.must(s.l.Reconnect(s.Context(), "n2"))
	s.must(until(s.l.kind("n2").patient(10*time.Second), "n2 to answer", func() bool { return s.reachable("n2") }))
	if s.state("n2") != On {
		s.Errorf("n2 is %s", s.state("n2"))
	}
}

func wipe(s *story) {
	key := s.run("n2", "cat /etc/ssh/ssh_host_ed25519_key.pub; touch /root/mark")
	s.must(s.l.Wipe(s.Context(), "n2"))
	if got := s.run("n2", "cat /etc/ssh/ssh_host_ed25519_key.pub; ls /root"); got == key ||
		strings.Contains(got, "mark") {
		s.Errorf("n2 was wiped and still has %q", got)
	}
	if s.state("n1") != On {
		s.Error("n1 was not asked for")
	}
}

func sideBySide(s *story) {
	other := freshLab(s.T, "labtest2")
	s.must(other.Up(s.Context(), 2))
	if _, err := s.l.Run(s.Context(), "n1", "timeout 1 bash -c 'echo > /dev/tcp/"+other.subnet.Node(1)+
		"/22'"); err == nil {
		s.Error("a node reaches a node of another lab")
	}
	// Not even with this machine as its router.
	if _, err := s.l.Run(s.Context(), "n1", "ip route add "+other.subnet.String()+" via "+s.l.HostAddress()+
		"; timeout 1 bash -c 'echo > /dev/tcp/"+other.subnet.Node(1)+"/22'"); err == nil {
		s.Error("this machine routes between labs")
	}
	stranger, err := Open(Options{Name: other.name, Dir: s.TempDir()})
	s.must(err)
	if err := stranger.Down(s.Context(), true); err == nil || !strings.Contains(err.Error(), other.dir) {
		s.Errorf("a lab of the same name in another directory may take this one down: %v", err)
	}
	s.must(other.Freeze("n2")) // a frozen node must not stand in the way
	s.must(other.Down(s.Context(), true))
	nothingLeft(s.T, other)
	for _, n := range []string{"n1", "n2", "n3"} {
		s.run(n, "true")
	}
}

func tenNodes(s *story) {
	other := freshLab(s.T, "labtest3")
	start := time.Now()
	s.must(other.Up(s.Context(), 10))
	s.Logf("ten nodes up in %s", time.Since(start).Round(100*time.Millisecond))
	if now := inotifyInstances(s.T); now < 10*instancesPerNode {
		s.Errorf("fs.inotify.max_user_instances is %d with thirteen nodes", now)
	}
	for k := 1; k <= 10; k++ {
		node := fmt.Sprintf("n%d", k)
		out, err := other.Run(s.Context(), node, "systemctl is-system-running")
		if strings.TrimSpace(out) != "running" {
			s.Errorf("%s is %q, %v", node, out, err)
		}
	}
	s.must(other.Down(s.Context(), true))
	nothingLeft(s.T, other)
	s.run("n1", "true")
}
