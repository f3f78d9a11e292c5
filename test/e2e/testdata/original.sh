#!/bin/sh
# original.sh - lays a node of the binary driver out as the original eggo does, and takes away what only Eggo has: binaries in /usr/bin, units in
# /usr/lib/systemd/system, the names of its configurations, the container runtime's configuration in its usual place, no record.
set -eu
on=''
for u in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy; do
	if [ -e "/etc/systemd/system/$u.service" ]; then on="$on $u"; fi
done
# shellcheck disable=SC2086 # units are split
systemctl stop $on
# shellcheck disable=SC2086
systemctl disable -q $on
for p in $on etcdctl kubectl; do
	if [ -e "/usr/local/bin/$p" ]; then
		cp -L --remove-destination "/usr/local/bin/$p" "/usr/bin/$p"
		rm -f "/usr/local/bin/$p"
	fi
done
rm -rf /opt/eggo

cd /etc/kubernetes
move() { if [ -e "$1" ]; then mv "$1" "$2"; fi; }
move kubelet.yaml kubelet_config.yaml
move kubelet.conf kubelet.kubeconfig
move kube-proxy.yaml kube-proxy-config.yaml
for u in $on; do
	more=' --v=2'
	if [ "$u" = etcd ]; then more=''; fi
	sed -e "s#^ExecStart=[^ ]*/$u\"\{0,1\}\( \|\$\)#ExecStart=/usr/bin/$u$more\1#" \
		-e 's#/etc/kubernetes/kubelet\.yaml#/etc/kubernetes/kubelet_config.yaml#' \
		-e 's#/etc/kubernetes/kubelet\.conf#/etc/kubernetes/kubelet.kubeconfig#' \
		-e 's#/etc/kubernetes/bootstrap-kubelet\.conf#/etc/kubernetes/kubelet-bootstrap.kubeconfig#' \
		-e 's#/etc/kubernetes/kube-proxy\.yaml#/etc/kubernetes/kube-proxy-config.yaml#' \
		-e 's#=NodeRestriction\("\{0,1\} \)#=NamespaceLifecycle,NodeRestriction,LimitRanger,ServiceAccount,DefaultStorageClass,ResourceQuota\1#' \
		-e 's#^ExecStart=/usr/bin/etcd$#ExecStart=/bin/bash -c "GOMAXPROCS=$(nproc) /usr/bin/etcd"#' \
		"/etc/systemd/system/$u.service" >"/usr/lib/systemd/system/$u.service"
	if ! grep -q "^ExecStart=.*/usr/bin/$u" "/usr/lib/systemd/system/$u.service"; then
		cat "/usr/lib/systemd/system/$u.service" >&2
		exit 1
	fi
	rm -f "/etc/systemd/system/$u.service"
done
if [ -d /var/lib/etcd ]; then chmod 700 /var/lib/etcd; fi
for f in /etc/etcd/*; do # all settings of a member are in one file
	if [ -f "$f" ] && [ "$f" != /etc/etcd/etcd.conf ]; then
		cat "$f" >>/etc/etcd/etcd.conf
		rm -f "$f"
	fi
done

if [ -e /etc/systemd/system/eggo-lb.service ]; then # its nginx is that of the distribution, with a unit and a configuration of its own
	systemctl disable -q --now eggo-lb
	rm -f /etc/systemd/system/eggo-lb.service /etc/systemd/system/nginx.service
	sed 's#/run/eggo-lb/nginx.pid#/run/nginx.pid#' /etc/eggo/nginx-lb.conf >kube-nginx.conf
	cat >/usr/lib/systemd/system/nginx.service <<-'END'
		[Unit]
		Description=The nginx HTTP and reverse proxy server
		After=network-online.target remote-fs.target nss-lookup.target
		[Service]
		Type=forking
		PIDFile=/run/nginx.pid
		ExecStartPre=/usr/sbin/nginx -c /etc/kubernetes/kube-nginx.conf -t
		ExecStart=/usr/sbin/nginx -c /etc/kubernetes/kube-nginx.conf
		KillMode=process
		[Install]
		WantedBy=multi-user.target
	END
	systemctl daemon-reload
	systemctl enable -q --now nginx
fi

mkdir -p /etc/containerd
mv /etc/eggo/containerd.toml /etc/containerd/config.toml
rm -f /etc/systemd/system/containerd.service.d/10-eggo.conf
rm -rf /etc/eggo /var/lib/eggo-node
systemctl daemon-reload
systemctl restart containerd
# shellcheck disable=SC2086
systemctl enable -q $on
# shellcheck disable=SC2086
systemctl start $on
