#!/bin/bash
# Certificates of the cluster in $C, made with openssl: one authority, as is usual by hand. Read by cluster-up.sh.
mkdir -p "$C"
(
	cd "$C" || exit
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.crt -days 3650 -subj /CN=by-hand 2>/dev/null
	openssl ecparam -genkey -name prime256v1 -noout -out sa.key
	openssl ec -in sa.key -pubout -out sa.pub 2>/dev/null
	leaf() { # NAME SUBJECT [NAMES]
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" -subj "$2" 2>/dev/null
		openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -set_serial "0x$(openssl rand -hex 8)" -days 365 -out "$1.crt" -extfile <(
			echo keyUsage=critical,digitalSignature,keyEncipherment
			echo extendedKeyUsage=serverAuth,clientAuth
			[ -z "${3:-}" ] || echo "subjectAltName=$3"
		) 2>/dev/null
	}
	conf() { # NAME SERVER
		cat >"$1.kubeconfig" <<-K
			apiVersion: v1
			kind: Config
			clusters: [{name: k, cluster: {server: "https://$2", certificate-authority-data: $(base64 -w0 ca.crt)}}]
			users: [{name: u, user: {client-certificate-data: $(base64 -w0 "$1.crt"), client-key-data: $(base64 -w0 "$1.key")}}]
			contexts: [{name: c, context: {cluster: k, user: u}}]
			current-context: c
		K
	}
	names="DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local,IP:127.0.0.1,IP:$service_gateway"
	for m in $CONTROL_PLANES; do names+=",DNS:$(name "$m"),IP:$(ip "$m")"; done
	leaf apiserver /CN=kube-apiserver "$names"
	leaf etcd /CN=etcd "$names"
	leaf apiserver-kubelet-client /O=system:masters/CN=apiserver-kubelet-client
	leaf apiserver-etcd-client /CN=apiserver-etcd-client
	leaf admin /O=system:masters/CN=admin
	for c in kube-controller-manager kube-scheduler; do
		leaf $c /CN=system:$c
		conf $c 127.0.0.1:6443
	done
	leaf kube-proxy /CN=system:kube-proxy
	conf kube-proxy "$(ip "$first"):6443"
	conf admin 127.0.0.1:6443
	for n in $all; do
		leaf "kubelet-$(name "$n")" "/O=system:nodes/CN=system:node:$(name "$n")" "DNS:$(name "$n"),IP:$(ip "$n")"
		conf "kubelet-$(name "$n")" "$(ip "$first"):6443"
	done
)
