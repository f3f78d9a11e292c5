// Package phasestest simulates the machines that a deploy changes: their file systems are directories, their scripts
// run in the real shell, and behind their ports stand a Kubernetes API and an etcd in memory. All state of the machines
// is on disk, so that it survives the program that changes them.
package phasestest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

const control = "m1"

// Shape of a cluster: control planes m1, m2, …, etcd on them or on e1, e2, …, workers w1, w2, …, and a load balancer on
// lb.
type Shape struct {
	Masters, Etcds, Workers int
	Balancer                bool
}

// Lab is a cluster's machines.
type Lab struct {
	Dir     string
	Cluster *config.Cluster
	Nodes   map[string]*Node
	API     *API // nil where the lab was opened, not made

	Etcd *Etcd // nil likewise

	machines []config.Node // that there are, whatever the cluster is
	shape    Shape
	addr     addresses
	stop     []func()

	mu   sync.Mutex
	ways map[string][]net.Conn // open connections by machine and unit
}

// addresses of what the program that made the lab serves; of etcd by node.
type addresses struct {
	API, Health, SecureHealth string
	Etcd                      map[string]string
}

// Kit is what many labs can share: the bundle and the certificates.
type Kit struct {
	shape Shape
	dir   string
}

// NewKit makes the bundle, staged, and the certificates for a control plane and some workers under dir.
func NewKit(dir string, workers int) (*Kit, error) {
	return NewKitOf(dir, Shape{Masters: 1, Workers: workers})
}

// NewKitOf makes them for a cluster of any shape.
func NewKitOf(dir string, shape Shape) (*Kit, error) {
	k := &Kit{shape: shape, dir: dir}
	if err := WriteBundle(filepath.Join(dir, "bundle.tar.gz")); err != nil {
		return nil, err
	}
	if _, err := stage(context.Background(), dir); err != nil {
		return nil, err
	}
	c, err := cluster(shape)
	if err != nil {
		return nil, err
	}
	spec := pki.Spec{Domain: c.DNSDomain, ServiceGateway: c.ServiceGateway, Endpoint: strings.Split(c.Endpoint, ":")[0],
		ExtraDNS: c.SANs.DNSNames, ExtraIPs: c.SANs.IPs}
	for _, n := range c.Nodes {
		spec.Machines = append(spec.Machines, pki.Machine{Name: n.Name, IP: n.IP,
			ControlPlane: n.Has(bundle.ControlPlane), Etcd: n.Has(bundle.Etcd), Kubelet: n.Has(bundle.ControlPlane) ||
				n.Has(bundle.Worker)})
	}
	_, _, err = pki.Ensure(filepath.Join(dir, "pki"), spec, time.Now())
	return k, err
}

func stage(ctx context.Context, dir string) (*bundle.Staged, error) {
	return stageAs(ctx, dir, "bundle.tar.gz", "stage")
}

func stageAs(ctx context.Context, dir, file, at string) (*bundle.Staged, error) {
	return bundle.Stage(ctx, filepath.Join(dir, file), filepath.Join(dir, at), nil)
}

func cluster(shape Shape) (*config.Cluster, error) {
	c, problems := config.Load(deployYAML(shape), "deploy.yaml")
	if problems.HasErrors() {
		return nil, fmt.Errorf("deploy.yaml: %+v", problems)
	}
	return c, nil
}

func deployYAML(shape Shape) []byte {
	var b strings.Builder
	list := func(prefix string, count, first int) {
		for i := range count {
			fmt.Fprintf(&b, "- {name: %s%d, ip: 192.0.2.%d, port: 22, arch: amd64}\n", prefix, i+1, first+i)
		}
	}
	b.WriteString("cluster-id: sim\nusername: root\nprivate-key-path: /root/.ssh/id_rsa\nmasters:\n")
	list("m", shape.Masters, 11)
	b.WriteString("nodes:\n")
	list("w", shape.Workers, 21)
	if shape.Workers == 0 {
		list("m", 1, 11)
	}
	if shape.Etcds > 0 {
		b.WriteString("etcds:\n")
		list("e", shape.Etcds, 31)
	}
	if shape.Balancer {
		b.WriteString("loadbalance: {name: lb, ip: 192.0.2.41, port: 22, arch: amd64, bind-port: 8443}\n")
	}
	b.WriteString("network: {podcidr: 10.200.0.0/16, plugin: flannel}\npackage-src: {type: tar.gz, x86src: " +
		"/bundle.tar.gz}\n")
	return []byte(b.String())
}

