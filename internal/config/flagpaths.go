package config

import (
	"path"
	"slices"
	"strings"
)

// FlagPath is a path on a machine that a flag of a component names: a file that it reads, or a directory that it
// writes to.
type FlagPath struct {
	Path string
	Dir  bool
}

// filesOfAll are the flags by which all components of the control plane but etcd are given a file to read.
const filesOfAll = " client-ca-file requestheader-client-ca-file tls-cert-file tls-private-key-file "

// flagFiles are the flags by which a component is given a file to read. A flag that is not among them is not of a file,
// whatever its value looks like: --etcd-prefix=/registry.
var flagFiles = map[string]string{
	"kube-apiserver": filesOfAll + "admission-control-config-file audit-policy-file audit-webhook-config-file " +
		"authentication-config authentication-token-webhook-config-file authorization-config " +
		"authorization-policy-file authorization-webhook-config-file cloud-config egress-selector-config-file " +
		"encryption-provider-config etcd-cafile etcd-certfile etcd-keyfile kubelet-certificate-authority " +
		"kubelet-client-certificate kubelet-client-key oidc-ca-file peer-ca-file proxy-client-cert-file " +
		"proxy-client-key-file service-account-key-file service-account-signing-key-file token-auth-file " +
		"tracing-config-file ",
	"kube-controller-manager": filesOfAll + "authentication-kubeconfig authorization-kubeconfig cloud-config " +
		"cluster-signing-cert-file cluster-signing-key-file cluster-signing-kube-apiserver-client-cert-file " +
		"cluster-signing-kube-apiserver-client-key-file cluster-signing-kubelet-client-cert-file " +
		"cluster-signing-kubelet-client-key-file cluster-signing-kubelet-serving-cert-file " +
		"cluster-signing-kubelet-serving-key-file cluster-signing-legacy-unknown-cert-file " +
		"cluster-signing-legacy-unknown-key-file kubeconfig leader-migration-config " +
		"pv-recycler-pod-template-filepath-hostpath pv-recycler-pod-template-filepath-nfs root-ca-file " +
		"service-account-private-key-file ",
	"kube-scheduler": filesOfAll + "authentication-kubeconfig authorization-kubeconfig config kubeconfig ",
	"etcd": " cert-file client-cert-file client-crl-file client-key-file discovery-cacert discovery-cert " +
		"discovery-key key-file peer-cert-file peer-client-cert-file peer-client-key-file peer-crl-file " +
		"peer-key-file peer-trusted-ca-file trusted-ca-file ",
}

// FlagPaths are the places that a flag of a component of the control plane names.
func FlagPaths(component, flag, value string) []FlagPath {
	files, is := flagFiles[component]
	if !is {
		return nil
	}
	var out []FlagPath
	add := func(at string, dir bool) {
		if at = path.Clean(strings.TrimSpace(at)); path.IsAbs(at) && at != "/" {
			out = append(out, FlagPath{Path: at, Dir: dir})
		}
	}
	switch {
	case strings.Contains(files, " "+flag+" "):
		add(value, false)
	case component == "etcd" && flag == "log-outputs": // stderr, or files
		for one := range strings.SplitSeq(value, ",") {
			add(path.Dir(strings.TrimSpace(one)), true)
		}
	case component == "etcd" && slices.Contains([]string{"data-dir", "wal-dir"}, flag):
		add(value, true)
	case component == "etcd":
	case flag == "cert-dir" || component == "kube-controller-manager" && flag == "flex-volume-plugin-dir":
		add(value, true)
	case component == "kube-apiserver" && (flag == "audit-log-path" || flag == "debug-socket-path"):
		add(path.Dir(value), true)
	case flag == "tls-sni-cert-key": // certificate,key[:names], several of them with a semicolon between
		for pair := range strings.SplitSeq(value, ";") {
			pair, _, _ = strings.Cut(pair, ":")
			for one := range strings.SplitSeq(pair, ",") {
				add(one, false)
			}
		}
	}
	return out
}
