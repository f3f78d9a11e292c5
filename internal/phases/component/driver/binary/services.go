package binary

import (
	"maps"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node/systemd"
)

// Flags are those of a component of the control plane, whichever way it runs.
func (r *Binary) Flags(c driver.Component, n config.Node) map[string]string {
	switch c {
	case driver.APIServer:
		return r.apiserverFlags(n)
	case driver.ControllerManager:
		return r.controllerManagerFlags()
	}
	return r.schedulerFlags()
}

// Files are what a component of the control plane or a member of etcd reads, whichever way it runs.
func (r *Binary) Files(c driver.Component, n config.Node) ([]node.File, error) {
	switch c {
	case driver.Etcd:
		return r.etcdFiles(n), nil
	case driver.APIServer:
		return r.apiserverFiles(n), nil
	case driver.ControllerManager:
		return r.controllerManagerFiles()
	}
	return r.schedulerFiles()
}

func (r *Binary) apiserverFlags(n config.Node) map[string]string {
	var etcds []string
	for _, m := range r.Cluster.With(bundle.Etcd) {
		etcds = append(etcds, layout.HTTPSURL(m.IP.String(), 2379))
	}
	p := pkiDir + "/"
	flags := hardened(map[string]string{
		"advertise-address": n.IP.String(), "secure-port": "6443", "allow-privileged": "true",
		"authorization-mode":       "Node,RBAC",
		"enable-admission-plugins": "NodeRestriction", "enable-bootstrap-token-auth": "true",
		"etcd-servers": strings.Join(etcds, ","), "etcd-cafile": p + "etcd/ca.crt",
		"etcd-certfile": p + "apiserver-etcd-client.crt", "etcd-keyfile": p + "apiserver-etcd-client.key",
		"client-ca-file": p + "ca.crt", "tls-cert-file": p + "apiserver.crt",
		"tls-private-key-file":          p + "apiserver.key",
		"kubelet-client-certificate":    p + "apiserver-kubelet-client.crt",
		"kubelet-client-key":            p + "apiserver-kubelet-client.key",
		"kubelet-certificate-authority": p + "ca.crt", "kubelet-preferred-address-types": "InternalIP,Hostname",
		"service-account-issuer":   "https://kubernetes.default.svc." + r.Cluster.DNSDomain,
		"service-account-key-file": p + "sa.pub", "service-account-signing-key-file": p + "sa.key",
		"service-cluster-ip-range": r.Cluster.ServiceCIDR.String(), "service-node-port-range": "30000-32767",
		"requestheader-client-ca-file": p + "front-proxy-ca.crt", "requestheader-allowed-names": "front-proxy-client",
		"requestheader-extra-headers-prefix": "X-Remote-Extra-", "requestheader-group-headers": "X-Remote-Group",
		"requestheader-username-headers": "X-Remote-User",
		"proxy-client-cert-file":         p + "front-proxy-client.crt",
		"proxy-client-key-file":          p + "front-proxy-client.key",
		"encryption-provider-config":     encryptionConf,
		"service-account-lookup":         "true",
	})
	maps.Copy(flags, r.stopFlags())
	maps.Copy(flags, auditFlags())
	return r.override("kube-apiserver", flags)
}

func (r *Binary) apiserverFiles(n config.Node) []node.File {
	leaf, p := r.PKI().Nodes[n.Name], pkiDir+"/"
	return []node.File{
		layout.RootFile(p+"ca.crt", r.PKI().CA.Cert), layout.RootFile(p+"etcd/ca.crt", r.PKI().EtcdCA.Cert),
		layout.RootFile(p+"front-proxy-ca.crt", r.PKI().FrontProxyCA.Cert),
		layout.RootFile(p+"apiserver.crt", leaf.APIServer.Cert),
		layout.SecretFile(p+"apiserver.key", leaf.APIServer.Key),
		layout.RootFile(p+"apiserver-etcd-client.crt", r.PKI().APIServerEtcdClient.Cert),
		layout.SecretFile(p+"apiserver-etcd-client.key", r.PKI().APIServerEtcdClient.Key),
		layout.RootFile(p+"apiserver-kubelet-client.crt", r.PKI().APIServerKubeletClient.Cert),
		layout.SecretFile(p+"apiserver-kubelet-client.key", r.PKI().APIServerKubeletClient.Key),
		layout.RootFile(p+"front-proxy-client.crt", r.PKI().FrontProxyClient.Cert),
		layout.SecretFile(p+"front-proxy-client.key", r.PKI().FrontProxyClient.Key),
		layout.RootFile(p+"sa.pub", r.PKI().ServiceAccount.Public),
		layout.SecretFile(p+"sa.key", r.PKI().ServiceAccount.Private),
		layout.SecretFile(encryptionConf, r.PKI().EncryptionConfig),
		layout.RootFile(auditPolicy, assets.AuditPolicy()),
	}
}

