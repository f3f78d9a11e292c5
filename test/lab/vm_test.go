package lab

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestVirtualMachine boots a virtual machine beside a node in a namespace. Under emulation it takes a quarter of an
// hour.
func TestVirtualMachine(t *testing.T) {
	bootsNodes(t)
	machine := machineState(t)
	l := freshLab(t, "labvm")
	h := &story{t, l}
	l.OfVM(runtime.GOARCH, "n2")
	start := time.Now()
	h.must(l.Up(t.Context(), 2))
	t.Logf("a virtual machine and another node up in %s", time.Since(start).Round(100*time.Millisecond))

	for _, part := range []struct {
		name string
		do   func(*story)
	}{
		{"up again changes nothing", machineStays}, {"a kernel of its own", ownKernel}, {"logins", passwords},
		{"beside the other node", beside}, {"snapshots see every change", machineSnapshots}, {"reboot", reboot},
		{"kill and start", killAndStart}, {"no power without a sync", powerLoss}, {"power off from inside", powerOff},
		{"stop", stops}, {"freeze and thaw", freezeAndThaw}, {"cut and reconnect", cutAndReconnect}, {"turn", turn},
		{"wipe", wipe},
	} {
		t.Run(part.name, func(t *testing.T) { part.do(&story{t, l}) })
	}

	h.must(l.Down(t.Context(), true))
	nothingLeft(t, l)
	if now := machineState(t); now != machine {
		t.Errorf("the machine was\n%s\nand is\n%s", machine, now)
	}
}

// TestVirtualMachineOfARM64 boots one of the architecture that this machine usually has not.
func TestVirtualMachineOfARM64(t *testing.T) {
	bootsNodes(t)
	l := freshLab(t, "labarm")
	h := &story{t, l}
	l.OfVM("arm64", "n2")
	start := time.Now()
	h.must(l.Up(t.Context(), 2))
	t.Logf("a virtual machine of arm64 and another node up in %s", time.Since(start).Round(100*time.Millisecond))
	if got := h.run("n2", "uname -m; dpkg --print-architecture"); got != "aarch64\narm64" {
		t.Errorf("n2 is %q", got)
	}
	for _, part := range []struct {
		name string
		do   func(*story)
	}{{"a kernel of its own", ownKernel}, {"beside the other node", beside},
		{"snapshots see every change", machineSnapshots}, {"reboot", reboot}, {"power off from inside", powerOff}} {
		t.Run(part.name, func(t *testing.T) { part.do(&story{t, l}) })
	}
	h.must(l.Down(t.Context(), true))
	nothingLeft(t, l)
}

func machineStays(s *story) {
	before, err := s.l.PID1("n2")
	s.must(err)
	again, err := Open(Options{Name: s.l.name}) // as another process would, which does not name the machine
	s.must(err)
	s.must(again.Up(s.Context(), 2))
	if after, err := again.PID1("n2"); err != nil || after != before {
		s.Errorf("the qemu of n2 was %d and is %d, %v", before, after, err)
	}
	if !again.IsVM("n2") || again.IsVM("n1") {
		s.Errorf("n2 is a virtual machine: %v; n1: %v", again.IsVM("n2"), again.IsVM("n1"))
	}
	if slow := again.Slowness("n2"); slow < 1 || again.Slowness("n1") != 1 {
		s.Errorf("n2 takes %g times as long, n1 %g", slow, again.Slowness("n1"))
	} else {
		s.Logf("n2 takes %g times as long as this machine", slow)
	}
}

func ownKernel(s *story) {
	release, err := kernelRelease()
	s.must(err)
	got := s.run("n2", "uname -r; stat -fc %T /sys/fs/cgroup; systemctl is-system-running; hostname; "+
		"cat /proc/1/comm; findmnt -n -o FSTYPE,SOURCE /; cat /sys/module/apparmor/parameters/enabled")
	f := strings.Split(got, "\n")
	want := "cgroup2fs\nrunning\nn2\nsystemd\next4 /dev/vda\nY"
	if f[0] == release || strings.ReplaceAll(strings.Join(f[1:], "\n"), "   ", " ") != want {
		s.Errorf("n2 is %q; failed: %s", got, s.run("n2", "systemctl --failed --no-legend --no-pager"))
	}
	if got := s.run("n2", "for p in containerd runc kubelet iptables nft ipset conntrack socat; do command -v $p; "+
		"done; true"); got != "" {
		s.Errorf("n2 is not bare: %q", got)
	}
	// The kernel has what the machine below may lack.
	s.run("n2", "modprobe ip_vs_rr && modprobe overlay && modprobe vxlan && modprobe dm_mod && modprobe nfs")
}

func passwords(s *story) {
	for user, password := range map[string]string{"root": RootPassword, OpsUser: OpsPassword} {
		out, err := s.l.RunAs(s.Context(), "n2", user, password, password+"\n", "sudo -S -p '' id -un")
		if strings.TrimSpace(out) != "root" {
			s.Errorf("%s by password, with sudo: %q %v", user, out, err)
		}
	}
}

