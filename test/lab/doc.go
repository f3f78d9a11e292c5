// Package lab makes real machines out of one: Debian nodes with systemd as PID 1, a real sshd, a network, a
// disk and host keys of their own, booted in seconds with systemd-nspawn on one Linux machine as root. They
// are what the end-to-end tests and the demo install Kubernetes on.
//
// A lab has a name, and everything that it makes carries it: network namespaces and links (NAME-sw, NAME-h0,
// NAME-n1, ...), the cgroup eggo-lab.NAME in each hierarchy and the directory labs/NAME beneath the lab
// directory. Labs of different names stand side by side. The machine's own packet filter, mounts and
// sysctls are not touched, but for one: fs.inotify.max_user_instances bounds the nodes of all labs together at about
// four control planes, so it is raised when there are more, said, and set back when the last lab goes down.
//
// The network is a bridge in a namespace of its own. Nodes reach each other and the machine that they run on
// (the jump host, the first address of the subnet), and nothing else: their default gateway is the bridge,
// which has no way out.
//
// A node may be of the other architecture: a Debian of which qemu's user emulation runs every program, systemd as PID 1
// too. The kernel is this machine's, so what asks it for more than system calls of the usual kinds (runc, the kubelet,
// packet filters by netlink) does not run there. The registration with the kernel (binfmt_misc) is held by a mount in
// the node's own mount namespace and is gone with the last such node; one that the machine has already is left as it
// is.
//
// Such nodes share the machine's kernel and clock. Killing one ends its processes at once; what it had
// written and not yet synced survives, unlike on a machine that loses its power.
//
// A node may be a virtual machine instead, of amd64 or arm64: qemu-system with Debian's own kernel and root file
// system, on the same network, with cgroup v2, AppArmor, modules that it loads, a clock of its own, and a power
// cut that loses what was not synced. Everything that can be done to a node can be done to one. KVM runs it where
// a probe shows that /dev/kvm runs a stock kernel; else it is emulated, and a program takes ten to forty times as
// long. How many times was measured when it booted (Slowness): tests scale their limits with it. The disk of one
// can be booted in a namespace for a while, where all is fast (Turn).
package lab
