#!/bin/sh
# supervise.sh DIR - runs the node whose directory is DIR, detached from whoever started it. DIR/settings has its variables.
# DIR/supervisor.pid, and DIR/nspawn.pid or DIR/qemu.pid, say which processes it and the node are (pid, start time, boot of this
# machine). What follows this part runs the node, as the one kind or the other.
set -u
dir=$1
. "$dir/settings"

record() { # FILE PID: a pid alone may be somebody else's by tomorrow
	echo "$2 $(cut -d' ' -f22 "/proc/$2/stat") $(cat /proc/sys/kernel/random/boot_id)" > "$dir/$1.tmp" && mv "$dir/$1.tmp" "$dir/$1"
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
