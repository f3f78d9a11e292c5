#!/bin/sh
# byhand.sh PACKAGE... - what an administrator does on a node ahead of kubeadm, as upstream's documentation says: packages, container runtime,
# kernel settings, kubelet with the drop-in of upstream's packages, images. The content of a bundle is in /root/kit.
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
cd /root/kit
echo 'deb [trusted=yes] file:/root/kit ./' >/etc/apt/sources.list.d/kit.list
apt-get -q -o APT::Sandbox::User=root update
apt-get -q -y -o APT::Sandbox::User=root --allow-unauthenticated --no-install-recommends install "$@"
rm -f /etc/apt/sources.list.d/kit.list

modprobe -a overlay br_netfilter 2>/dev/null || : # may be built in
printf 'net.bridge.bridge-nf-call-iptables = 1\nnet.ipv4.ip_forward = 1\n' >/etc/sysctl.d/k8s.conf
sysctl -q -p /etc/sysctl.d/k8s.conf

install -D -m 755 -t /usr/bin kubelet kubeadm
install -D -m 755 -t /usr/local/bin kubectl
install -D -m 755 -t /opt/cni/bin bridge host-local loopback portmap

mkdir -p /etc/containerd
cat >/etc/containerd/config.toml <<E
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$PAUSE"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/opt/cni/bin"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
E
systemctl enable -q containerd
systemctl restart containerd

mkdir -p /usr/lib/systemd/system/kubelet.service.d
cat >/usr/lib/systemd/system/kubelet.service <<'E'
[Unit]
Description=kubelet: The Kubernetes Node Agent
Documentation=https://kubernetes.io/docs/
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=/usr/bin/kubelet
Restart=always
StartLimitInterval=0
RestartSec=10

[Install]
WantedBy=multi-user.target
E
cat >/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf <<'E'
[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
E
systemctl daemon-reload
systemctl enable -q kubelet

ctr -n k8s.io images import images.tar >/dev/null
