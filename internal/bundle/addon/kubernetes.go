package addon

import (
	"regexp"
	"strconv"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// KubernetesImage is an image that a version of Kubernetes needs.
type KubernetesImage struct {
	Name string
	// only a control plane that kubeadm makes of pods needs it; without, its parts are programs on the node
	Kubeadm bool
}

// listed is what kubeadm lists from a patch release of a minor version on.
type listed struct {
	minor, patch         int
	etcd, coredns, pause string
}

// releases are PauseVersion, CoreDNSVersion and DefaultEtcdVersion of cmd/kubeadm/app/constants/constants.go at the
// tags of https://github.com/kubernetes/kubernetes named beside; each change between two releases of a minor version
// was looked up at both.
func releases() []listed {
	return []listed{
		{30, 0, "3.5.12-0", "v1.11.1", "3.9"},
		{30, 5, "3.5.15-0", "v1.11.3", "3.9"},
		{31, 0, "3.5.15-0", "v1.11.1", "3.10"},
		{31, 1, "3.5.15-0", "v1.11.3", "3.10"},
		{31, 14, "3.5.24-0", "v1.11.3", "3.10"},
		{32, 0, "3.5.16-0", "v1.11.3", "3.10"},
		{32, 10, "3.5.24-0", "v1.11.3", "3.10"},
		{33, 0, "3.5.21-0", "v1.12.0", "3.10"},
		{33, 6, "3.5.24-0", "v1.12.0", "3.10"},
		{34, 0, "3.6.4-0", "v1.12.1", "3.10.1"},
		{34, 2, "3.6.5-0", "v1.12.1", "3.10.1"},
		{35, 0, "3.6.6-0", "v1.13.1", "3.10.1"},
		{36, 0, "3.6.8-0", "v1.14.2", "3.10.2"},
	}
}

// checked is the last patch release of each minor version that the table was compared with.
func checked(minor int) (patch int, ok bool) {
	patch, ok = map[int]int{30: 14, 31: 14, 32: 13, 33: 13, 34: 4, 35: 4, 36: 3}[minor]
	return patch, ok
}

var versionRE = regexp.MustCompile(`\Av?1\.([0-9]{1,3})\.([0-9]{1,3})\z`)

// KubernetesImages are the images that "kubeadm config images list" names for a version such as v1.34.2, in its order.
// A minor version that this program does not know is a fault; a patch release newer than those it was compared with
// gets the newest list, and a note.
func KubernetesImages(version string) ([]KubernetesImage, []event.Msg, error) {
	m := versionRE.FindStringSubmatch(version)
	if m == nil {
		return nil, nil, fault("addon.kubernetes-version", nil, "version", version)
	}
	minor, _ := strconv.Atoi(m[1])
	patch, _ := strconv.Atoi(m[2])
	var r listed
	list := releases()
	for _, x := range list {
		if x.minor == minor && x.patch <= patch {
			r = x
		}
	}
	last, known := checked(minor)
	if !known {
		first, newest := list[0].minor, list[len(list)-1].minor
		return nil, nil, fault("addon.kubernetes-unknown", nil, "version", version, "from", "v1."+strconv.Itoa(first),
			"to", "v1."+strconv.Itoa(newest))
	}
	var notes []event.Msg
	if patch > last {
		notes = append(notes, event.M("addon.note.kubernetes-patch", "version", version, "known",
			"v1."+m[1]+"."+strconv.Itoa(last)))
	}
	const registry = "registry.k8s.io/"
	tag := ":v1." + m[1] + "." + m[2]
	return []KubernetesImage{
		{registry + "kube-apiserver" + tag, true},
		{registry + "kube-controller-manager" + tag, true},
		{registry + "kube-scheduler" + tag, true},
		{registry + "kube-proxy" + tag, true},
		{registry + "coredns/coredns:" + r.coredns, false},
		{registry + "pause:" + r.pause, false},
		{registry + "etcd:" + r.etcd, true},
	}, notes, nil
}
