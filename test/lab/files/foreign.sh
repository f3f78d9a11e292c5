# Runs after customize.sh, in the root file system of the nodes that are of the other architecture (chroot, under emulation), on stdin of /bin/sh.
# qemu's user emulation refuses a system call by which systemd mounts the credentials of a unit. These units of Debian take credentials if there
# are any; here there are none.
set -eu

for unit in systemd-sysctl systemd-sysusers systemd-tmpfiles-setup-dev systemd-tmpfiles-setup systemd-tmpfiles-clean; do
	mkdir -p "/etc/systemd/system/$unit.service.d"
	printf '[Service]\nLoadCredential=\nSetCredential=\n' >"/etc/systemd/system/$unit.service.d/lab.conf"
done