func beside(s *story) {
	s.run("n1", "ping -c 1 -W 5 "+s.l.subnet.Node(2))
	s.run("n2", "ping -c 1 -W 5 "+s.l.subnet.Node(1))
	s.run("n2", "ping -c 1 -W 5 "+s.l.HostAddress())
	if out, err := s.l.Run(s.Context(), "n2", "timeout 2 bash -c 'echo > /dev/tcp/1.1.1.1/53'"); err == nil {
		s.Errorf("n2 reaches the Internet: %s", out)
	}
}

func machineSnapshots(s *story) {
	before, err := s.l.Settled(s.Context(), "n2")
	s.must(err)
	if len(before.Sections["files"]) < 1000 || len(before.Sections["packages"]) < 50 ||
		len(before.Sections["listening ports"]) == 0 || len(before.Sections["processes"]) == 0 {
		s.Fatalf("only %d files, %d packages, ports %v, processes %v", len(before.Sections["files"]),
			len(before.Sections["packages"]), before.Sections["listening ports"], before.Sections["processes"])
	}
	s.run("n2", `set -e; echo x > "/opt/a file"; ln -s x /opt/l; chmod 600 /etc/hosts; useradd -r try
ip link add try0 type bridge; ip route add 192.0.2.0/24 dev eth0; mkdir /mnt/t; mount -t tmpfs t /mnt/t
systemctl disable -q ssh.service; systemd-run -q --unit=try-fail false || true; /usr/lib/lab/nft/run add table ip try
systemd-run -q --unit=try-listen perl -MSocket -e '
socket(S,PF_INET,SOCK_STREAM,0); bind(S,sockaddr_in(4711,INADDR_ANY)); listen(S,1); sleep 600'`)
	s.must(until(s.l.kind("n2").patient(10*time.Second), "the listener", func() bool {
		out, err := s.l.Run(s.Context(), "n2", "ss -Hltn sport = 4711; systemctl is-failed -q try-fail && echo failed")
		return err == nil && strings.Contains(out, "4711") && strings.Contains(out, "failed")
	}))
	after, err := s.l.Snapshot(s.Context(), "n2")
	s.must(err)
	var seen strings.Builder
	for _, d := range Diff(before, after) {
		seen.WriteString(d.String() + "\n")
	}
	for _, want := range []string{"files: + /opt/a file file 0644 0:0 " +
		"73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac",
		"files: + /opt/l link 0777 0:0 -> x", "files: ~ /etc/hosts", "users: + try", "groups: + try", "links: + try0",
		"routes: + ip -4 192.0.2.0/24", "mounts: + /mnt/t", "units: ~ ssh.service", "failed units: + try-fail.service",
		"listening ports: + tcp 0.0.0.0:4711 perl", "packet filter: + table ip try", "processes: + perl"} {
		if !strings.Contains(seen.String(), want) {
			s.Errorf("not seen: %s\n%s", want, seen.String())
		}
	}
	s.run("n2", `rm "/opt/a file" /opt/l; chmod 644 /etc/hosts; userdel try; umount /mnt/t; rmdir /mnt/t
systemctl enable -q ssh.service`)
	s.must(s.l.Reboot(s.Context(), "n2"))
	again, err := s.l.Settled(s.Context(), "n2")
	s.must(err)
	for _, d := range Diff(before, again) {
		s.Errorf("undone and rebooted, and still: %s", d)
	}
}

// powerLoss: unlike a node in a namespace, a machine loses what it had not synced.
func powerLoss(s *story) {
	s.run("n2", "echo kept > /root/kept; sync; echo lost > /root/unsynced")
	s.must(s.l.Kill(s.Context(), "n2"))
	s.must(s.l.Start(s.Context(), "n2"))
	if got := s.run("n2", "cat /root/kept /root/unsynced 2>&1; rm -f /root/unsynced"); strings.Contains(got, "lost") ||
		!strings.HasPrefix(got, "kept\n") {
		s.Errorf("after a power cut: %q", got)
	}
}

func stops(s *story) {
	began := time.Now()
	s.must(s.l.Stop(s.Context(), "n2"))
	if log, err := os.ReadFile(s.l.ConsoleLog("n2")); err != nil || !strings.Contains(string(log), "Power down") {
		s.Errorf("n2 did not power itself off within %s: %v", time.Since(began), err)
	}
	s.must(s.l.Start(s.Context(), "n2"))
}

func turn(s *story) {
	s.run("n2", "echo turned > /root/kept")
	s.must(s.l.Turn(s.Context(), "n2", false))
	release, err := kernelRelease()
	s.must(err)
	got := s.run("n2", "cat /root/kept; uname -r; systemctl is-system-running")
	if got != "turned\n"+release+"\nrunning" {
		s.Errorf("in a namespace n2 is %q; failed: %s", got, s.run("n2", "systemctl --failed --no-legend --no-pager"))
	}
	s.must(s.l.Turn(s.Context(), "n2", true))
	ownKernel(s)
	if got := s.run("n2", "cat /root/kept"); got != "turned" {
		s.Errorf("the disk has %q", got)
	}
}