func (r *Binary) apiserverService(n config.Node) (node.Service, error) {
	flags := r.apiserverFlags(n)
	u := systemd.Unit{Description: "Kubernetes API server", After: []string{"network-online.target", "etcd.service"},
		Wants: []string{"network-online.target"},
		Type:  "notify", StopTimeout: stopTimeout(flags), Program: r.ProgramPath(n, "kube-apiserver"), Flags: flags}
	return node.Service{Unit: "kube-apiserver.service", Binaries: r.Binaries(n, "kube-apiserver"),
		Files: append(r.apiserverFiles(n), layout.RootFile(layout.UnitDir+"kube-apiserver.service", u.Render()))}, nil
}

// override is Override for a component of the control plane, which may have to run as an older minor.
func (r *Binary) override(component string, flags map[string]string) map[string]string {
	out := r.Override(component, flags)
	if r.Emulate != "" {
		out["emulated-version"] = r.Emulate
	}
	return out
}

// How an API server stops. During the delay it still answers while Services and load balancers turn away from it. Then
// its watches get the grace to end: without it a server with watches, so every one, needs its whole request timeout to
// stop.
const (
	flagStopDelay      = "shutdown-delay-duration"
	flagWatchGrace     = "shutdown-watch-termination-grace-period"
	flagRequestTimeout = "request-timeout"
)

func (r *Binary) stopFlags() map[string]string {
	return map[string]string{flagStopDelay: "2s", flagWatchGrace: "5s",
		flagRequestTimeout: r.Cluster.APIServerTimeout.String()}
}

// StopDelay is how long an API server still serves when it was told to stop.
func (r *Binary) StopDelay() time.Duration {
	return duration(r.Override("kube-apiserver", r.stopFlags())[flagStopDelay])
}

// GracePeriod is what a static pod of an API server gets to stop: longer than it takes without requests of more than a
// minute.
func (r *Binary) GracePeriod() time.Duration {
	flags := r.Override("kube-apiserver", r.stopFlags())
	flags[flagRequestTimeout] = min(duration(flags[flagRequestTimeout]), time.Minute).String()
	return stopTimeout(flags)
}

// stopTimeout is longer than an API server with these flags takes to stop: the delay, and then its watches and the
// requests that it works on side by side.
func stopTimeout(flags map[string]string) time.Duration {
	const margin = 30 * time.Second
	return duration(flags[flagStopDelay]) + duration(flags[flagWatchGrace]) + duration(flags[flagRequestTimeout]) +
		margin
}

// duration of a flag that was checked when deploy.yaml was read.
func duration(s string) time.Duration {
	d, _ := time.ParseDuration(s)
	return max(d, 0)
}

func (r *Binary) controllerManagerFlags() map[string]string {
	// ca-signing.crt is ca.crt without a chain, for the one who signs takes a single certificate.
	p, c := pkiDir+"/", controllerManagerConf
	return r.override("kube-controller-manager", hardened(map[string]string{
		"kubeconfig": c, "authentication-kubeconfig": c, "authorization-kubeconfig": c, "bind-address": "127.0.0.1",
		"client-ca-file": p + "ca.crt", "root-ca-file": p + "ca.crt",
		"requestheader-client-ca-file": p + "front-proxy-ca.crt",
		"cluster-signing-cert-file":    p + "ca-signing.crt", "cluster-signing-key-file": p + "ca.key",
		"service-account-private-key-file": p + "sa.key", "use-service-account-credentials": "true",
		"allocate-node-cidrs": "true", "cluster-cidr": r.Cluster.PodCIDR.String(),
		"service-cluster-ip-range": r.Cluster.ServiceCIDR.String(),
		"cluster-name":             r.Cluster.Name, "controllers": "*,bootstrapsigner,tokencleaner",
		"leader-elect": "true",
	}))
}

func (r *Binary) controllerManagerFiles() ([]node.File, error) {
	conf, err := r.Kubeconfig(layout.LocalAPI, "system:kube-controller-manager", r.PKI().ControllerManager)
	p := pkiDir + "/"
	return []node.File{
		layout.RootFile(p+"ca.crt", r.PKI().CA.Cert), layout.RootFile(p+"ca-signing.crt", r.PKI().CA.Signing()),
		layout.SecretFile(p+"ca.key", r.PKI().CA.Key), layout.SecretFile(controllerManagerConf, conf),
	}, err
}

