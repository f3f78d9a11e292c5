# Boots a node in namespaces, boots it again when it reboots itself, and takes its network and cgroups away when it ends. Follows supervise.sh.

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
