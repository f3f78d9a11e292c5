package takeover

import (
	_ "embed"
	"path"
	"slices"
	"strings"
)

// KubeletUnit runs the kubelet of every node that kubeadm has made.
const KubeletUnit = "kubelet.service"

// KubeletScript prints what a kubelet that others have set up is started with, for KubeletFlags; nothing when the file
// APPLIED, a variable ahead of it, is there: then the kubelet is ours.
func KubeletScript() string { return heededLib + kubeletScript }

//go:embed kubeletflags.sh
var kubeletScript string

// KubeletVars are the variables that a kubelet would run without, in what the node printed.
func KubeletVars(out string) []string {
	var all []string
	for line := range strings.Lines(out) {
		if name, is := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "var "); is {
			all = append(all, name)
		}
	}
	return all
}

// KubeletFlag is one as a kubelet is started with it.
type KubeletFlag struct{ Name, Value string }

func (f KubeletFlag) String() string { return "--" + f.Name + "=" + f.Value }

// KubeletFlags are those in what the node printed, each once, in its order.
func KubeletFlags(out string) []KubeletFlag {
	var all []KubeletFlag
	var args []string
	for line := range strings.Lines(out) {
		kind, text, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		switch kind {
		case "env":
			name, value, _ := strings.Cut(strings.TrimSpace(text), "=")
			if name == "KUBELET_EXTRA_ARGS" || name == "KUBELET_KUBEADM_ARGS" {
				all = append(all, flagsOf(strings.Fields(unquoted(value)))...)
			}
		case "arg":
			args = append(args, text)
		}
	}
	if len(args) > 0 {
		all = append(all, flagsOf(args[1:])...)
	}
	var once []KubeletFlag
	for _, f := range all {
		if !slices.Contains(once, f) {
			once = append(once, f)
		}
	}
	return once
}

// unquoted is the value of a variable as systemd reads it: without the quotes around words.
func unquoted(value string) string {
	return strings.NewReplacer(`"`, "", "'", "", `\`, "").Replace(value)
}

// flagsOf are the flags among words: --name=value, --name value, or --name alone.
func flagsOf(words []string) []KubeletFlag {
	var out []KubeletFlag
	for i, w := range words {
		switch {
		case isFlag(w):
			name, value, has := strings.Cut(strings.TrimLeft(w, "-"), "=")
			if !has && (i+1 == len(words) || isFlag(words[i+1])) {
				value = "true"
			}
			out = append(out, KubeletFlag{name, value})
		case len(out) > 0 && out[len(out)-1].Value == "":
			out[len(out)-1].Value = w
		}
	}
	return out
}

// isFlag says whether a word names a flag. No flag's name begins with a digit: -1 is a value.
func isFlag(word string) bool {
	rest, ok := strings.CutPrefix(word, "-")
	return ok && (rest == "" || rest[0] < '0' || rest[0] > '9')
}

// KubeletOf is what Eggo sets for the kubelet of a node.
type KubeletOf struct{ Node, IP, Resolv, DNS, Domain string }

// Keeps says whether a kubelet of ours needs no such flag: kubeadm writes it, or Eggo sets the same. Labels and taints
// are for a node that registers: its Node has them.
func (k KubeletOf) Keeps(flag KubeletFlag) bool {
	const socket = "/run/containerd/containerd.sock"
	usual, is := map[string][]string{
		"config": nil, "kubeconfig": nil, "bootstrap-kubeconfig": nil, "cert-dir": {"/var/lib/kubelet/pki"},
		"pod-infra-container-image": nil, "node-labels": nil, "register-with-taints": nil,
		"container-runtime-endpoint": {socket, path.Join("/var", socket)}, "container-runtime": {"remote"},
		"image-service-endpoint": {socket, path.Join("/var", socket)},
		"cgroup-driver":          {"systemd"}, "hostname-override": {k.Node}, "node-ip": {k.IP},
		"resolv-conf": {k.Resolv}, "cluster-dns": {k.DNS}, "cluster-domain": {k.Domain},
		"pod-manifest-path": {"/etc/kubernetes/manifests"}, "client-ca-file": {"/etc/kubernetes/pki/ca.crt"},
		"anonymous-auth": {"false"}, "authorization-mode": {"Webhook"}, "authentication-token-webhook": {"true"},
		"rotate-certificates": {"true"}, "read-only-port": {"0"},
	}[flag.Name]
	return is && (len(usual) == 0 || slices.Contains(usual, strings.TrimPrefix(flag.Value, "unix://")))
}