func (r *Binary) controllerManagerService(n config.Node) (node.Service, error) {
	u := systemd.Unit{Description: "Kubernetes controller manager", After: []string{"kube-apiserver.service"},
		Program: r.ProgramPath(n, "kube-controller-manager"), Flags: r.controllerManagerFlags()}
	files, err := r.controllerManagerFiles()
	return node.Service{Unit: "kube-controller-manager.service", Binaries: r.Binaries(n, "kube-controller-manager"),
		Files: append(files, layout.RootFile(layout.UnitDir+"kube-controller-manager.service", u.Render()))}, err
}

func (r *Binary) schedulerFlags() map[string]string {
	c := schedulerConf
	return r.override("kube-scheduler", hardened(map[string]string{
		"kubeconfig": c, "authentication-kubeconfig": c, "authorization-kubeconfig": c, "bind-address": "127.0.0.1",
		"leader-elect": "true",
	}))
}

func (r *Binary) schedulerFiles() ([]node.File, error) {
	conf, err := r.Kubeconfig(layout.LocalAPI, "system:kube-scheduler", r.PKI().Scheduler)
	return []node.File{layout.SecretFile(schedulerConf, conf)}, err
}

func (r *Binary) schedulerService(n config.Node) (node.Service, error) {
	u := systemd.Unit{Description: "Kubernetes scheduler", After: []string{"kube-apiserver.service"},
		Program: r.ProgramPath(n, "kube-scheduler"), Flags: r.schedulerFlags()}
	files, err := r.schedulerFiles()
	return node.Service{Unit: "kube-scheduler.service", Binaries: r.Binaries(n, "kube-scheduler"),
		Files: append(files, layout.RootFile(layout.UnitDir+"kube-scheduler.service", u.Render()))}, err
}

// document renders a component's configuration, keys sorted.
func document(v map[string]any) ([]byte, error) { return yaml.Marshal(v) }

// ProxyConfig is the configuration of kube-proxy with what is a driver's own in it, and the flags that it reads beside
// it. Without conntrack it leaves the kernel's table as it is.
func (r *Binary) ProxyConfig(conntrack bool, own map[string]any) (doc map[string]any, flags map[string]string) {
	doc = map[string]any{
		"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "iptables",
		"clusterCIDR":        r.Cluster.PodCIDR.String(),
		"healthzBindAddress": "0.0.0.0:10256", "metricsBindAddress": "127.0.0.1:10249",
	}
	maps.Copy(doc, own)
	if !conntrack {
		doc["conntrack"] = map[string]any{"maxPerCore": 0}
	}
	return doc, r.overrideProxy(doc)
}

func (r *Binary) proxyService(n config.Node) (node.Service, error) {
	conf, err := r.Kubeconfig("https://"+r.Cluster.Endpoint, "system:kube-proxy", r.PKI().KubeProxy)
	if err != nil {
		return node.Service{}, err
	}
	doc, flags := r.ProxyConfig(r.Fact(n.Name).Conntrack, map[string]any{"hostnameOverride": n.Name,
		"clientConnection": map[string]any{"kubeconfig": kubeDir + "/kube-proxy.conf"}})
	flags["config"] = proxyFile
	text, err := document(doc)
	if err != nil {
		return node.Service{}, err
	}
	u := systemd.Unit{Description: "Kubernetes proxy", After: []string{"network-online.target"},
		Wants: []string{"network-online.target"}, Program: r.ProgramPath(n, "kube-proxy"), Flags: flags}
	return node.Service{Unit: "kube-proxy.service", Binaries: r.Binaries(n, "kube-proxy"), Tables: true,
		Files: []node.File{
			layout.SecretFile(kubeDir+"/kube-proxy.conf", conf),
			layout.RootFile(proxyFile, text),
			layout.RootFile(layout.UnitDir+"kube-proxy.service", u.Render()),
		}}, nil
}

// cgroup1Field is the minor since which the kubelet's configuration has failCgroupV1.
const cgroup1Field = 31

func (r *Binary) kubeletService(n config.Node) (node.Service, error) { return r.kubelet(n, false) }

// AloneKubelet is the kubelet before there is an API server: it runs the static pods of the node and serves nobody.
func (r *Binary) AloneKubelet(n config.Node) (node.Service, error) { return r.kubelet(n, true) }

