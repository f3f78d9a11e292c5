package binary

import (
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
)

// Certificates are where a node of these roles has them.
func (r *Binary) Certificates(n config.Node) []driver.Certificate {
	own := "nodes/" + n.Name + "/"
	var out []driver.Certificate
	if n.Has(bundle.ControlPlane) {
		out = append(out, driver.Certificate{Name: own + "apiserver", File: pkiDir + "/apiserver.crt",
			Port: 6443},
			driver.Certificate{Name: "apiserver-kubelet-client", File: pkiDir + "/apiserver-kubelet-client.crt"},
			driver.Certificate{Name: "apiserver-etcd-client", File: pkiDir + "/apiserver-etcd-client.crt"},
			driver.Certificate{Name: "front-proxy-client", File: pkiDir + "/front-proxy-client.crt"},
			driver.Certificate{Name: "controller-manager", File: controllerManagerConf,
				Config: true},
			driver.Certificate{Name: "scheduler", File: schedulerConf, Config: true},
			driver.Certificate{Name: "admin", File: adminConf, Config: true})
		if r.Cluster.DNS.IsBinary() {
			out = append(out, driver.Certificate{Name: "coredns", File: corednsConf, Config: true})
		}
	}
	if n.Has(bundle.Etcd) {
		out = append(out, driver.Certificate{Name: own + "etcd-server", File: pkiDir + "/etcd/server.crt",
			Port: 2379},
			driver.Certificate{Name: own + "etcd-peer", File: pkiDir + "/etcd/peer.crt", Port: 2380})
	}
	if inventory.IsKubelet(n) {
		serving := driver.Certificate{Name: own + "kubelet", File: pkiDir + "/kubelet.crt", Port: 10250}
		if r.Cluster.KubeletServing {
			serving = driver.Certificate{Own: "kubelet-serving", File: servingCert, Port: 10250}
		}
		out = append(out, serving, driver.Certificate{Name: "kube-proxy", File: kubeDir + "/kube-proxy.conf",
			Config: true},
			driver.Certificate{Own: "kubelet-client", File: clientCert})
	}
	return out
}
