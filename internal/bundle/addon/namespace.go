package addon

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Helm's client puts objects without a namespace into the release's; whoever applies a rendered manifest puts them into
// "default". So the namespace is written into them here.

// clusterWide says whether one of Kubernetes' own kinds is in no namespace, as "kubectl api-resources
// --namespaced=false" lists them.
func clusterWide(kind string) bool {
	switch kind {
	case "Namespace", "Node", "PersistentVolume", "ComponentStatus", "ClusterRole", "ClusterRoleBinding",
		"CustomResourceDefinition", "APIService",
		"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy",
		"ValidatingAdmissionPolicyBinding",
		"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "PriorityClass", "StorageClass", "CSIDriver",
		"CSINode", "VolumeAttachment",
		"VolumeAttributesClass", "IngressClass", "IPAddress", "ServiceCIDR", "RuntimeClass", "FlowSchema",
		"PriorityLevelConfiguration",
		"CertificateSigningRequest", "ClusterTrustBundle", "DeviceClass", "ResourceSlice", "DeviceTaintRule",
		"StorageVersionMigration",
		"PodSecurityPolicy":
		return true
	}
	return false
}

// builtin says whether a group is served by Kubernetes itself.
func builtin(group string) bool {
	switch group {
	case "", "apps", "batch", "autoscaling", "policy", "extensions", "networking.k8s.io", "rbac.authorization.k8s.io",
		"storage.k8s.io",
		"scheduling.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io",
		"coordination.k8s.io",
		"discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io", "node.k8s.io", "certificates.k8s.io",
		"resource.k8s.io",
		"storagemigration.k8s.io":
		return true
	}
	return false
}

// scopes knows which kinds are in a namespace: custom ones from the definitions in the same chart.
type scopes struct {
	walker
	custom  map[string]bool // group/kind → in a namespace
	unknown []string        // objects without a namespace whose kind nobody defined
}

func group(apiVersion string) string {
	g, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return ""
	}
	return g
}

// learn takes the scope of a definition.
func (s *scopes) learn(doc *yaml.Node) error {
	fields, err := s.fields(doc, 0)
	if err != nil || text(fields, "kind") != "CustomResourceDefinition" || get(fields, "spec") == nil {
		return err
	}
	spec, err := s.fields(get(fields, "spec"), 1)
	if err != nil || get(spec, "names") == nil {
		return err
	}
	names, err := s.fields(get(spec, "names"), 2)
	if err == nil {
		s.custom[text(spec, "group")+"/"+text(names, "kind")] = text(spec, "scope") != "Cluster"
	}
	return err
}

// insertion is a line to be put before another.
type insertion struct {
	line, column int
}

// fill writes a namespace into the objects of a document that need one and have none; nothing else of the text changes.
func (s *scopes) fill(doc string, roots []*yaml.Node, namespace string) (string, error) {
	var places []insertion
	for _, r := range roots {
		if r == nil {
			continue
		}
		if err := s.find(r, &places, 0); err != nil {
			return "", err
		}
	}
	if len(places) == 0 {
		return doc, nil
	}
	slices.SortFunc(places, func(a, b insertion) int { return a.line - b.line })
	lines := strings.SplitAfter(doc, "\n")
	var b strings.Builder
	for i, l := range lines {
		for len(places) > 0 && places[0].line == i+1 {
			b.WriteString(strings.Repeat(" ", places[0].column-1) + "namespace: " + namespace + "\n")
			places = places[1:]
		}
		b.WriteString(l)
	}
	return b.String(), nil
}

// find looks for objects that need the line.
func (s *scopes) find(n *yaml.Node, places *[]insertion, depth int) error {
	fields, err := s.fields(n, depth)
	if err != nil {
		return err
	}
	kind, apiVersion := text(fields, "kind"), text(fields, "apiVersion")
	if items := get(fields, "items"); items != nil && items.Kind == yaml.SequenceNode &&
		strings.HasSuffix(kind, "List") {
		for _, c := range items.Content {
			if err := s.find(target(c), places, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	meta := get(fields, "metadata")
	if kind == "" || meta == nil || meta.Kind != yaml.MappingNode {
		return nil
	}
	m, err := s.fields(meta, depth+1)
	if err != nil || text(m, "namespace") != "" {
		return err
	}
	namespaced, defined := s.custom[group(apiVersion)+"/"+kind]
	switch {
	case builtin(group(apiVersion)) && clusterWide(kind), defined && !namespaced:
	case !builtin(group(apiVersion)) && !defined, meta.Style&yaml.FlowStyle != 0, len(meta.Content) == 0,
		get(m, "namespace") != nil:
		s.unknown = append(s.unknown, kind+" "+text(m, "name"))
	default:
		*places = append(*places, insertion{meta.Content[0].Line, meta.Content[0].Column})
	}
	return nil
}

// given says whether a new cluster has the namespace.
func given(namespace string) bool {
	switch namespace {
	case "default", "kube-system", "kube-public", "kube-node-lease":
		return true
	}
	return false
}

// isNamespace says whether a document is the namespace of that name.
func isNamespace(doc *yaml.Node, name string) (bool, error) {
	w := &walker{}
	fields, err := w.fields(doc, 0)
	if err != nil || text(fields, "kind") != "Namespace" || get(fields, "metadata") == nil {
		return false, err
	}
	meta, err := w.fields(get(fields, "metadata"), 1)
	return err == nil && text(meta, "name") == name, err
}
