// Package layout says where things are on a node, and how they are called, in the words that several areas share.
package layout

import (
	"fmt"
	"net"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// Where things are on a node.
const (
	UnitDir    = "/etc/systemd/system/"
	CRISocket  = "unix:///run/containerd/containerd.sock"
	BinDir     = "/usr/local/bin/"
	CNIBinDir  = "/opt/cni/bin"
	CNIConfDir = "/etc/cni/net.d"
)

// What a node joins by, and what it is then.
const (
	LabelControlPlane = "node-role.kubernetes.io/control-plane"
	TokenLife         = 24 * time.Hour
)

// LocalAPI is the API server of a control plane, on the node itself.
const LocalAPI = "https://127.0.0.1:6443"

// FieldManager owns the fields that we apply.
const FieldManager = "eggo"

// CordonedAnnotation is on the Node of one that we have closed to pods and have not opened yet.
const CordonedAnnotation = "eggo.isula.org/cordoned-by"

// Of containerd.
const (
	ContainerdConf = "/etc/eggo/containerd.toml"
	ContainerdUnit = "containerd.service"
	CertsDir       = "/etc/containerd/certs.d"
	WrittenByEggo  = "# Written by Eggo; removed by eggo-tui cleanup.\n"
)

// PullLogins has the logins of registries, for the kubelet: with each image it hands the runtime that of its registry.
const PullLogins = "/var/lib/kubelet/config.json"

// Of Docker.
const (
	DockerConf    = "/etc/eggo/docker.json"
	DockerSocket  = "unix:///run/docker.sock"
	DockerdUnit   = "docker.service"
	CRIDockerUnit = "cri-dockerd.service"
)

// Of iSulad.
const (
	IsuladUnit = "isulad.service"
	IsuladConf = "/etc/isulad/daemon.json"
	IsuladMark = "/etc/eggo/isulad"
)

// Of CoreDNS as a service.
const (
	DNSPort    = 53
	DNSMetrics = 9153
)

// RuntimeMarkers are the files by which a node's runtime is known to be ours.
func RuntimeMarkers() map[string]string {
	return map[string]string{"containerd": ContainerdConf, "docker": DockerConf, "isulad": IsuladMark}
}

// SecretFile is a file that root alone reads and whose content is never shown.
func SecretFile(path string, data []byte) node.File {
	return node.File{Path: path, Mode: 0o600, Data: data, Secret: true}
}

// RootFile is a file that root alone reads; what it says is no secret.
func RootFile(path string, data []byte) node.File {
	return node.File{Path: path, Mode: 0o600, Data: data}
}

// PlainFile is a file that everybody may read.
func PlainFile(path string, data []byte) node.File {
	return node.File{Path: path, Mode: 0o644, Data: data}
}

// HTTPSURL is the address of a server by IP and port.
func HTTPSURL(ip string, port int) string {
	return "https://" + net.JoinHostPort(ip, fmt.Sprint(port))
}

// ClientURL is where clients reach a member of etcd.
func ClientURL(n config.Node) string { return HTTPSURL(n.IP.String(), 2379) }

// PeerURL is where members of etcd reach each other.
func PeerURL(n config.Node) string { return HTTPSURL(n.IP.String(), 2380) }
