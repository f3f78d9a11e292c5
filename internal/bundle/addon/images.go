package addon

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle/kubeapi"
)

// Found is an image that a manifest names.
type Found struct {
	Name   string // as written; of one that is split into fields, put together
	Ref    string // as containerd looks it up: docker.io/library/busybox:latest, or with @ and the digest alone
	Doc    int    // number of the document in the stream, from 1
	Kind   string
	Object string // namespace/name of the object, or its name
	Path   string // spec.template.spec.containers[0].image
	Line   int    // from 1
	Guess  bool   // it looks like an image's name where the API promises none
	Hint   string // the hint that confirmed it, "" for none
}

// containerLists are the fields of a PodSpec that hold containers.
func containerLists(key string) bool {
	return key == "containers" || key == "initContainers" || key == "ephemeralContainers"
}

// workload says whether the kind is one of Kubernetes' own that run pods.
func workload(kind, apiVersion string) bool {
	switch kind {
	case "Pod", "PodTemplate", "ReplicationController":
		return apiVersion == "v1"
	case "Deployment", "DaemonSet", "StatefulSet", "ReplicaSet":
		return strings.HasPrefix(apiVersion, "apps/")
	case "Job", "CronJob":
		return strings.HasPrefix(apiVersion, "batch/")
	}
	return false
}

// custom says whether a group is none of Kubernetes' own: those have no dot or end in k8s.io.
func custom(apiVersion string) bool {
	group, _, ok := strings.Cut(apiVersion, "/")
	return ok && strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io")
}

// kustomization reports whether a document configures kustomize, which no API server knows; apiVersion and kind may be
// missing in it. The Kustomization of Flux is an object like any other.
func kustomization(apiVersion, kind string, fields []field) bool {
	if strings.HasPrefix(apiVersion, "kustomize.config.k8s.io/") {
		return true
	}
	return apiVersion == "" && (kind == "" || kind == "Kustomization") &&
		slices.ContainsFunc(fields, func(f field) bool {
			return f.value.Kind == yaml.SequenceNode && slices.Contains([]string{"resources", "patches", "components",
				"patchesStrategicMerge", "configMapGenerator", "secretGenerator", "generators"}, f.key)
		})
}

// scan walks the documents of one manifest.
type scan struct {
	walker
	name  string
	data  []byte
	hints []Hint
	paths [][]step       // of the hints
	index map[string]int // where a place's image stands in Images
	*Content

	doc                      int
	kind, apiVersion, object string
	offset                   int  // lines before a text that stands in a document
	inner                    bool // in such a text
	certain                  bool // which a hint confirmed
	hint                     string
}

// Content holds what was found in a manifest.
type Content struct {
	Images  []Found
	Pulls   []Pull
	Kept    []string         // images, as containerd looks them up, that containers take from the node if it has them
	Objects []kubeapi.Object // but for lists
	Defined map[string]bool  // kinds that it defines: group/kind → in a namespace
}

// Read reads a manifest of that name (for messages), document by document: YAML of one or several, JSON, lists in
// lists. Images are those of containers, init and ephemeral containers and image volumes wherever a pod's template
// stands, and what hints point at. Guesses are marked: names in arguments and the environment, in fields of custom
// resources, in annotations, and in the texts of ConfigMaps. It fails when the text is no YAML or too much of it, has a
// key twice or a template that was not rendered, when a document is no object, when an image's name is none, or a hint
// is wrong.
func Read(name string, data []byte, hints ...Hint) (*Content, error) {
	s := &scan{name: name, data: data, hints: hints, index: map[string]int{},
		Content: &Content{Defined: map[string]bool{}}}
	for _, h := range hints {
		steps, err := h.steps()
		if err != nil {
			return nil, err
		}
		s.paths = append(s.paths, steps)
	}
	docs, err := documents(data)
	if err != nil {
		return nil, explain(name, data, err)
	}
	for i, d := range docs {
		s.doc = i + 1
		if d == nil {
			continue
		}
		if err := s.objects(d, 0); err != nil {
			return nil, explain(name, data, err)
		}
	}
	return s.Content, nil
}

// Images are the images that a manifest names.
func Images(name string, data []byte, hints ...Hint) ([]Found, error) {
	c, err := Read(name, data, hints...)
	if err != nil {
		return nil, err
	}
	return c.Images, nil
}

