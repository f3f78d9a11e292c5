// Package foreign reads a cluster that kubeadm has made: what its API server says, and what lies on its control planes.
// It changes nothing; what it has read package takeover understands.
package foreign

import (
	"context"
	_ "embed"
	"encoding/base64"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/phases/takeover"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// readLib prints files, each as its path and its content in base64.
//
//go:embed files.sh
var readLib string

// Reader has the way to the nodes of a cluster that is not known yet.
type Reader struct{ *clients.Clients }

// Read reads a cluster over its control plane first.
func (r Reader) Read(ctx context.Context, first config.Node) (*takeover.Cluster, error) {
	h, err := r.Connect(ctx, first)
	if err != nil {
		return nil, err
	}
	server, admin, err := readAll(ctx, h)
	if err != nil {
		return nil, err
	}
	pair, err := adminOf(admin)
	if err != nil || server.PKI["ca.crt"] == nil {
		return nil, event.NewFault(event.ClassPreflight, "import.not-control-plane", err, "address",
			first.IP.String())
	}
	r.SetNode(first.Name, r.NewNode(h))
	r.Use(&pki.PKI{CA: pki.Pair{Cert: server.PKI["ca.crt"]}, Admin: pair})
	k, err := r.NewAPI()
	if err != nil {
		return nil, err
	}
	c, err := Objects(ctx, k)
	if err != nil {
		return nil, err
	}
	for _, n := range c.Nodes {
		at := addressOf(n)
		if !isControlPlane(n) || !at.IsValid() {
			continue
		}
		s := server
		if at != first.IP {
			other := config.Node{Name: n.Name, IP: at, Port: first.Port, Arch: n.Status.NodeInfo.Architecture,
				Roles: []bundle.Role{bundle.ControlPlane}}
			if h, err = r.Connect(ctx, other); err != nil {
				return nil, err
			}
			if s, _, err = readAll(ctx, h); err != nil {
				return nil, err
			}
		}
		s.Node = event.Clean(n.Name)
		c.Servers = append(c.Servers, s)
	}
	if !slices.ContainsFunc(c.Nodes, func(n corev1.Node) bool { return addressOf(n) == first.IP }) {
		return nil, event.NewFault(event.ClassPreflight, "import.other-address", nil, "address", first.IP.String())
	}
	return c, nil
}

func isControlPlane(n corev1.Node) bool {
	_, is := n.Labels["node-role.kubernetes.io/control-plane"]
	return is
}

// addressOf is the internal address of a Node.
func addressOf(n corev1.Node) netip.Addr {
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			ip, _ := netip.ParseAddr(a.Address)
			return ip.Unmap()
		}
	}
	return netip.Addr{}
}

// Server reads what lies on a control plane that is to be taken over: the static pods that are not ours, and, unless
// all are, the key of service accounts and what encrypts Secrets.
func Server(ctx context.Context, h node.Host) (takeover.Server, error) {
	s, _, err := readServer(ctx, h, fmt.Sprintf("[ $ours -lt %d ] || exit 0\nfile %s/sa.key\n",
		len(takeover.Pods()), takeover.PKIDir))
	return s, err
}

// readAll reads all that an import needs of a control plane, and the kubeconfig of the administrator.
func readAll(ctx context.Context, h node.Host) (takeover.Server, []byte, error) {
	script := "file " + takeover.AdminConf + "\n"
	for _, name := range takeover.Secrets() {
		script += "file " + shell.Quote(takeover.PKIDir+"/"+name) + "\n"
	}
	return readServer(ctx, h, script)
}

// readServer reads the static pods that are not ours, and then what the script more prints. Keys are among it: neither
// script nor output is logged.
func readServer(ctx context.Context, h node.Host, more string) (takeover.Server, []byte, error) {
	s := takeover.Server{Node: h.Name(), Manifests: map[string][]byte{}, PKI: map[string][]byte{}}
	files, err := readFiles(ctx, h, podsScript(takeover.ManifestDir, node.Dir+"/applied")+"file "+takeover.PKIDir+"/"+
		takeover.PublicKeys+"\n"+more)
	if err != nil {
		return s, nil, err
	}
	for path, data := range files {
		if component, is := strings.CutPrefix(path, oursMark); is {
			s.Ours = append(s.Ours, component)
		}
		if name, is := strings.CutPrefix(path, takeover.ManifestDir+"/"); is {
			s.Manifests[name] = data
		}
		if name, is := strings.CutPrefix(path, takeover.PKIDir+"/"); is {
			s.PKI[name] = data
		}
	}
	if at := takeover.EncryptionFile(s.Manifests["kube-apiserver.yaml"]); at != "" {
		more, err := readFiles(ctx, h, readLib+"file "+shell.Quote(at)+"\n")
		if err != nil {
			return s, nil, err
		}
		s.Encryption = more[at]
	}
	return s, files[takeover.AdminConf], nil
}

