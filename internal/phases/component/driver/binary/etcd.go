package binary

import (
	"sort"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node/systemd"
)

// EtcdVotes is how long a member that stops waits for its clients' watches at the most, and votes: its request timeout,
// of five seconds and twice the election timeout.
const EtcdVotes = 7 * time.Second

const (
	etcdConf    = "/etc/etcd/etcd.conf"
	etcdInitial = "/etc/etcd/initial.conf" // read by a member that has no data yet, and by no other
	etcdTree    = "/var/lib/etcd"
	etcdData    = etcdTree + "/default.etcd"
	etcdUser    = "etcd"
)

// EtcdSettings are all settings of a member but those of its first start, as environment variables, of one that reads
// the files of its certificates where they are.
func (r *Binary) EtcdSettings(n config.Node) map[string]string {
	return r.etcdSettings(n, pkiDir+"/etcd/")
}

// etcdSettings are those of a member that finds its certificates and keys in a directory.
func (r *Binary) etcdSettings(n config.Node, dir string) map[string]string {
	out := r.Override("etcd", map[string]string{
		"ETCD_NAME": n.Name, "ETCD_DATA_DIR": etcdData,
		"ETCD_LISTEN_CLIENT_URLS":    layout.HTTPSURL("127.0.0.1", 2379) + "," + layout.ClientURL(n),
		"ETCD_ADVERTISE_CLIENT_URLS": layout.ClientURL(n),
		"ETCD_LISTEN_PEER_URLS":      layout.PeerURL(n), "ETCD_INITIAL_ADVERTISE_PEER_URLS": layout.PeerURL(n),
		"ETCD_CLIENT_CERT_AUTH": "true", "ETCD_TRUSTED_CA_FILE": dir + "ca.crt",
		"ETCD_CERT_FILE": dir + "server.crt", "ETCD_KEY_FILE": dir + "server.key",
		"ETCD_PEER_CLIENT_CERT_AUTH": "true", "ETCD_PEER_TRUSTED_CA_FILE": dir + "ca.crt",
		"ETCD_PEER_CERT_FILE": dir + "peer.crt", "ETCD_PEER_KEY_FILE": dir + "peer.key",
		"ETCD_CIPHER_SUITES": strings.Join(cipherSuites(), ","),
	})
	if out["ETCD_TLS_MIN_VERSION"] == "TLS1.3" { // with which etcd refuses a list
		delete(out, "ETCD_CIPHER_SUITES")
	}
	return out
}

func (r *Binary) etcdFiles(n config.Node) []node.File {
	leaf, d := r.PKI().Nodes[n.Name], pkiDir+"/etcd/"
	return []node.File{
		layout.RootFile(d+"ca.crt", r.PKI().EtcdCA.Cert),
		layout.RootFile(d+"server.crt", leaf.EtcdServer.Cert), layout.SecretFile(d+"server.key", leaf.EtcdServer.Key),
		layout.RootFile(d+"peer.crt", leaf.EtcdPeer.Cert), layout.SecretFile(d+"peer.key", leaf.EtcdPeer.Key),
	}
}

// etcdService is a member with all its settings but those of its first start.
func (r *Binary) etcdService(n config.Node) (node.Service, error) {
	u := systemd.Unit{Description: "etcd, the store of Kubernetes", After: []string{"network-online.target"},
		Wants: []string{"network-online.target"}, Type: "notify",
		Environment: []string{etcdConf, "-" + etcdInitial}, Program: r.ProgramPath(n, "etcd")}
	s := node.Service{Unit: "etcd.service", Binaries: r.Binaries(n, "etcd")}
	settings := r.EtcdSettings(n)
	if r.Cluster.Eggo.EtcdUser != "root" {
		s.Account = &node.Account{Name: etcdUser, Dir: etcdTree}
		settings = r.etcdSettings(n, runAsEtcd(&u))
	}
	s.Files = append(r.etcdFiles(n),
		layout.RootFile(etcdConf, systemd.EnvironmentFile(settings)),
		layout.RootFile(layout.UnitDir+"etcd.service", u.Render()),
	)
	return s, nil
}

// runAsEtcd has a member run as an account of its own, and returns where it finds its certificates and keys. These are
// root's: systemd reads them and hands it copies. Before each start all data become the account's: those of a member
// that ran as root, or that a restore has made.
func runAsEtcd(u *systemd.Unit) string {
	u.User, u.Credentials = etcdUser, map[string]string{}
	for _, name := range []string{"ca.crt", "server.crt", "server.key", "peer.crt", "peer.key"} {
		u.Credentials[name] = pkiDir + "/etcd/" + name
	}
	u.Before = []string{"install -d -o " + etcdUser + " -g " + etcdUser + " -m 0700 " + etcdData,
		"chown -Rh " + etcdUser + ":" + etcdUser + " " + etcdData}
	return systemd.CredentialsDir("etcd.service") + "/"
}

// initialFile is what a member reads at its first start: whom it forms the cluster with (state new), or whom it joins
// (existing).
func (r *Binary) initialFile(f driver.Formation) node.File {
	var list []string
	for name, url := range f.Members {
		list = append(list, name+"="+url)
	}
	sort.Strings(list)
	return layout.RootFile(etcdInitial, systemd.EnvironmentFile(map[string]string{
		"ETCD_INITIAL_CLUSTER": strings.Join(list, ","), "ETCD_INITIAL_CLUSTER_STATE": f.State,
		"ETCD_INITIAL_CLUSTER_TOKEN": r.Cluster.EtcdToken,
	}))
}