// objects walks an object, or the items of a list of objects.
func (s *scan) objects(n *yaml.Node, depth int) error {
	fields, err := s.fields(n, depth)
	if err != nil {
		return err
	}
	s.kind, s.apiVersion = text(fields, "kind"), text(fields, "apiVersion")
	if kustomization(s.apiVersion, s.kind, fields) {
		return fault("addon.kustomization", nil, "file", s.name)
	}
	if s.kind == "" || s.apiVersion == "" {
		return fault("addon.not-object", nil, "addon", s.name, "line", strconv.Itoa(n.Line))
	}
	if strings.Contains(s.kind+s.apiVersion, "{{") {
		return s.template(n.Line)
	}
	if items := get(fields, "items"); items != nil && items.Kind == yaml.SequenceNode &&
		strings.HasSuffix(s.kind, "List") {
		for _, c := range items.Content {
			if err := s.objects(target(c), depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	meta := get(fields, "metadata")
	s.object = ""
	if meta != nil {
		m, err := s.fields(meta, depth+1)
		if err != nil {
			return err
		}
		if s.object = text(m, "name"); text(m, "namespace") != "" {
			s.object = text(m, "namespace") + "/" + s.object
		}
	}
	defines, namespaced, err := s.defines(fields)
	if err != nil {
		return err
	}
	if defines != "" {
		s.Defined[defines] = namespaced
	}
	s.Objects = append(s.Objects, kubeapi.Object{APIVersion: s.apiVersion, Kind: s.kind, Name: s.object,
		Defines: defines})
	if s.kind == "CustomResourceDefinition" {
		return nil // a schema describes images, it names none
	}
	if err := s.hinted(n); err != nil {
		return err
	}
	if s.apiVersion == "v1" && (s.kind == "ConfigMap" || s.kind == "Secret") {
		for _, key := range []string{"data", "stringData"} {
			if s.kind == "Secret" && key == "data" {
				continue // in base64
			}
			if err := s.texts(get(fields, key), key, depth); err != nil {
				return err
			}
		}
		fields = slices.DeleteFunc(fields, func(f field) bool { return f.key != "metadata" })
		for _, f := range fields {
			if err := s.shape(f.value, "", f.key, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return s.shape(n, "", "", depth)
}

func (s *scan) template(line int) error {
	return fault("addon.template", nil, "addon", s.name, "line", strconv.Itoa(line+s.offset))
}

// shape looks for containers, volumes and what looks like images, at any depth; key is the field that the node is the
// value of.
func (s *scan) shape(n *yaml.Node, key, path string, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	if n.Kind == yaml.SequenceNode {
		if err := s.spend(len(n.Content)); err != nil {
			return err
		}
		for i, c := range n.Content {
			if err := s.below(field{key, target(c)}, at(path, i), depth); err != nil {
				return err
			}
		}
		return nil
	}
	fields, err := s.fields(n, depth)
	if err != nil {
		return err
	}
	if err := s.guess(fields, path, depth); err != nil {
		return err
	}
	s.policy(fields, path)
	for _, f := range fields {
		p := within(path, f.key)
		if f.value.Kind == yaml.SequenceNode && (containerLists(f.key) || f.key == "volumes") {
			for i, c := range f.value.Content {
				if err := s.element(f.key, target(c), at(p, i), depth+2); err != nil {
					return err
				}
			}
		}
		if f.key == "annotations" && f.value.Kind == yaml.MappingNode {
			if err := s.texts(f.value, p, depth); err != nil {
				return err
			}
			continue
		}
		if err := s.below(f, p, depth); err != nil {
			return err
		}
	}
	return nil
}

// below looks at the value of a field, or at an element of its list.
func (s *scan) below(f field, path string, depth int) error {
	if f.value.Kind == yaml.ScalarNode {
		return s.scalar(f, path)
	}
	return s.shape(f.value, f.key, path, depth+1)
}

// element is one of a list of containers or of volumes.
func (s *scan) element(list string, n *yaml.Node, path string, depth int) error {
	fields, err := s.fields(n, depth)
	if err != nil {
		return err
	}
	image := get(fields, "image")
	if image == nil {
		return nil
	}
	if list == "volumes" {
		if fields, err = s.fields(image, depth+1); err != nil {
			return err
		}
		if r := get(fields, "reference"); r != nil {
			s.pull(r.Value, text(fields, "pullPolicy"), within(path, "image"))
			return s.must(r, within(within(path, "image"), "reference"))
		}
		return nil
	}
	if text(fields, "name") == "" && !workload(s.kind, s.apiVersion) {
		return nil
	}
	s.pull(image.Value, text(fields, "imagePullPolicy"), path)
	return s.must(image, within(path, "image"))
}

// must takes a node that the API says is an image's name.
func (s *scan) must(n *yaml.Node, path string) error {
	if n.Kind != yaml.ScalarNode {
		if !custom(s.apiVersion) && !s.inner {
			return s.notImage(n, path)
		}
		return nil // a custom resource that splits it; guess puts it together
	}
	name := strings.TrimSpace(n.Value)
	if strings.Contains(name, "{{") {
		return s.template(n.Line)
	}
	if name == "" && n.Tag == "!!null" || name == "" && !workload(s.kind, s.apiVersion) {
		return nil
	}
	if _, ok := normalize(name); !ok {
		if s.inner && !s.certain {
			return nil
		}
		return s.notImage(n, path)
	}
	return s.add(name, path, n.Line, s.inner && !s.certain)
}

func (s *scan) notImage(n *yaml.Node, path string) error {
	return fault("addon.image", nil, "addon", s.name, "line", strconv.Itoa(n.Line+s.offset), "path",
		s.kind+" "+s.object+" "+path, "image", n.Value)
}

// add remembers an image; one that is sure takes the place of a guess about the same field.
func (s *scan) add(name, path string, line int, guess bool) error {
	norm, ok := normalize(name)
	if !ok {
		return nil
	}
	f := Found{Name: name, Ref: norm, Doc: s.doc, Kind: s.kind, Object: s.object, Path: path, Line: line + s.offset,
		Guess: guess, Hint: s.hint}
	key := strings.Join([]string{strconv.Itoa(s.doc), s.kind, s.object, path, norm}, "\x00")
	if i, known := s.index[key]; known {
		if s.Images[i].Guess && !guess {
			s.Images[i] = f
		}
		return nil
	}
	if len(s.Images) == maxFound {
		return errSize
	}
	s.index[key] = len(s.Images)
	s.Images = append(s.Images, f)
	return nil
}

// hinted takes what the hints for the object point at.
func (s *scan) hinted(n *yaml.Node) error {
	for i, h := range s.hints {
		if !h.matches(s.kind, s.apiVersion) {
			continue
		}
		places, err := s.follow(n, s.paths[i])
		if err != nil {
			return err
		}
		s.hint = h.String()
		for _, p := range places {
			if err := s.confirm(p); err != nil {
				return err
			}
		}
		s.hint = ""
	}
	return nil
}

// confirm takes what a hint points at.
func (s *scan) confirm(p place) error {
	switch p.node.Kind {
	case yaml.SequenceNode:
		for i, c := range p.node.Content {
			if c = target(c); c.Kind != yaml.ScalarNode {
				return s.wrongHint(p)
			}
			if err := s.confirm(place{at(p.path, i), c}); err != nil {
				return err
			}
		}
		return s.spend(len(p.node.Content))
	case yaml.MappingNode:
		fields, err := s.fields(p.node, 0)
		if err != nil {
			return err
		}
		if name := joined(fields); name != "" {
			return s.add(name, p.path, p.node.Line, false)
		}
	case yaml.ScalarNode:
		v := strings.TrimSpace(p.node.Value)
		if p.node.Tag == "!!null" || v == "" {
			return nil
		}
		if strings.ContainsRune(v, '\n') {
			s.certain = true
			n := len(s.Images)
			err := s.embedded(p)
			s.certain = false
			if err != nil || slices.ContainsFunc(s.Images[n:], func(f Found) bool { return !f.Guess }) {
				return err
			}
		}
		if _, ok := normalize(v); !ok {
			_, v, _ = strings.Cut(v, "=")
		}
		if _, ok := normalize(v); ok {
			return s.add(v, p.path, p.node.Line, false)
		}
	}
	return s.wrongHint(p)
}

func (s *scan) wrongHint(p place) error {
	return fault("addon.hint-value", nil, "addon", s.name, "hint", s.hint, "line", strconv.Itoa(p.node.Line+s.offset))
}
