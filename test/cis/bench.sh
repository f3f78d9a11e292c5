#!/bin/sh
# bench.sh BENCHMARK - runs kube-bench, whose archive comes on stdin, with the checks of what runs on this node, and leaves nothing behind.
set -eu
d=$(mktemp -d /run/cis.XXXXXX)
trap 'rm -rf "$d"' EXIT
tar -C "$d" -xz
t=
runs() { for p in /proc/[0-9]*; do [ "$(cat "$p/comm" 2>/dev/null)" != "$1" ] || return 0; done; return 1; }
# what the kernel shows of a name ends after fifteen letters
if runs kube-apiserver; then t=$t,master,controlplane,policies; fi
if runs etcd; then t=$t,etcd; fi
if runs kubelet; then t=$t,node; fi
export PATH="$PATH:/usr/local/bin" KUBECONFIG=/etc/kubernetes/admin.conf KUBECACHEDIR=/run/kubectl-cache
cd "$d"
./kube-bench run --config-dir "$d/cfg" --config "$d/cfg/config.yaml" --benchmark "$1" --targets "${t#,}" --json
