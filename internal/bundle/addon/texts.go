package addon

import (
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// texts looks into the data of a ConfigMap and into annotations: some carry manifests that a controller applies,
// templates of them, or the name of an image that it starts.
func (s *scan) texts(data *yaml.Node, path string, depth int) error {
	if data == nil {
		return nil
	}
	fields, err := s.fields(data, depth+1)
	if err != nil {
		return err
	}
	for _, f := range fields {
		if f.value.Kind != yaml.ScalarNode {
			continue
		}
		if p := within(path, f.key); isText(f.value.Value) {
			err = s.lines(field{f.key, f.value}, p)
		} else if !silent(f.key) {
			err = s.value(f.key, f.value.Value, p, f.value.Line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isText reports whether a value is more than a word or a line: several lines, or JSON.
func isText(value string) bool {
	return strings.ContainsRune(value, '\n') || strings.HasPrefix(value, "{") || strings.HasPrefix(value, "[")
}

// silent are the annotations whose text is no news: what was applied before, and examples.
func silent(key string) bool {
	return key == "kubectl.kubernetes.io/last-applied-configuration" || key == "alm-examples"
}

// scalar looks at a value of a custom resource, or of a manifest in a text.
func (s *scan) scalar(f field, path string) error {
	if !custom(s.apiVersion) && !s.inner || f.value.Tag != "!!str" {
		return nil
	}
	switch value := strings.TrimSpace(f.value.Value); {
	case isText(value):
		return s.lines(f, path)
	case reference(f.key, value):
		return s.add(value, path, f.value.Line, true)
	}
	return nil
}

// lines looks at a text of several lines: as a manifest if it is one, then word by word, as templates and scripts are
// none. A word that the manifest has shown already counts once.
func (s *scan) lines(f field, path string) error {
	if silent(f.key) {
		return nil
	}
	if strings.Contains(strings.ToLower(f.value.Value), "image") {
		if err := s.embedded(place{path, f.value}); err != nil {
			return err
		}
	}
	if err := s.spend(len(f.value.Value) / 16); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := len(s.Images) - 1; i >= 0 && s.Images[i].Doc == s.doc; i-- {
		if x := s.Images[i]; x.Object == s.object && strings.HasPrefix(x.Path, path) {
			seen[x.Ref] = true
		}
	}
	number := -1
	for line := range strings.Lines(f.value.Value) {
		if number++; strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		at := f.value.Line
		if f.value.Style&yaml.LiteralStyle != 0 {
			at += number + 1
		}
		for _, word := range imagesIn(line) {
			if ref, ok := normalize(word); ok && !seen[ref] {
				seen[ref] = true
				if err := s.add(word, path, at, true); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// imagesIn are the words of a line that name an image: full references, and what follows a key that is called image.
func imagesIn(line string) []string {
	if !strings.ContainsAny(line, ":@/") {
		return nil
	}
	var out []string
	named := false
	for _, word := range words(line) {
		if word == ":" {
			continue
		}
		if full(word) || named && loose(word) && lettered(word) {
			out = append(out, word)
		}
		key := strings.TrimSuffix(word, ":")
		named = imageKey(key[strings.LastIndexAny(key, ".-_")+1:])
	}
	return out
}

// words are the words of a text, without quotes, brackets and the marks that end a sentence.
func words(text string) []string {
	split := func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'`=,;()[]{}<>|\\", r) }
	out := strings.FieldsFunc(text, split)
	for i, w := range out {
		if len(w) > 1 {
			out[i] = strings.TrimRight(w, ".!?")
		}
	}
	return out
}

// embedded walks a text as a manifest, if it is one. What it names is a guess unless a hint said so.
func (s *scan) embedded(p place) error {
	if s.inner {
		return nil
	}
	if err := s.spend(len(p.node.Value) / 16); err != nil {
		return err
	}
	docs, err := documents([]byte(p.node.Value))
	if err != nil {
		return nil //nolint:nilerr // a text of another kind
	}
	s.inner = true
	if p.node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		s.offset = p.node.Line
	}
	defer func() { s.inner, s.offset = false, 0 }()
	for _, d := range docs {
		if d == nil || d.Kind == yaml.ScalarNode {
			continue
		}
		if err := s.shape(d, "", p.path, 0); err != nil {
			return err
		}
	}
	return nil
}
