# Runs a virtual machine, which reboots by itself, until it powers itself off, and takes its cgroups away. Follows supervise.sh. qemu makes
# the machine's link in the network namespace of the switch, and the link goes with qemu.

record supervisor.pid $$
ip -n "$SWITCH" link del "$PORT" 2>/dev/null
sweep 1
eval "set -- $QEMU"
(
	enter
	cd "$dir" && exec ip netns exec "$SWITCH" "$@"
) &
child=$!
record qemu.pid $child
wait $child
echo "the node ended with status $?"
rm -f "$dir/qemu.pid"
sweep 0
rm -f "$dir/supervisor.pid"
