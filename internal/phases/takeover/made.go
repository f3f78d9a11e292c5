package takeover

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The flags that kubeadm 1.31 and later set, with their values on a node of the cluster. What kubeadm writes since
// another minor is there in both ways.
const (
	madeAPIServer = `
--advertise-address=$IP
--allow-privileged=true
--authorization-mode=Node,RBAC
--client-ca-file=$PKI/ca.crt
--enable-admission-plugins=NodeRestriction
--enable-bootstrap-token-auth=true
--etcd-cafile=$PKI/etcd/ca.crt
--etcd-certfile=$PKI/apiserver-etcd-client.crt
--etcd-keyfile=$PKI/apiserver-etcd-client.key
--etcd-servers=https://127.0.0.1:2379
--kubelet-client-certificate=$PKI/apiserver-kubelet-client.crt
--kubelet-client-key=$PKI/apiserver-kubelet-client.key
--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname
--proxy-client-cert-file=$PKI/front-proxy-client.crt
--proxy-client-key-file=$PKI/front-proxy-client.key
--requestheader-allowed-names=front-proxy-client
--requestheader-client-ca-file=$PKI/front-proxy-ca.crt
--requestheader-extra-headers-prefix=X-Remote-Extra-
--requestheader-group-headers=X-Remote-Group
--requestheader-username-headers=X-Remote-User
--secure-port=6443
--service-account-issuer=https://kubernetes.default.svc.$DOMAIN
--service-account-key-file=$PKI/sa.pub
--service-account-signing-key-file=$PKI/sa.key
--service-cluster-ip-range=$SERVICES
--tls-cert-file=$PKI/apiserver.crt
--tls-private-key-file=$PKI/apiserver.key
`
	madeController = `
--allocate-node-cidrs=true
--authentication-kubeconfig=/etc/kubernetes/controller-manager.conf
--authorization-kubeconfig=/etc/kubernetes/controller-manager.conf
--bind-address=127.0.0.1
--client-ca-file=$PKI/ca.crt
--cluster-cidr=$PODS
--cluster-name=$CLUSTER
--cluster-signing-cert-file=$PKI/ca.crt
--cluster-signing-key-file=$PKI/ca.key
--controllers=*,bootstrapsigner,tokencleaner
--kubeconfig=/etc/kubernetes/controller-manager.conf
--leader-elect=true
--requestheader-client-ca-file=$PKI/front-proxy-ca.crt
--root-ca-file=$PKI/ca.crt
--service-account-private-key-file=$PKI/sa.key
--service-cluster-ip-range=$SERVICES
--use-service-account-credentials=true
`
	madeScheduler = `
--authentication-kubeconfig=/etc/kubernetes/scheduler.conf
--authorization-kubeconfig=/etc/kubernetes/scheduler.conf
--bind-address=127.0.0.1
--kubeconfig=/etc/kubernetes/scheduler.conf
--leader-elect=true
`
	madeEtcd = `
--advertise-client-urls=https://$IP:2379
--cert-file=$PKI/etcd/server.crt
--client-cert-auth=true
--data-dir=/var/lib/etcd
--experimental-initial-corrupt-check=true
--experimental-watch-progress-notify-interval=5s
--feature-gates=InitialCorruptCheck=true
--initial-advertise-peer-urls=https://$IP:2380
--key-file=$PKI/etcd/server.key
--listen-client-urls=https://127.0.0.1:2379,https://$IP:2379
--listen-metrics-urls=http://127.0.0.1:2381
--listen-peer-urls=https://$IP:2380
--name=$NODE
--peer-cert-file=$PKI/etcd/peer.crt
--peer-client-cert-auth=true
--peer-key-file=$PKI/etcd/peer.key
--peer-trusted-ca-file=$PKI/etcd/ca.crt
--snapshot-count=10000
--trusted-ca-file=$PKI/etcd/ca.crt
--watch-progress-notify-interval=5s
`
)

// isMade says whether kubeadm sets the flag to this value on the node.
func (t *taking) isMade(node, component, name, value string) bool {
	if component == etcd && (name == "--initial-cluster" || name == "--initial-cluster-state") {
		return true // a member with data does not read them
	}
	n := t.networks()
	if name == "--cluster-cidr" && n.Pods == "" {
		return true // refused as a whole
	}
	text := map[string]string{apiServer: madeAPIServer, controller: madeController, scheduler: madeScheduler,
		etcd: madeEtcd}[component]
	text = strings.NewReplacer("$IP", t.addressOf(node), "$NODE", node, "$PKI", PKIDir, "$DOMAIN", n.Domain,
		"$SERVICES", n.Services, "$PODS", n.Pods, "$CLUSTER", n.Name).Replace(text)
	return strings.Contains(text, "\n"+name+"="+value+"\n")
}

// addressOf is the internal address of a node.
func (t *taking) addressOf(node string) string {
	for _, n := range t.Nodes {
		if n.Name == node {
			return internalIP(n)
		}
	}
	return ""
}

func internalIP(n corev1.Node) string {
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}
