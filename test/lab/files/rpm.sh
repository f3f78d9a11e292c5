# Runs after customize.sh, in the root file system of the nodes that are of the rpm family (chroot), on stdin of /bin/sh.
# The programs are Debian's; what an installer goes by is that of openEuler: os-release, dnf and rpm, and rpm's database,
# which knows none of the files that are there.
set -eu

rm -f /etc/os-release /etc/debian_version
cat >/etc/os-release <<O
NAME="openEuler"
VERSION="24.03 (LTS)"
ID="openEuler"
VERSION_ID="24.03"
PRETTY_NAME="openEuler 24.03 (LTS)"
ANSI_COLOR="0;31"
O
rm -rf /etc/yum.repos.d/* /etc/dnf/vars/* /var/cache/dnf /var/lib/dnf
# Debian's rpm keeps its database in the home directory.
mkdir -p /etc/rpm /etc/yum.repos.d /var/lib/rpm
echo '%_dbpath /var/lib/rpm' >/etc/rpm/macros
rpm --initdb