// NewLab makes bare machines under dir and serves what stands behind their ports. Its state directory has the kit's
// certificates.
func NewLab(dir string, k *Kit) (*Lab, error) {
	l, err := assemble(dir, k.shape)
	if err != nil {
		return nil, err
	}
	for _, n := range l.Cluster.Nodes {
		if err := l.Nodes[n.Name].install(n.IP.String()); err != nil {
			return nil, err
		}
	}
	if err := os.CopyFS(filepath.Join(l.StateDir(), "pki"), os.DirFS(filepath.Join(k.dir, "pki"))); err != nil {
		return nil, err
	}
	for _, name := range []string{"bundle.tar.gz", "stage"} {
		if err := os.Symlink(filepath.Join(k.dir, name), filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	if err := l.serve(); err != nil {
		l.Close()
		return nil, err
	}
	return l, l.publish()
}

// publish writes what OpenLab reads.
func (l *Lab) publish() error {
	data, err := json.Marshal(struct {
		Shape Shape
		Addr  addresses
	}{l.shape, l.addr})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.Dir, "lab.json"), data, 0o600)
}

// WithDocker is a build whose bundle has Docker and cri-dockerd beside containerd.
const WithDocker = "docker"

// Rebuild gives the lab a bundle of the same versions whose programs have other bytes.
func (l *Lab) Rebuild(build string) error {
	for _, name := range []string{"bundle.tar.gz", "stage"} {
		if err := os.RemoveAll(filepath.Join(l.Dir, name)); err != nil { // the kit's stays behind its link
			return err
		}
	}
	if err := writeBundle(filepath.Join(l.Dir, "bundle.tar.gz"), Version, build, nil); err != nil {
		return err
	}
	_, err := stage(context.Background(), l.Dir)
	return err
}

// OpenLab is the same lab in another program, while the one that made it serves it.
func OpenLab(dir string) (*Lab, error) {
	data, err := os.ReadFile(filepath.Join(dir, "lab.json"))
	if err != nil {
		return nil, err
	}
	var doc struct {
		Shape Shape
		Addr  addresses
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	l, err := assemble(dir, doc.Shape)
	if err == nil {
		l.addr = doc.Addr
	}
	return l, err
}

// Release makes a bundle of another version of Kubernetes, in which the programs of broken do not start, and returns
// its path as deploy.yaml has it.
func (l *Lab) Release(version string, broken ...string) (path string, err error) {
	file := "bundle-" + version + ".tar.gz"
	if err := os.RemoveAll(filepath.Join(l.Dir, "stage-"+version)); err != nil { // of another one of the version
		return "", err
	}
	build := version
	if l.Cluster.ByKubeadm() {
		build = WithKubeadm + " " + version
	}
	if err := writeBundle(filepath.Join(l.Dir, file), version, build, nil, broken...); err != nil {
		return "", err
	}
	_, err = stageAs(context.Background(), l.Dir, file, "stage-"+version)
	return "/" + file, err
}

// versionOf is the version of a program by its content, which ends with it when the bundle is that of a release.
func versionOf(program string) string {
	if w := strings.Fields(program); len(w) > 0 && strings.HasPrefix(w[len(w)-1], "v1.") {
		return w[len(w)-1]
	}
	return Version
}

func assemble(dir string, shape Shape) (*Lab, error) {
	c, err := cluster(shape)
	if err != nil {
		return nil, err
	}
	l := &Lab{Dir: dir, Cluster: c, Nodes: map[string]*Node{}, shape: shape, ways: map[string][]net.Conn{},
		addr: addresses{Etcd: map[string]string{}}}
	l.machines = slices.Clone(c.Nodes)
	for _, n := range c.Nodes {
		l.Nodes[n.Name] = &Node{name: n.Name, dir: filepath.Join(dir, "nodes", n.Name), dial: l.dial}
	}
	return l, nil
}

// StateDir is the cluster's directory on the control host, and its name the cluster's.
func (l *Lab) StateDir() string { return filepath.Join(l.Dir, "state", "sim") }

// DeployYAML is the cluster as a deploy.yaml.
func (l *Lab) DeployYAML() []byte { return deployYAML(l.shape) }

// Close ends what the lab serves.
func (l *Lab) Close() {
	for _, f := range l.stop {
		f()
	}
}

// Env is what a plan needs.
func (l *Lab) Env(emit func(event.Event) error) phases.Env {
	return phases.Env{
		Cluster: l.Cluster, StateDir: l.StateDir(), Emit: emit, Now: time.Now,
		Connect: func(_ context.Context, n config.Node) (node.Host, error) {
			h := l.Nodes[n.Name]
			for _, m := range l.machines {
				if m.IP == n.IP {
					h = l.Nodes[m.Name]
				}
			}
			return h, h.enter(nil)
		},
		Stage: func(ctx context.Context, b config.BundleSource) (phases.Bundle, error) {
			if version, ok := strings.CutPrefix(filepath.Base(b.Path), "bundle-"); ok { // of Release
				return stageAs(ctx, l.Dir, filepath.Base(b.Path), "stage-"+strings.TrimSuffix(version, ".tar.gz"))
			}
			return stage(ctx, l.Dir)
		},
	}
}

// dial connects to what listens on a node, while its unit runs.
func (l *Lab) dial(ctx context.Context, from, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if c, ok, err := l.dialNames(ctx, from, host, port); ok {
		return c, err
	}
	to := l.Nodes[from]
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		to = nil
		for _, n := range l.machines {
			if n.IP.String() == host {
				to = l.Nodes[n.Name]
			}
		}
	}
	if to == nil {
		return nil, refused(addr)
	}
	if err := to.enter(nil); err != nil {
		return nil, refused(addr)
	}
	if to.listens(port) && to.active("eggo-lb.service") {
		port = "8443"
	}
	for p, unit := range map[string]struct{ unit, at string }{
		"6443": {"kube-apiserver.service", l.addr.API}, "2379": {"etcd.service", l.addr.Etcd[to.name]},
		"8443": {"eggo-lb.service", l.addr.API}, "10256": {"kube-proxy.service", l.addr.Health},
		"10248": {"kubelet.service", l.addr.Health},
		"10257": {"kube-controller-manager.service", l.addr.SecureHealth},
		"10259": {"kube-scheduler.service", l.addr.SecureHealth},
	} {
		if p == port && to.active(unit.unit) {
			var d net.Dialer
			c, err := d.DialContext(ctx, "tcp", unit.at)
			if err == nil {
				l.mu.Lock()
				l.ways[to.name+" "+unit.unit] = append(l.ways[to.name+" "+unit.unit], c)
				l.mu.Unlock()
			}
			return c, err
		}
	}
	if port == "22" {
		return idle(), nil
	}
	return nil, refused(addr)
}

