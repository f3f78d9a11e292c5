#!/bin/sh
# supervise.sh DIR - boots the node whose directory is DIR, boots it again when it reboots itself, and
# takes its network and cgroups away when it ends. It runs detached from whoever started it; DIR/settings
# has its variables, DIR/supervisor.pid and DIR/nspawn.pid say who it is (pid, start time, boot of this machine).
set -u
dir=$1
. "$dir/settings"

record() { # FILE PID: a pid alone may be somebody else's by tomorrow
	echo "$2 $(cut -d' ' -f22 "/proc/$2/stat") $(cat /proc/sys/kernel/random/boot_id)" > "$dir/$1.tmp" && mv "$dir/$1.tmp" "$dir/$1"
}

unwire() {
	ip -n "$SWITCH" link del "$PORT"
	ip netns del "$NETNS"
} 2>/dev/null

# A fresh network namespace per boot: routes, links, addresses and packet filter of the last boot are gone,
# as on a machine that starts.
wire() {
	unwire
	ip netns add "$NETNS" &&
	ip -n "$NETNS" link add eth0 address "$MAC" type veth peer name "$PORT" netns "$SWITCH" &&
	ip -n "$SWITCH" link set "$PORT" master br0 &&
	ip -n "$NETNS" link set lo up &&
	# No duplicate detection: its two seconds would be two seconds in which a listing of routes differs.
	ip netns exec "$NETNS" sh -c 'f=/proc/sys/net/ipv6/conf/eth0/accept_dad; [ ! -e $f ] || echo 0 > $f' &&
	ip -n "$NETNS" addr add "$ADDRESS/24" brd + dev eth0 &&
	ip -n "$NETNS" link set eth0 up &&
	ip -n "$NETNS" route add default via "$GATEWAY" || return
	[ -e "$dir/cut" ] || ip -n "$SWITCH" link set "$PORT" up
}

# sweep DEPTH: removes the node's cgroups (DEPTH 0) or only those below it (1), once the last process in them
# is gone. Cgroups of the last boot would hold the next kubelet up for a minute.
sweep() {
	tries=0
	while [ $tries -lt 100 ]; do
		left=
		for h in $HIERARCHIES; do
			[ -d "$h/$CGROUP" ] || continue
			find "$h/$CGROUP" -mindepth "$1" -depth -type d -exec rmdir {} + 2>/dev/null
			[ -z "$(find "$h/$CGROUP" -mindepth "$1" -type d -print -quit 2>/dev/null)" ] || left=1
		done
		[ -n "$left" ] || return 0
		tries=$((tries + 1))
		sleep 0.1
	done
}

# enter: puts this shell into the node's cgroup of every hierarchy.
enter() {
	for h in $HIERARCHIES; do
		parent=$h
		for name in $(echo "$CGROUP" | tr / ' '); do
			for c in $(cat "$parent/cgroup.controllers" 2>/dev/null); do
				echo "+$c" > "$parent/cgroup.subtree_control"
			done
			mkdir -p "$parent/$name"
			for f in cpuset.cpus cpuset.mems; do # a v1 cpuset takes no process while these are empty
				[ -e "$parent/$f" ] && [ -z "$(cat "$parent/$name/$f")" ] && cat "$parent/$f" > "$parent/$name/$f"
			done
			parent=$parent/$name
		done
		echo 0 > "$parent/cgroup.procs" || exit 1
	done
} 2>>"$dir/console.log"

# systemd mounts /sys/fs/bpf, and nspawn leaves it out: network plugins look for it, and would mount it themselves
mkdir -p "$dir/bpf"
binds=--bind=$dir/bpf:/sys/fs/bpf
for dev in /dev/kmsg /dev/fuse; do
	[ -e $dev ] && binds="$binds --bind=$dev"
done

# hybrid cgroups stay hybrid (nspawn's own choice): with v1 alone there is no release agent in a cgroup
# namespace, and scopes of ended pods stay for ever.
# /tmp is on the disk, as Debian has it.
export SYSTEMD_NSPAWN_API_VFS_WRITABLE=network SYSTEMD_NSPAWN_TMPFS_TMP=0 SYSTEMD_SECCOMP=0
record supervisor.pid $$
status=133
while [ $status = 133 ]; do # 133 is nspawn's word for "the node asked for a reboot"
	wire || { echo "the node's network could not be made"; break; }
	sweep 1
	(
		enter
		# The disk is mounted in a mount namespace of the node's own: when its last process ends, by whatever
		# means, mount and loop device are gone with it.
		# shellcheck disable=SC2086,SC3028 # binds are several options; HOSTNAME is one of the settings
		exec unshare --mount --propagation private -- sh -c '
			dir=$1; shift
			mount -t bpf bpf "$dir/bpf" || mount -t tmpfs tmpfs "$dir/bpf"
			mount -o loop,noatime,discard "$dir/disk.img" "$dir/root" && exec "$@"' sh "$dir" ${EMULATE:+sh "$dir/emulate.sh" "$EMULATE"} systemd-nspawn \
			--quiet --directory="$dir/root" --machine="$MACHINE" --hostname="$HOSTNAME" --register=no --keep-unit \
			--network-namespace-path="/run/netns/$NETNS" --kill-signal=SIGRTMIN+3 \
			--capability=all --drop-capability=CAP_SYS_TIME \
			--console=pipe --link-journal=no --resolv-conf=off --timezone=off $binds /usr/lib/lab/init
	) &
	child=$!
	record nspawn.pid $child
	wait $child
	status=$?
	echo "the node ended with status $status"
	rm -f "$dir/nspawn.pid"
done
unwire
sweep 0
rm -f "$dir/supervisor.pid"
