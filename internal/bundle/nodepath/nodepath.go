// Package nodepath says where on a node a file may be put whose place was named outside of this program: by a bundle's
// manifest, by deploy.yaml, by whatever comes later. There is one list of directories and one set of characters
// (docs/decisions/0021-one-list-of-paths.md). Paths that the program itself chooses are no business of this package,
// but it keeps them free of others. It imports nothing of the module.
package nodepath

import (
	"errors"
	"path"
	"slices"
	"strings"
)

// What a path on a node may have at most, in bytes and in elements.
const (
	MaxLength = 512
	MaxDepth  = 32
)

// Use is what is put at a place.
type Use int

// The uses. A Program, a File and the files of a Tree come from a bundle, whose manifest names the place. A Listed is
// one of them whose place the operator's deploy.yaml names: it may be a unit. Spool is a directory in which the
// bundle's packages lie until they are installed.
const (
	Program Use = 1 << iota
	File
	Tree
	Listed
	Spool
)

// allowed is a directory of the list and what may be put in it or below.
type allowed struct {
	dir  string
	uses Use
	unit bool // only units, only in the directory itself
}

// list is the manual's, and the two directories that the program of the manual allowed besides.
func list() []allowed {
	const placed = Program | File | Tree | Listed
	return []allowed{
		{dir: "/usr/bin", uses: placed | Spool},
		{dir: "/usr/local/bin", uses: placed | Spool},
		{dir: "/opt/cni/bin", uses: placed | Spool},
		{dir: "/usr/libexec/cni", uses: placed | Spool},
		{dir: "/etc/kubernetes", uses: placed | Spool},
		{dir: "/usr/lib/systemd/system", uses: Listed, unit: true},
		{dir: "/etc/systemd/system", uses: Listed, unit: true},
		{dir: "/tmp", uses: placed | Spool},
		{dir: "/etc/cni/net.d", uses: File | Tree | Listed | Spool},
		{dir: "/root/.eggo", uses: placed | Spool},
	}
}

// Dirs are the directories of the list for a use.
func Dirs(use Use) []string {
	var out []string
	for _, a := range list() {
		if a.uses&use != 0 {
			out = append(out, a.dir)
		}
	}
	return out
}

// The reasons why a path is refused; Why gives them as a word that messages are keyed by.
var (
	errCharacters = errors.New("characters")
	errNotListed  = errors.New("not-listed")
	errUnit       = errors.New("unit")
	errOurs       = errors.New("ours")
)

// Clean says whether p is an absolute, clean path (a slash at the end is forgiven) within the bounds, of characters
// that mean nothing to a shell, to systemd or to a terminal: no white space, no quote, no percent or dollar sign,
// nothing beyond ASCII.
func Clean(p string) bool {
	if len(p) > MaxLength || !strings.HasPrefix(p, "/") || !characters(p, "") || strings.Count(p, "/") > MaxDepth {
		return false
	}
	return p == "/" || path.Clean(p) == strings.TrimSuffix(p, "/")
}

// Package says whether name is a file name that a package may have: a version has ~ and ^ too, and a name in a
// repository may be escaped with %. It lies in a directory of our own, so nothing but its characters has to be checked.
func Package(name string) bool {
	return name != "" && len(name) <= 255 && characters(name, "~^%") && !strings.HasPrefix(name, ".") &&
		!strings.HasPrefix(name, "-")
}

// characters says whether s has letters and digits of ASCII, ._/+@=- and those of more, and no others.
func characters(s, more string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte("._/+@=-", c) < 0 && strings.IndexByte(more, c) < 0 {
			return false
		}
	}
	return true
}

// Dir says whether files of the use may be put into the directory, one of the list or below it. Links on the node are
// the node's to resolve before it is asked again.
func Dir(use Use, dir string) bool { return in(use, dir) != nil }

func in(use Use, dir string) *allowed {
	if !Clean(dir) {
		return nil
	}
	dir = path.Clean(dir)
	for _, a := range list() {
		if a.uses&use != 0 && (dir == a.dir || !a.unit && strings.HasPrefix(dir, a.dir+"/")) {
			return &a
		}
	}
	return nil
}

// Check says why a file may not be put at a place; nil when it may. Why words the error.
func Check(use Use, file string) error {
	if !Clean(file) || strings.HasSuffix(file, "/") {
		return errCharacters
	}
	for element := range strings.SplitSeq(file[1:], "/") {
		if strings.HasPrefix(element, "-") || len(element) > 255 {
			return errCharacters
		}
	}
	at := in(use, path.Dir(file))
	switch {
	case at == nil && InUnits(file):
		return errUnit
	case at == nil:
		return errNotListed
	case ours(file):
		return errOurs
	case at.unit && !isUnit(path.Base(file)):
		return errUnit
	}
	return nil
}

// Why is the word for the reason that Check gives: characters, not-listed, unit, ours.
func Why(err error) string { return err.Error() }

// InUnits says whether the path lies below a directory of units.
func InUnits(file string) bool {
	return slices.ContainsFunc(list(), func(a allowed) bool { return a.unit && strings.HasPrefix(file, a.dir+"/") })
}

// isUnit says whether the name is that of a unit which stands for itself: no instance of a template, nothing that is
// below another unit.
func isUnit(name string) bool {
	kind := path.Ext(name)
	return len(name) > len(kind) && !strings.ContainsAny(name, "@=") &&
		slices.Contains([]string{".service", ".socket", ".timer", ".path", ".target"}, kind)
}

// ours says whether this program writes, or a component of its reads, what is at the path: certificates, kubeconfigs,
// configuration and units. A file from outside there would be taken for its own. A test of internal/phases holds this
// against what is written.
func ours(file string) bool {
	dir, name := path.Split(file)
	switch {
	case strings.HasPrefix(file, "/etc/kubernetes/pki/"), strings.HasPrefix(file, "/etc/kubernetes/manifests/"):
		return true
	case dir == "/etc/kubernetes/":
		return slices.Contains(kubernetesFiles(), name)
	case dir == "/etc/systemd/system/" || dir == "/usr/lib/systemd/system/":
		base, _, _ := strings.Cut(name, ".")
		return strings.HasPrefix(name, "eggo-") || slices.Contains(components(), base)
	}
	return false
}

// kubernetesFiles are those of /etc/kubernetes itself.
func kubernetesFiles() []string {
	return []string{
		"pki", "manifests", "admin.conf", "controller-manager.conf", "scheduler.conf", "kubelet.conf",
		"bootstrap-kubelet.conf", "kube-proxy.conf",
		"kubelet.yaml", "kube-proxy.yaml", "encryption-config.yaml", "audit-policy.yaml",
	}
}

// components have units of ours, or of a package with drop-ins of ours.
func components() []string {
	return []string{
		"kubelet", "kube-proxy", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd", "coredns",
		"nginx", "containerd", "docker",
		"cri-docker", "cri-dockerd", "isulad",
	}
}
