#!/bin/sh
# PID 1 of a node until it hands over to systemd.

# systemd must find its cgroup hierarchies writable when it starts, else it never uses memory and pids,
# and the systemd cgroup driver of a kubelet has no ground.
for dir in /sys/fs/cgroup/*/; do
	mountpoint -q "$dir" && mount -o remount,bind,rw "$dir" 2>/dev/null
done
mount --make-rshared /

# Sysctls without a namespace belong to the machine below. Here they are files that start with the
# machine's values: writable, forgotten at reboot, and the machine never changes. All others under
# vm, kernel and fs stay read-only.
mkdir -p /run/lab-sysctl
for key in vm/overcommit_memory vm/overcommit_ratio vm/panic_on_oom vm/swappiness vm/max_map_count \
	vm/dirty_ratio vm/dirty_background_ratio vm/min_free_kbytes vm/vfs_cache_pressure \
	kernel/panic kernel/panic_on_oops kernel/pid_max kernel/threads-max kernel/sysrq kernel/core_pattern \
	kernel/core_uses_pid kernel/printk kernel/softlockup_panic kernel/hung_task_timeout_secs \
	kernel/keys/root_maxkeys kernel/keys/root_maxbytes kernel/keys/maxkeys kernel/keys/maxbytes \
	fs/inotify/max_user_instances fs/inotify/max_user_watches fs/inotify/max_queued_events \
	fs/file-max fs/nr_open fs/aio-max-nr fs/may_detach_mounts \
	fs/protected_hardlinks fs/protected_symlinks fs/protected_fifos fs/protected_regular; do
	[ -e "/proc/sys/$key" ] || continue
	file=/run/lab-sysctl/$(echo "$key" | tr / .)
	cat "/proc/sys/$key" > "$file" && mount --bind "$file" "/proc/sys/$key"
done
exec /lib/systemd/systemd