// insteadOf are drop-ins without a setting, which take the place of those of the same names wherever they lie: one that
// starts the kubelet in another way wins over our unit.
func insteadOf(names []string) []node.File {
	var out []node.File
	for _, name := range names {
		out = append(out, layout.RootFile(layout.UnitDir+"kubelet.service.d/"+name,
			[]byte(layout.WrittenByEggo+"# It takes the place of a drop-in of another installer.\n")))
	}
	return out
}

// kubeletFlags are those of a kubelet.
func (r *Binary) kubeletFlags(n config.Node) map[string]string {
	return r.Override("kubelet", map[string]string{"config": kubeletFile, "kubeconfig": kubeletConf,
		"bootstrap-kubeconfig": bootstrapConf, "hostname-override": n.Name, "node-ip": n.IP.String()})
}

func (r *Binary) kubelet(n config.Node, alone bool) (node.Service, error) {
	leaf := r.PKI().Nodes[n.Name]
	p := pkiDir + "/"
	doc := map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"authentication": map[string]any{
			"anonymous": map[string]any{"enabled": false}, "webhook": map[string]any{"enabled": true},
			"x509": map[string]any{"clientCAFile": p + "ca.crt"},
		},
		"authorization": map[string]any{"mode": "Webhook"},
		"clusterDNS":    []string{r.Cluster.DNSAddr.String()}, "clusterDomain": r.Cluster.DNSDomain,
		"cgroupDriver": "systemd", "containerRuntimeEndpoint": r.RuntimeEndpoint(), "rotateCertificates": true,
		"resolvConf": r.Fact(n.Name).Resolv, "healthzBindAddress": "127.0.0.1", "healthzPort": 10248,
		"seccompDefault": true, "podPidsLimit": podPids, "enableProfilingHandler": false,
		"tlsMinVersion": tlsMin, "tlsCipherSuites": cipherSuites(),
	}
	if n.Has(bundle.ControlPlane) && !n.Has(bundle.Worker) {
		doc["registerWithTaints"] = []map[string]any{{"key": layout.LabelControlPlane, "effect": "NoSchedule"}}
	}
	files := []node.File{layout.RootFile(p+"ca.crt", r.PKI().CA.Cert)}
	if r.Cluster.KubeletServing {
		doc["serverTLSBootstrap"] = true
	} else {
		doc["tlsCertFile"], doc["tlsPrivateKeyFile"] = p+"kubelet.crt", p+"kubelet.key"
		files = append(files, layout.RootFile(p+"kubelet.crt", leaf.Kubelet.Cert),
			layout.SecretFile(p+"kubelet.key", leaf.Kubelet.Key))
	}
	if r.Fact(n.Name).CgroupFS { // with another driver it would end the pods of the node
		doc["cgroupDriver"] = "cgroupfs"
	}
	if !r.Fact(n.Name).Cgroup2 && bundle.Minor(r.BundleOf(n).Manifest().Kubernetes) >= cgroup1Field {
		doc["failCgroupV1"] = false
	}
	if r.StaticPods != nil && r.StaticPods(n) != "" {
		doc["staticPodPath"] = r.StaticPods(n)
	}
	own := r.kubeletFlags(n)
	if alone { // nobody could say who may ask it
		doc["authentication"].(map[string]any)["webhook"] = map[string]any{"enabled": false}
		doc["authorization"] = map[string]any{"mode": "AlwaysAllow"}
		doc["enableServer"] = false
		delete(doc, "serverTLSBootstrap")
		delete(own, "kubeconfig")
		delete(own, "bootstrap-kubeconfig")
	}
	text, err := document(doc)
	if err != nil {
		return node.Service{}, err
	}
	u := systemd.Unit{Description: "Kubernetes kubelet", After: []string{"network-online.target", r.RuntimeUnit},
		Wants: []string{"network-online.target", r.RuntimeUnit}, Program: r.ProgramPath(n, "kubelet"),
		Flags: own}
	logins, err := r.Cluster.PullLogins()
	if err != nil {
		return node.Service{}, err
	}
	if logins != nil {
		files = append(files, layout.SecretFile(layout.PullLogins, logins))
	}
	files = append(files, layout.RootFile(kubeletFile, text),
		layout.RootFile(layout.UnitDir+"kubelet.service", u.Render()))
	if r.Imported(n.Name) {
		files = append(files, insteadOf(r.Fact(n.Name).KubeletDropIns)...)
	}
	return node.Service{Unit: "kubelet.service", Tables: true, Files: files, Places: []string{layout.PullLogins},
		Binaries: r.Binaries(n, append([]string{"kubelet"}, r.WithKubelet...)...)}, nil
}
