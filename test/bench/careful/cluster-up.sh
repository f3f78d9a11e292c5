#!/bin/bash
# The yardstick of a deploy: the steps of an install by hand over ssh, as somebody careful would write them down for one known set of machines.
# Machines are served side by side, over one connection each; nothing is looked at before, recorded, verified or taken back. At the end all
# nodes are Ready and DNS and the network plugin run, as after a deploy. Environment:
#   CONTENTS       an unpacked bundle          SSH_CONFIG    of ssh(1)         WORK  directory for certificates and sockets
#   CONTROL_PLANES, WORKERS  "NAME=ADDRESS …"  COREDNS       its manifest
# It prints "SECONDS STEP" as each step begins.
# shellcheck disable=SC2086 # lists of nodes and programs are split
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
. "$here/machines.sh"
service_gateway=10.32.0.1 service_net=10.32.0.0/16 pod_net=10.244.0.0/16 dns=10.32.0.10
P=/etc/kubernetes/pki C="$WORK/pki"

step certificates
. "$here/pki.sh"

prepare() { # packages, programs, images, container runtime: nothing that needs the others
	local n=$1 programs="kubelet kube-proxy kubectl"
	case " $CONTROL_PLANES " in *" $n "*) programs+=" kube-apiserver kube-controller-manager kube-scheduler etcd etcdctl" ;; esac
	on "$n" "mkdir -p /root/in /opt/cni/bin $P /etc/eggo-by-hand && cat >> /etc/hosts" <<<"$(for m in $all; do echo "$(ip "$m") $(name "$m")"; done)"
	tar -C "$CONTENTS" -c $(cd "$CONTENTS" && echo *.deb) | on "$n" 'tar -C /root/in -x'
	tar -C "$CONTENTS" -c $programs | on "$n" 'tar -C /usr/local/bin -x && cd /usr/local/bin && chmod 0755 *' &
	local copy=$!
	tar -C "$CONTENTS" -c bridge host-local loopback portmap | on "$n" 'tar -C /opt/cni/bin -x && chmod 0755 /opt/cni/bin/*'
	on "$n" bash -s <<-'S'
		set -e
		printf 'net.ipv4.ip_forward=1\nvm.overcommit_memory=1\nkernel.panic=10\nkernel.panic_on_oops=1\n' >/etc/sysctl.d/90-k8s.conf
		printf 'overlay\nbr_netfilter\n' >/etc/modules-load.d/k8s.conf
		sysctl -q -p /etc/sysctl.d/90-k8s.conf || true
		swapoff -a
		DEBIAN_FRONTEND=noninteractive dpkg -i -E -G /root/in/*.deb >/root/in/dpkg.log 2>&1
		mkdir -p /etc/containerd
		cat >/etc/containerd/config.toml <<-T
			version = 2
			[plugins."io.containerd.grpc.v1.cri"]
			  sandbox_image = "registry.k8s.io/pause:3.10.1"
			  disable_apparmor = true
			  restrict_oom_score_adj = true
			  [plugins."io.containerd.grpc.v1.cri".cni]
			    bin_dir = "/opt/cni/bin"
			    conf_dir = "/etc/cni/net.d"
			  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
			    runtime_type = "io.containerd.runc.v2"
			    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
			      SystemdCgroup = true
		T
		systemctl enable -q containerd && systemctl restart containerd
	S
	on "$n" 'cat >/root/in/images.tar && ctr -n k8s.io images import /root/in/images.tar >/dev/null && rm -rf /root/in' <"$CONTENTS/images.tar"
	tar -C "$C" -c ca.crt "kubelet-$(name "$n").crt" "kubelet-$(name "$n").key" "kubelet-$(name "$n").kubeconfig" kube-proxy.kubeconfig | on "$n" "tar -C $P -x"
	wait $copy
}

members=$(for m in $CONTROL_PLANES; do printf ',%s=https://%s:2380' "$(name "$m")" "$(ip "$m")"; done) members=${members#,}
clients=$(for m in $CONTROL_PLANES; do printf ',https://%s:2379' "$(ip "$m")"; done) clients=${clients#,}

units() { # the control plane's, started at once: each waits for what it needs
	local n=$1 a
	a=$(ip "$n")
	tar -C "$C" -c ca.crt ca.key etcd.crt etcd.key apiserver.crt apiserver.key apiserver-etcd-client.crt apiserver-etcd-client.key apiserver-kubelet-client.crt apiserver-kubelet-client.key \
		sa.key sa.pub admin.kubeconfig kube-controller-manager.kubeconfig kube-scheduler.kubeconfig | on "$n" "tar -C $P -x"
	on "$n" bash -s <<-S
		set -e
		install -d -m 0700 /var/lib/etcd
		cat >/etc/systemd/system/etcd.service <<U
		[Service]
		Type=notify
		ExecStart=/usr/local/bin/etcd --name=$(name "$n") --data-dir=/var/lib/etcd/k8s --listen-client-urls=https://$a:2379,https://127.0.0.1:2379 --advertise-client-urls=https://$a:2379 \\\\
		 --listen-peer-urls=https://$a:2380 --initial-advertise-peer-urls=https://$a:2380 --initial-cluster=$members --initial-cluster-state=new \\\\
		 --cert-file=$P/etcd.crt --key-file=$P/etcd.key --client-cert-auth --trusted-ca-file=$P/ca.crt --peer-cert-file=$P/etcd.crt --peer-key-file=$P/etcd.key --peer-client-cert-auth --peer-trusted-ca-file=$P/ca.crt
		Restart=on-failure
		TimeoutStartSec=120
		[Install]
		WantedBy=multi-user.target
		U
		cat >/etc/systemd/system/kube-apiserver.service <<U
		[Service]
		ExecStart=/usr/local/bin/kube-apiserver --advertise-address=$a --etcd-servers=$clients --etcd-cafile=$P/ca.crt --etcd-certfile=$P/apiserver-etcd-client.crt --etcd-keyfile=$P/apiserver-etcd-client.key \\\\
		 --tls-cert-file=$P/apiserver.crt --tls-private-key-file=$P/apiserver.key --client-ca-file=$P/ca.crt --kubelet-client-certificate=$P/apiserver-kubelet-client.crt --kubelet-client-key=$P/apiserver-kubelet-client.key \\\\
		 --kubelet-certificate-authority=$P/ca.crt --kubelet-preferred-address-types=InternalIP,Hostname --service-account-issuer=https://kubernetes.default.svc.cluster.local \\\\
		 --service-account-key-file=$P/sa.pub --service-account-signing-key-file=$P/sa.key --service-cluster-ip-range=$service_net --authorization-mode=Node,RBAC --allow-privileged
		Restart=on-failure
		RestartSec=1
		LimitNOFILE=65536
		[Install]
		WantedBy=multi-user.target
		U
		cat >/etc/systemd/system/kube-controller-manager.service <<U
		[Service]
		ExecStart=/usr/local/bin/kube-controller-manager --kubeconfig=$P/kube-controller-manager.kubeconfig --authentication-kubeconfig=$P/kube-controller-manager.kubeconfig --authorization-kubeconfig=$P/kube-controller-manager.kubeconfig \\\\
		 --root-ca-file=$P/ca.crt --client-ca-file=$P/ca.crt --service-account-private-key-file=$P/sa.key --use-service-account-credentials --service-cluster-ip-range=$service_net --cluster-cidr=$pod_net --allocate-node-cidrs \\\\
		 --cluster-signing-cert-file=$P/ca.crt --cluster-signing-key-file=$P/ca.key
		Restart=on-failure
		RestartSec=1
		[Install]
		WantedBy=multi-user.target
		U
		cat >/etc/systemd/system/kube-scheduler.service <<U
		[Service]
		ExecStart=/usr/local/bin/kube-scheduler --kubeconfig=$P/kube-scheduler.kubeconfig --authentication-kubeconfig=$P/kube-scheduler.kubeconfig --authorization-kubeconfig=$P/kube-scheduler.kubeconfig
		Restart=on-failure
		RestartSec=1
		[Install]
		WantedBy=multi-user.target
		U
		systemctl daemon-reload
		systemctl enable -q etcd kube-apiserver kube-controller-manager kube-scheduler
		systemctl restart etcd
		systemctl restart kube-apiserver kube-controller-manager kube-scheduler
	S
}

node() {
	local n=$1
	on "$n" bash -s <<-S
		set -e
		cat >/etc/kubernetes/kubelet.yaml <<U
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $P/ca.crt}}
		authorization: {mode: Webhook}
		tlsCertFile: $P/kubelet-$(name "$n").crt
		tlsPrivateKeyFile: $P/kubelet-$(name "$n").key
		clusterDomain: cluster.local
		clusterDNS: [$dns]
		cgroupDriver: systemd
		containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
		resolvConf: /etc/resolv.conf
		U
		cat >/etc/systemd/system/kubelet.service <<U
		[Unit]
		After=containerd.service
		[Service]
		ExecStart=/usr/local/bin/kubelet --config=/etc/kubernetes/kubelet.yaml --kubeconfig=$P/kubelet-$(name "$n").kubeconfig --node-ip=$(ip "$n") --hostname-override=$(name "$n")
		Restart=on-failure
		RestartSec=1
		[Install]
		WantedBy=multi-user.target
		U
		cat >/etc/kubernetes/kube-proxy.yaml <<U
		apiVersion: kubeproxy.config.k8s.io/v1alpha1
		kind: KubeProxyConfiguration
		clientConnection: {kubeconfig: $P/kube-proxy.kubeconfig}
		mode: iptables
		clusterCIDR: $pod_net
		hostnameOverride: $(name "$n")
		conntrack: {maxPerCore: 0}
		U
		cat >/etc/systemd/system/kube-proxy.service <<U
		[Service]
		ExecStart=/usr/local/bin/kube-proxy --config=/etc/kubernetes/kube-proxy.yaml
		Restart=on-failure
		RestartSec=1
		[Install]
		WantedBy=multi-user.target
		U
		systemctl daemon-reload
		systemctl enable -q kubelet kube-proxy
		systemctl restart kubelet kube-proxy
	S
}

step "packages, programs, images, container runtime"
each prepare $all
step "etcd and the control plane"
each units $CONTROL_PLANES
K="/usr/local/bin/kubectl --kubeconfig $P/admin.kubeconfig"
on "$first" "for i in \$(seq 300); do $K get --raw /readyz >/dev/null 2>&1 && exit; sleep 0.3; done; exit 1"
step "kubelets and kube-proxies"
each node $all
step "addons"
on "$first" "$K apply -f - >/dev/null" <"$COREDNS"
on "$first" "$K apply -f - >/dev/null" <"$CONTENTS/addons/kube-flannel.yml"
step "all is ready"
count=$(echo $all | wc -w)
on "$first" "for i in \$(seq 300); do [ \$($K get nodes --no-headers 2>/dev/null | wc -l) = $count ] && break; sleep 0.3; done
	$K wait --for=condition=Ready node --all --timeout=180s >/dev/null && $K -n kube-system rollout status deploy/coredns --timeout=180s >/dev/null && $K -n kube-flannel rollout status ds/kube-flannel-ds --timeout=180s >/dev/null"
step "end"
