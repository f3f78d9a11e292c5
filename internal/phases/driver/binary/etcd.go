package binary

import (
	"sort"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/driver"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/systemd"
)

// EtcdVotes is how long a member that stops waits for its clients' watches at the most, and votes: its request timeout,
// of five seconds and twice the election timeout.
const EtcdVotes = 7 * time.Second

const (
	etcdConf    = "/etc/etcd/etcd.conf"
	etcdInitial = "/etc/etcd/initial.conf" // read by a member that has no data yet, and by no other
	etcdTree    = "/var/lib/etcd"
	etcdData    = etcdTree + "/default.etcd"
)

// EtcdSettings are all settings of a member but those of its first start, as environment variables, whichever way it
// runs.
func (r *Binary) EtcdSettings(n config.Node) map[string]string {
	d := pkiDir + "/etcd/"
	return r.Override("etcd", map[string]string{
		"ETCD_NAME": n.Name, "ETCD_DATA_DIR": etcdData,
		"ETCD_LISTEN_CLIENT_URLS":    layout.HTTPSURL("127.0.0.1", 2379) + "," + layout.ClientURL(n),
		"ETCD_ADVERTISE_CLIENT_URLS": layout.ClientURL(n),
		"ETCD_LISTEN_PEER_URLS":      layout.PeerURL(n), "ETCD_INITIAL_ADVERTISE_PEER_URLS": layout.PeerURL(n),
		"ETCD_CLIENT_CERT_AUTH": "true", "ETCD_TRUSTED_CA_FILE": d + "ca.crt", "ETCD_CERT_FILE": d + "server.crt",
		"ETCD_KEY_FILE":              d + "server.key",
		"ETCD_PEER_CLIENT_CERT_AUTH": "true", "ETCD_PEER_TRUSTED_CA_FILE": d + "ca.crt",
		"ETCD_PEER_CERT_FILE": d + "peer.crt", "ETCD_PEER_KEY_FILE": d + "peer.key",
	})
}

func (r *Binary) etcdFiles(n config.Node) []node.File {
	leaf, d := r.PKI().Nodes[n.Name], pkiDir+"/etcd/"
	return []node.File{
		layout.PlainFile(d+"ca.crt", r.PKI().EtcdCA.Cert),
		layout.PlainFile(d+"server.crt", leaf.EtcdServer.Cert), layout.SecretFile(d+"server.key", leaf.EtcdServer.Key),
		layout.PlainFile(d+"peer.crt", leaf.EtcdPeer.Cert), layout.SecretFile(d+"peer.key", leaf.EtcdPeer.Key),
	}
}

// etcdService is a member with all its settings but those of its first start.
func (r *Binary) etcdService(n config.Node) (node.Service, error) {
	u := systemd.Unit{Description: "etcd, the store of Kubernetes", After: []string{"network-online.target"},
		Wants: []string{"network-online.target"}, Type: "notify",
		Environment: []string{etcdConf, "-" + etcdInitial}, Program: r.ProgramPath(n, "etcd")}
	return node.Service{Unit: "etcd.service", Binaries: r.Binaries(n, "etcd"), Files: append(r.etcdFiles(n),
		layout.PlainFile(etcdConf, systemd.EnvironmentFile(r.EtcdSettings(n))),
		layout.PlainFile(layout.UnitDir+"etcd.service", u.Render()),
	)}, nil
}

// initialFile is what a member reads at its first start: whom it forms the cluster with (state new), or whom it joins
// (existing).
func (r *Binary) initialFile(f driver.Formation) node.File {
	var list []string
	for name, url := range f.Members {
		list = append(list, name+"="+url)
	}
	sort.Strings(list)
	return layout.PlainFile(etcdInitial, systemd.EnvironmentFile(map[string]string{
		"ETCD_INITIAL_CLUSTER": strings.Join(list, ","), "ETCD_INITIAL_CLUSTER_STATE": f.State,
		"ETCD_INITIAL_CLUSTER_TOKEN": r.Cluster.EtcdToken,
	}))
}
