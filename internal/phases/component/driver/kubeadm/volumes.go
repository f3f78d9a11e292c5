package kubeadm

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
)

// volume is a place of the node that a static pod sees at the same path.
type volume struct {
	Name      string `json:"name"`
	HostPath  string `json:"hostPath"`
	MountPath string `json:"mountPath"`
	ReadOnly  bool   `json:"readOnly,omitempty"`
	PathType  string `json:"pathType"`
}

// mounted says whether kubeadm mounts a place by itself, whatever is on the node: of two volumes at one path the
// kubelet takes none of the pod. The scheduler gets its kubeconfig and nothing else. What it mounts of other
// directories of certificates, as /etc/pki/tls/certs, depends on its version and the node; a file in one of them may be
// mounted over itself.
func mounted(c driver.Component, at string, flags map[string]string) bool {
	in := func(dirs ...string) bool {
		return slices.ContainsFunc(dirs, func(d string) bool { return at == d || strings.HasPrefix(at, d+"/") })
	}
	switch c {
	case driver.Etcd:
		return in(pkiDir+"/etcd") || at == path.Clean(flags["data-dir"])
	case driver.APIServer:
		return in(pkiDir, "/etc/ssl/certs")
	case driver.ControllerManager:
		return in(pkiDir, "/etc/ssl/certs") || at == kubeDir+"/controller-manager.conf" ||
			at == path.Clean(flags["flex-volume-plugin-dir"])
	}
	return at == kubeDir+"/scheduler.conf"
}

// volumes are the places that the flags name and kubeadm does not mount by itself: files that are read, and the
// directories that are written to.
func (r *Kubeadm) volumes(c driver.Component, n config.Node, flags map[string]string) ([]volume, error) {
	files, err := r.services.Files(c, n)
	if err != nil {
		return nil, err
	}
	var places []config.FlagPath
	for _, f := range files {
		places = append(places, config.FlagPath{Path: f.Path})
	}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		places = append(places, config.FlagPaths(string(c), name, flags[name])...)
	}
	there, names := map[string]bool{}, map[string]int{}
	var out []volume
	for _, p := range places {
		if there[p.Path] || mounted(c, p.Path, flags) {
			continue
		}
		there[p.Path] = true
		v := volume{Name: plainName(p.Path), HostPath: p.Path, MountPath: p.Path, ReadOnly: !p.Dir, PathType: "File"}
		if p.Dir {
			v.PathType = "DirectoryOrCreate"
		}
		names[v.Name]++
		out = append(out, v)
	}
	for i, v := range out {
		if names[v.Name] > 1 || !label.MatchString(v.Name) {
			out[i].Name = hashedName(v.HostPath)
		}
	}
	return out, nil
}

// label is what the name of a volume must be.
var label = regexp.MustCompile(`\A[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\z`)

// plainName is the name of a volume by which pods that run know it: another one would start them again.
func plainName(at string) string {
	return "eggo-" + strings.NewReplacer(".", "-", "_", "-").Replace(strings.ToLower(path.Base(at)))
}

// hashedName is the name of a volume whose plain one is no label, or that of another volume too.
func hashedName(at string) string {
	words := strings.FieldsFunc(strings.ToLower(path.Base(at)), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	sum := sha256.Sum256([]byte(at))
	name := strings.Join(append([]string{"eggo"}, words...), "-")
	return strings.TrimRight(name[:min(len(name), 40)], "-") + "-" + hex.EncodeToString(sum[:8])
}