// serve starts the API, etcd and the components' health probes.
func (l *Lab) serve() error {
	// The certificates that the machines' files hold: those of the state directory, which a deploy after a cleanup
	// makes again.
	conf := func(ca, cert string) *tls.Config {
		return &tls.Config{MinVersion: tls.VersionTLS12,
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
				dir := filepath.Join(l.StateDir(), "pki")
				pair, err := tls.LoadX509KeyPair(filepath.Join(dir, cert+".crt"), filepath.Join(dir, cert+".key"))
				if err != nil {
					return nil, err
				}
				pem, err := os.ReadFile(filepath.Join(dir, ca))
				pool := x509.NewCertPool()
				pool.AppendCertsFromPEM(pem)
				return &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool,
					ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
					NextProtos: []string{"h2", "http/1.1"}}, err
			}}
	}
	listen := func(at *string) (net.Listener, error) {
		s, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			*at = s.Addr().String()
		}
		return s, err
	}
	l.Etcd = &Etcd{lab: l}
	for _, n := range l.Cluster.With(bundle.Etcd) {
		var at string
		etcd, err := listen(&at)
		if err != nil {
			return err
		}
		l.addr.Etcd[n.Name] = at
		l.stop = append(l.stop, l.Etcd.serve(n, etcd, conf("etcd/ca.crt", "nodes/"+n.Name+"/etcd-server")))
	}
	l.API = &API{store: map[string]object{}, applied: map[string]object{}, refresh: l.controllers, watch: l.watchNames,
		dns:     dnsTrouble{mute: map[string]bool{}, lag: map[string][]string{}},
		release: func() string { return versionOf(l.Nodes[control].Runs("kube-apiserver.service")) }}
	api, err := listen(&l.addr.API)
	if err != nil {
		return err
	}
	l.web(tls.NewListener(api, conf("ca.crt", "nodes/"+control+"/apiserver")), l.API)
	health, err := listen(&l.addr.Health)
	if err != nil {
		return err
	}
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	l.web(health, ok)
	secure, err := listen(&l.addr.SecureHealth)
	if err != nil {
		return err
	}
	// No client certificate is asked for on the way to a health probe.
	own := conf("ca.crt", "nodes/"+control+"/apiserver")
	l.web(tls.NewListener(secure, &tls.Config{MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			c, err := own.GetConfigForClient(h)
			if c != nil {
				c.ClientAuth = tls.NoClientCert
			}
			return c, err
		}}), ok)
	return nil
}

