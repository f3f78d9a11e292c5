# Runs after customize.sh, in the root file system of virtual machines (chroot), on stdin of /bin/sh.
set -eu

# The kernel's command line has the address ("ip="): nothing on the disk says it.
systemctl enable --quiet systemd-networkd systemd-network-generator
systemctl mask --quiet systemd-networkd-wait-online.service
echo 'LABEL=node / ext4 noatime,discard 0 1' >/etc/fstab

# The lab lists the packet filter of a node that may have no nft. This one is on no PATH, with libraries of its own.
dir=/usr/lib/lab/nft
mkdir -p $dir
# shellcheck disable=SC2046 # several files
cp -L /usr/sbin/nft $(ldd /usr/sbin/nft | grep -o '/[^ ]*') $dir/
# shellcheck disable=SC2016 # for the script to expand
printf '%s\n' '#!/bin/sh' 'dir=/usr/lib/lab/nft' 'exec $dir/ld-linux-* --library-path $dir $dir/nft "$@"' >$dir/run
chmod 755 $dir/run
DEBIAN_FRONTEND=noninteractive apt-get -q -y purge --auto-remove nftables