// podsScript prints the components whose static pods are ours, and counts them in the variable ours, and all manifests
// that are not. Ours is what has a stamp, also when somebody has removed its manifest, and one with our revision, whose
// stamp a run that was killed has not written yet.
func podsScript(manifests, applied string) string {
	return readLib + "ours=0\nfor c in " + strings.Join(takeover.Pods(), " ") + "; do\n" +
		"  if [ -e " + applied + "/$c ] || grep -qs EGGO_REVISION " + manifests + "/$c.yaml; then\n" +
		"    printf '" + oursMark + "%s \\n' $c; ours=$((ours + 1))\n  fi\ndone\n" +
		"for f in " + manifests + "/*.yaml; do\n  c=${f##*/}\n  c=${c%.yaml}\n" +
		"  if [ ! -e " + applied + "/\"$c\" ] && ! grep -qs EGGO_REVISION \"$f\"; then file \"$f\"; fi\ndone\n"
}

// oursMark is ahead of a component whose static pod is ours, where a file has its path.
const oursMark = "ours:"

// readFiles are the files that a script prints, by their paths.
func readFiles(ctx context.Context, h node.Host, script string) (map[string][]byte, error) {
	res, err := h.Run(ctx, shell.Command{Script: script, Secret: true, Quiet: true})
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for line := range strings.Lines(string(res.Stdout)) {
		path, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if data, err := base64.StdEncoding.DecodeString(text); err == nil {
			out[path] = data
		}
	}
	return out, nil
}

// adminOf is the client certificate of a kubeconfig.
func adminOf(data []byte) (pki.Pair, error) {
	var c clientcmdapi.Config
	if err := yaml.Unmarshal(data, &c); err != nil {
		return pki.Pair{}, err
	}
	for _, u := range c.AuthInfos {
		if len(u.AuthInfo.ClientCertificateData) > 0 && len(u.AuthInfo.ClientKeyData) > 0 {
			return pki.Pair{Cert: u.AuthInfo.ClientCertificateData, Key: u.AuthInfo.ClientKeyData}, nil
		}
	}
	return pki.Pair{}, event.NewFault(event.ClassPreflight, "import.no-key", nil, "file", takeover.AdminConf)
}

// Objects reads what the API server says.
func Objects(ctx context.Context, k *clients.API) (*takeover.Cluster, error) {
	c := &takeover.Cluster{}
	nodes, err := k.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, clients.Fault(err)
	}
	c.Nodes = nodes.Items
	slices.SortFunc(c.Nodes, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	maps, err := k.CoreV1().ConfigMaps(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, clients.Fault(err)
	}
	for _, m := range maps.Items {
		switch m.Name {
		case "kubeadm-config":
			c.Config = m.Data["ClusterConfiguration"]
		case "kube-proxy":
			c.Proxy = m.Data["config.conf"]
		case "kubelet-config":
			c.Kubelet = m.Data["kubelet"]
		case "coredns":
			c.DNS.Corefile = m.Data["Corefile"]
		}
	}
	sets, err := k.AppsV1().DaemonSets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, clients.Fault(err)
	}
	for _, d := range sets.Items {
		c.DaemonSets = append(c.DaemonSets, d.Name)
	}
	deployments, err := k.AppsV1().Deployments(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, clients.Fault(err)
	}
	for _, d := range deployments.Items {
		if d.Name == "coredns" && d.Spec.Replicas != nil {
			c.DNS.Replicas = int(*d.Spec.Replicas)
		}
	}
	services, err := k.CoreV1().Services(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, clients.Fault(err)
	}
	for _, s := range services.Items {
		if s.Name == "kube-dns" {
			c.DNS.Address = s.Spec.ClusterIP
		}
	}
	return c, nil
}
