package takeover

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// podParts are the parts of a static pod that kubeadm writes, by their paths, with their values; none: whatever it is,
// it is looked at elsewhere, follows from the version, or is the node's. A path that ends with a dot is all beneath it.
func podParts(component string) map[string][]string {
	out := map[string][]string{"apiVersion": nil, "kind": nil, "status": nil, "metadata.name": nil,
		"metadata.namespace": nil, "metadata.creationTimestamp": nil, "metadata.uid": nil,
		"metadata.labels.component": nil,
		"metadata.labels.tier":      nil, "metadata.annotations.kubeadm.kubernetes.io/": nil, "spec.containers": nil,
		"spec.hostNetwork": {"true"}, "spec.priority": nil, "spec.priorityClassName": nil, "spec.volumes": nil,
		"spec.securityContext.seccompProfile.type": {"RuntimeDefault"},
		"container.command":                        nil, "container.args": nil, "container.env": nil, "container.image": nil,
		"container.name": nil, "container.ports": nil, "container.volumeMounts": nil,
		"container.imagePullPolicy":        {"IfNotPresent"},
		"container.resources.requests.cpu": {"100m"}}
	for name, failures := range map[string]string{"liveness": "8", "readiness": "3", "startup": ""} {
		probe := "container." + name + "Probe."
		out[probe+"httpGet."] = nil
		out[probe+"failureThreshold"] = []string{failures}
		if failures == "" { // from a timeout of kubeadm
			out[probe+"failureThreshold"] = nil
		}
		out[probe+"initialDelaySeconds"] = []string{"10"}
		out[probe+"periodSeconds"] = []string{"10"}
		out[probe+"timeoutSeconds"] = []string{"15"}
	}
	out["container.readinessProbe.periodSeconds"] = []string{"1"}
	switch component {
	case apiServer:
		out["container.resources.requests.cpu"] = []string{"250m"}
	case controller:
		out["container.resources.requests.cpu"] = []string{"200m"}
	case etcd:
		out["container.resources.requests.memory"] = []string{"100Mi"}
	}
	return out
}

// parts refuses what a static pod has beside what kubeadm writes: Eggo would make the pod without it.
func (t *taking) parts(node, component string, manifest []byte) {
	var pod map[string]any
	if yaml.Unmarshal(manifest, &pod) != nil {
		return // found already
	}
	all := leaves("", pod)
	if spec, is := pod["spec"].(map[string]any); is {
		list, _ := spec["containers"].([]any)
		for _, c := range list {
			if c, is := c.(map[string]any); is {
				all = append(all, leaves("container", c)...)
			}
		}
	}
	known := podParts(component)
	var others []string
	for _, f := range all {
		if f.null || f.value == "map[]" || usualPart(known, f) {
			continue
		}
		name := strings.Replace(f.path, "container.", "spec.containers[0].", 1)
		if f.deep {
			f.value = "…"
		}
		others = append(others, event.Clean(fmt.Sprintf("%s=%s", name, f.value)))
	}
	if len(others) > 0 {
		t.refuse(node, "import.pod", "component", component, "parts", strings.Join(others, ", "))
	}
}

// usualPart says whether kubeadm writes such a part.
func usualPart(known map[string][]string, f field) bool {
	for path, values := range known {
		beneath := strings.HasSuffix(path, ".") || strings.HasSuffix(path, "/")
		same := f.path == path && (values == nil || slices.Contains(values, f.value))
		if same || beneath && strings.HasPrefix(f.path, path) {
			return true
		}
	}
	return false
}
