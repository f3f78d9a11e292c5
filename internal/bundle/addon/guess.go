package addon

import (
	"regexp"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// maxGuess is the length of a string that is searched for names of images.
const maxGuess = 64 << 10

// guess looks for images where the API promises none: in arguments and the environment of a map, and in a custom
// resource's own fields. Operators start what such values name.
func (s *scan) guess(fields []field, path string, depth int) error {
	for _, f := range fields {
		p := within(path, f.key)
		var err error
		switch {
		case f.value.Kind == yaml.SequenceNode && (f.key == "args" || f.key == "command" || f.key == "extraArgs"):
			err = s.arguments(f.value, p)
		case f.value.Kind == yaml.SequenceNode && f.key == "env":
			err = s.environment(f.value, p, depth)
		case f.value.Kind == yaml.MappingNode && (custom(s.apiVersion) || s.inner):
			var split []field
			if split, err = s.fields(f.value, depth+1); err != nil {
				break
			}
			if name := joined(split); name != "" {
				err = s.add(name, p, f.value.Line, true)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// imageKey reports whether the value of a field is an image by its name.
func imageKey(key string) bool {
	key = strings.ToLower(key)
	for _, end := range []string{"image", "images", "imagename", "imageref", "imagereference", "imagereferences",
		"imageurl", "imageuri"} {
		if strings.HasSuffix(key, end) {
			return true
		}
	}
	return false
}

// reference reports whether the value of a field of a custom resource names an image: by the name of the field, or as
// registry, repository and tag or digest. Addresses look like that as well.
func reference(key, value string) bool {
	key = strings.ToLower(key)
	r, ok := parseRef(value)
	switch {
	case !ok || !lettered(value):
		return false
	case imageKey(key):
		return loose(value)
	case strings.Contains(key, "image") && (r.tag != "" || r.digest != ""):
		return plausible(r)
	}
	for _, end := range []string{"url", "uri", "endpoint", "address", "server", "host", "hostname", "issuer"} {
		if strings.HasSuffix(key, end) {
			return false
		}
	}
	return full(value)
}

// joined puts together a name that is split into registry, repository (or image, name), tag and digest; "" if it is
// none.
func joined(fields []field) string {
	repo := text(fields, "repository")
	if repo == "" {
		repo = text(fields, "image")
	} else if name := text(fields, "image"); name != "" {
		repo += "/" + name
	}
	tag, sum := text(fields, "tag"), text(fields, "digest")
	if tag == "" {
		tag = text(fields, "version")
	}
	if repo == "" || tag == "" && sum == "" {
		return ""
	}
	name := strings.TrimSuffix(repo, "/")
	if r := strings.TrimSuffix(text(fields, "registry"), "/"); r != "" {
		name = r + "/" + name
	}
	if tag != "" {
		name += ":" + tag
	}
	if sum != "" {
		name += "@" + sum
	}
	if _, ok := normalize(name); !ok {
		return ""
	}
	return name
}

// arguments are guessed from by their flag (--acme-image=REF, or --image and REF behind it) or by their own looks.
func (s *scan) arguments(list *yaml.Node, path string) error {
	if err := s.spend(len(list.Content)); err != nil {
		return err
	}
	flag := ""
	for i, c := range list.Content {
		c = target(c)
		if c.Kind != yaml.ScalarNode {
			flag = ""
			continue
		}
		arg := c.Value
		name, value, ok := strings.Cut(arg, "=")
		isFlag := strings.HasPrefix(arg, "-") && !strings.ContainsFunc(name, unicode.IsSpace)
		switch {
		case isFlag && !ok:
			flag = arg
			continue
		case !isFlag:
			name, value = flag, arg
		}
		flag = ""
		if err := s.value(name, value, at(path, i), c.Line); err != nil {
			return err
		}
	}
	return nil
}

// environment: RELATED_IMAGE_* and the like, as operators are told their images.
func (s *scan) environment(list *yaml.Node, path string, depth int) error {
	if err := s.spend(len(list.Content)); err != nil {
		return err
	}
	for i, c := range list.Content {
		fields, err := s.fields(c, depth+2)
		if err != nil {
			return err
		}
		if v := get(fields, "value"); v != nil && v.Kind == yaml.ScalarNode {
			if err := s.value(text(fields, "name"), v.Value, within(at(path, i), "value"), v.Line); err != nil {
				return err
			}
		}
	}
	return nil
}

// value of a flag or a variable: by its name it may be an image without a host, else only a full reference is one.
func (s *scan) value(name, value, path string, line int) error {
	if low := strings.ToLower(name); strings.Contains(low, "image") && loose(value) && lettered(value) {
		r, _ := parseRef(value)
		if imageKey(low) || strings.HasPrefix(low, "related_image") || r.tag != "" || r.digest != "" {
			return s.add(value, path, line, true)
		}
	}
	if len(value) > maxGuess {
		return nil
	}
	for _, word := range words(value) {
		if full(word) {
			if err := s.add(word, path, line, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// loose: a reference with a tag, a digest or a host.
func loose(s string) bool {
	r, ok := parseRef(s)
	return ok && (r.host != "" || r.tag != "" || r.digest != "")
}

// full: a reference with a host and with a tag or a digest.
func full(s string) bool {
	r, ok := parseRef(s)
	return ok && r.host != "" && (r.tag != "" || r.digest != "") && plausible(r)
}

var (
	apiVersionRE = regexp.MustCompile(`\Av\d+(?:(?:alpha|beta)\d+)?\z`)
	addressRE    = regexp.MustCompile(`\A\d+(?:\.\d+){3}\z`)
)

// plausible reports whether a reference is none of what only has the shape of one: a taint or label
// (node-role.kubernetes.io/control-plane:NoSchedule), a kind (apps.example.com/v1:Thing), a network with a port
// (10.0.0.0/8:53), a time of day (10:30/11:30).
func plausible(r ref) bool {
	host, _, port := strings.Cut(r.host, ":")
	last := host[strings.LastIndex(host, ".")+1:]
	switch {
	case !lettered(r.path), apiVersionRE.MatchString(r.path):
		return false
	case host == "kubernetes.io", strings.HasSuffix(host, ".kubernetes.io"):
		return false
	case r.host == "", strings.HasPrefix(r.host, "["), addressRE.MatchString(host), host == "localhost":
		return true
	}
	return lettered(last) && (port || strings.Contains(host, "."))
}

// lettered reports whether a text has a letter.
func lettered(s string) bool { return strings.ContainsFunc(s, unicode.IsLetter) }