func (l *Lab) web(at net.Listener, h http.Handler) {
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = s.Serve(at) }()
	l.stop = append(l.stop, func() { _ = s.Close() })
}

// controllers do what a cluster's own do: nodes register when their kubelet runs, workloads roll out, flannel gives its
// lease and routes.
func (l *Lab) controllers(a *API) (era string) {
	era = l.Etcd.era()
	if era == "" {
		return ""
	}
	var names []string
	cidr := map[string]string{}
	for i, n := range l.Cluster.Nodes {
		path := "/api/v1/nodes/" + n.Name
		cidr[n.Name] = fmt.Sprintf("10.200.%d.0/24", i)
		if !n.Has(bundle.ControlPlane) && !n.Has(bundle.Worker) {
			continue
		}
		if a.store[path] == nil && l.Nodes[n.Name].active("kubelet.service") && a.era != "" {
			spec := object{"podCIDR": cidr[n.Name]}
			if n.Has(bundle.ControlPlane) && !n.Has(bundle.Worker) { // as its kubelet is told to register
				spec["taints"] = []any{object{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}}
			}
			a.put(path, object{"kind": "Node", "apiVersion": "v1", "metadata": object{"name": n.Name}, "spec": spec,
				"status": object{
					"nodeInfo":   object{"kubeletVersion": Version},
					"conditions": []any{object{"type": "Ready", "status": "True"}},
				}}, true)
		}
		if o := a.store[path]; o != nil && l.Nodes[n.Name].active("kubelet.service") {
			runs := l.Nodes[n.Name].Runs("kubelet.service")
			runtime, _ := os.ReadFile(l.Nodes[n.Name].State("runtime"))
			o["status"].(object)["nodeInfo"] = object{"kubeletVersion": versionOf(runs), "architecture": n.Arch,
				"containerRuntimeVersion": strings.TrimSpace(string(runtime)) + "://1.2.3"}
		}
		if a.store[path] != nil {
			names = append(names, n.Name)
			if l.Nodes[n.Name].active("kubelet.service") {
				a.store["/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"+
					n.Name] = object{"kind": "Lease", "apiVersion": "coordination.k8s.io/v1",
					"metadata": object{"name": n.Name, "namespace": "kube-node-lease"},
					"spec":     object{"renewTime": time.Now().UTC().Format("2006-01-02T15:04:05.000000Z07:00")}}
			}
		}
	}
	for path, o := range a.store {
		spec, _ := o["spec"].(object)
		switch o["kind"] {
		case "DaemonSet":
			o["status"] = object{"observedGeneration": meta(o)["generation"], "desiredNumberScheduled": len(names),
				"numberReady": len(names), "updatedNumberScheduled": len(names)}
		case "ReplicaSet":
			namespace, _ := meta(o)["namespace"].(string)
			o["status"] = object{"replicas": spec["replicas"], "readyReplicas": a.owned(namespace)}
		case "Deployment":
			n := spec["replicas"]
			o["status"] = object{"observedGeneration": meta(o)["generation"], "replicas": n, "readyReplicas": n,
				"updatedReplicas": n}
		}
		if strings.HasSuffix(path, "/daemonsets/kube-flannel-ds") {
			l.flannel(names, cidr)
		}
	}
	a.endpointControllers()
	return era
}

func (l *Lab) flannel(names []string, cidr map[string]string) {
	for _, n := range l.Cluster.Nodes {
		nd := l.Nodes[n.Name]
		if !slices.Contains(names, n.Name) || !nd.active("kubelet.service") {
			continue
		}
		var routes strings.Builder
		for _, other := range l.Cluster.Nodes {
			if other.Name != n.Name && slices.Contains(names, other.Name) {
				fmt.Fprintf(&routes, "%s via %s dev flannel.1 onlink\n", cidr[other.Name], other.IP)
			}
		}
		_ = write(nd.Path("/run/flannel/subnet.env"), "FLANNEL_SUBNET="+cidr[n.Name]+"\n", 0o644)
		_ = write(nd.State("routes"), routes.String(), 0o644)
	}
}
