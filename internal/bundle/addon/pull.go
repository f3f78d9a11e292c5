package addon

import "go.yaml.in/yaml/v3"

// Pull is an image that nodes pull each time a pod starts, also when they have it: the policy is Always, or it is not
// given and the tag is latest (https://kubernetes.io/docs/concepts/containers/images/#imagepullpolicy-defaulting).
type Pull struct {
	Doc          int
	Kind, Object string
	Path         string // of the container, or of the map with the policy
	Image        string // as written; "" where the object does not name it beside the policy
	Default      bool   // no policy is given
}

// pull notes the policy of a container.
func (s *scan) pull(image, policy, path string) {
	ref, ok := parseRef(image)
	switch {
	case policy == "Always", ok && policy == "" && (ref.tag == "latest" || ref.tag == "" && ref.digest == ""):
		s.pulled(image, path, policy == "")
	case ok && policy != "":
		s.Kept = append(s.Kept, ref.names()[0])
	}
}

// policy notes a policy outside of containers: a custom resource has it beside an image, or with its repository and
// tag.
func (s *scan) policy(fields []field, path string) {
	if !custom(s.apiVersion) && !s.inner ||
		text(fields, "imagePullPolicy") != "Always" && text(fields, "pullPolicy") != "Always" {
		return
	}
	image := joined(fields)
	for _, key := range []string{"image", "imageName"} {
		switch n := get(fields, key); {
		case image != "" || n == nil:
		case n.Kind == yaml.ScalarNode:
			image = n.Value
		default:
			if split, err := s.fields(n, 0); err == nil {
				image = joined(split)
			}
		}
	}
	s.pulled(image, path, false)
}

func (s *scan) pulled(image, path string, byDefault bool) {
	p := Pull{s.doc, s.kind, s.object, path, image, byDefault}
	for i := len(s.Pulls) - 1; i >= 0 && s.Pulls[i].Doc == s.doc; i-- {
		if x := s.Pulls[i]; x.Path == path && x.Object == s.object && x.Kind == s.kind {
			return
		}
	}
	if len(s.Pulls) < maxFound {
		s.Pulls = append(s.Pulls, p)
	}
}
