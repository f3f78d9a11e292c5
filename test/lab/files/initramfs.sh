# Runs before the kernel's package is installed into the root file system $1: its initramfs only mounts the disk, so that it
# is unpacked soon under emulation.
set -eu
mkdir -p "$1/etc/initramfs-tools/conf.d" "$1/usr/share/initramfs-tools/modules.d"
printf 'MODULES=list\nCOMPRESS=gzip\n' >"$1/etc/initramfs-tools/conf.d/lab"
printf '%s\n' virtio_pci virtio_blk virtio_mmio ext4 crc32c_generic >"$1/usr/share/initramfs-tools/modules.d/lab"
