# Runs inside the fresh root file system of the nodes (chroot), on stdin of /bin/sh.
# It makes of a bootstrapped Debian the server that an administrator would hand over:
# users, sshd, no package sources. What belongs to one node (keys, names) is not made here.
set -eu

useradd --create-home --shell /bin/bash --groups sudo ops
chpasswd <<P
root:$ROOT_PASSWORD
ops:$OPS_PASSWORD
P
printf 'PermitRootLogin yes\nPasswordAuthentication yes\n' > /etc/ssh/sshd_config.d/lab.conf
rm -f /etc/ssh/ssh_host_*
echo LANG=C.UTF-8 > /etc/default/locale

# apt must work with local files alone and must not try a network that is not there.
rm -rf /etc/apt/sources.list.d/* /var/lib/apt/lists/* /var/cache/apt/archives/*.deb
: > /etc/apt/sources.list
# What the bootstrap wrote for itself.
rm -f /etc/apt/apt.conf.d/99mmdebstrap /etc/dpkg/dpkg.cfg.d/99mmdebstrap

# An empty machine-id would be "uninitialized": Debian's presets then enable every unit at the first boot.
# Each node gets its own before it starts.
rm -f /etc/hostname /etc/resolv.conf /var/lib/dbus/machine-id
: > /etc/machine-id

systemctl enable --quiet ssh
# These timers take the package manager's lock at a moment of their own, looking for a network.
for unit in apt-daily.timer apt-daily-upgrade.timer; do
	systemctl disable --quiet "$unit" || true
done
# A container whose first process ignores SIGTERM holds a shutdown up for this long (Debian: 90 s).
mkdir -p /etc/systemd/system.conf.d
printf '[Manager]\nDefaultTimeoutStopSec=15s\n' > /etc/systemd/system.conf.d/lab.conf
# A node has no console, no kernel file systems to mount, no clock of its own to set.
for unit in console-getty.service getty.target systemd-remount-fs.service sys-kernel-debug.mount \
	sys-kernel-tracing.mount sys-kernel-config.mount dev-hugepages.mount e2scrub_reap.service; do
	ln -sf /dev/null "/etc/systemd/system/$unit"
done
