#!/bin/bash
# The yardstick of a deploy with the kubeadm driver: kubeadm by hand over ssh, as upstream's documentation says, by somebody careful who knows the
# machines. They are made ready side by side; then kubeadm init, the other control planes one after another (each becomes a member of etcd), and
# meanwhile the workers. Nothing is recorded, verified or taken back. It ends when all nodes are Ready and DNS and the network plugin run.
# Environment:
#   CONTENTS       an unpacked bundle with kubeadm     SSH_CONFIG    of ssh(1)         WORK  directory for sockets and files
#   CONTROL_PLANES, WORKERS  "NAME=ADDRESS …"          PACKAGES, PAUSE, KUBERNETES       what NODE_SCRIPT installs, the image of sandboxes, the version
#   NODE_SCRIPT    makes a machine ready, with the content of the bundle in /root/kit
# It prints "SECONDS STEP" as each step begins.
# shellcheck disable=SC2086 # lists of machines, files and packages are split
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
. "$here/machines.sh"
endpoint=$(ip "$first"):6443

prepare() { # packages, container runtime with the cgroup driver systemd, kubelet, images: nothing that needs the others
	local n=$1
	tar -C "$CONTENTS" -c $(cd "$CONTENTS" && echo *.deb) Packages kubelet kubeadm kubectl bridge host-local loopback portmap addons images.tar |
		on "$n" 'mkdir -p /root/kit && tar -C /root/kit -x'
	on "$n" "PAUSE='$PAUSE' sh -s $PACKAGES >/root/kit.log 2>&1 || { tail -n 20 /root/kit.log >&2; exit 1; }" <"$NODE_SCRIPT"
}

kubeadm() { # NODE COMMAND… with the configuration on stdin
	local n=$1
	shift
	on "$n" "cat >/root/kubeadm.yaml && { kubeadm $* --config /root/kubeadm.yaml --ignore-preflight-errors=all >/root/kubeadm.log 2>&1 ||
		{ tail -n 20 /root/kubeadm.log >&2; exit 1; }; }"
}

# A machine with little processor time is waited for; the waits end as soon as what they wait for is there.
waits='timeouts: {controlPlaneComponentHealthCheck: 15m0s, kubeletHealthCheck: 10m0s, tlsBootstrap: 15m0s, discovery: 10m0s, etcdAPICall: 10m0s}'
registration() { echo "nodeRegistration: {name: $(name "$1"), criSocket: \"unix:///run/containerd/containerd.sock\", kubeletExtraArgs: [{name: node-ip, value: $(ip "$1")}]}"; }

init() {
	kubeadm "$first" init --upload-certs <<-Y
		apiVersion: kubeadm.k8s.io/v1beta4
		kind: InitConfiguration
		localAPIEndpoint: {advertiseAddress: $(ip "$first"), bindPort: 6443}
		$(registration "$first")
		bootstrapTokens: [{token: $token}]
		certificateKey: $key
		$waits
		---
		apiVersion: kubeadm.k8s.io/v1beta4
		kind: ClusterConfiguration
		kubernetesVersion: $KUBERNETES
		controlPlaneEndpoint: "$endpoint"
		networking: {podSubnet: 10.244.0.0/16, serviceSubnet: 10.32.0.0/16}
		---
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		cgroupDriver: systemd
		failCgroupV1: false
		---
		apiVersion: kubeproxy.config.k8s.io/v1alpha1
		kind: KubeProxyConfiguration
		conntrack: {maxPerCore: 0}
	Y
}

join() { # NODE [CONTROL-PLANE]
	local n=$1 plane=''
	[ -z "${2:-}" ] || plane="controlPlane: {localAPIEndpoint: {advertiseAddress: $(ip "$n"), bindPort: 6443}, certificateKey: $key}"
	kubeadm "$n" join <<-Y
		apiVersion: kubeadm.k8s.io/v1beta4
		kind: JoinConfiguration
		discovery: {bootstrapToken: {token: $token, apiServerEndpoint: "$endpoint", caCertHashes: ["$hash"]}}
		$(registration "$n")
		$plane
		$waits
	Y
}

step "packages, programs, images, container runtime"
each prepare $all
step "kubeadm init"
token=$(on "$first" kubeadm token generate)
key=$(on "$first" kubeadm certs certificate-key)
init
on "$first" cat /etc/kubernetes/pki/ca.crt >"$WORK/ca.crt"
hash=sha256:$(openssl x509 -pubkey -noout -in "$WORK/ca.crt" | openssl pkey -pubin -outform DER | sha256sum | cut -d ' ' -f 1)
K="/usr/local/bin/kubectl --kubeconfig /etc/kubernetes/admin.conf"
on "$first" "$K apply -f /root/kit/addons/kube-flannel.yml >/dev/null"
step "kubeadm join"
each join $WORKERS &
workers=$!
for n in $CONTROL_PLANES; do
	[ "$n" = "$first" ] || join "$n" control-plane
done
wait $workers
step "all is ready"
on "$first" "$K wait --for=condition=Ready node --all --timeout=300s >/dev/null && $K -n kube-system rollout status deploy/coredns --timeout=180s >/dev/null && $K -n kube-flannel rollout status ds/kube-flannel-ds --timeout=180s >/dev/null"
step "end"
