package spec

import (
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/schema"
)

// Schema is the JSON Schema of a spec. What parses is right by it; it says which keys there are and what they may be,
// not what the values mean to each other. A test holds its keys against the parser's.
func Schema() []byte {
	lists := func(def string) *schema.Value { return list(&schema.Value{Def: def}) }
	return schema.Document{
		ID: "https://github.com/eggo-k8s/eggo/bundle.schema.json", Title: "the spec of a bundle",
		Root: object(
			must("version", scalar("^1$")), key("include", list(text())), key("name", text()),
			key("kubernetes", text()),
			key("os", object(
				must("family", words(Debian, RPM)), must("id", text()), must("release", text()),
				key("codename", text()),
			)),
			key("runtime", words("containerd", "docker", "isulad")), key("layout", words("flat", "typed")),
			key("discover", list(words("addons", "kubernetes", "kubeadm"))),
			key("packages", object(
				key("closure", words(string(Full), string(Minus), string(NoDeps))), key("baseline", text()),
				key("repositories", lists("repository")),
				key("install", list(object(must("name", text()), must("roles", roles())))),
			)),
			key("binaries", lists("binary")), key("files", lists("binary")), key("dirs", list(object(
				must("name", text()), must("path", text()), must("dst", text()), must("roles", roles()),
			))),
			key("addons", lists("addon")), key("images", list(object(
				must("name", text()), key("archive", text()), key("why", text()), must("roles", roles()),
			))),
			key("image-hints", list(object(key("api-version", text()), must("kind", text()), must("path", text())))),
		),
		Defs: []schema.Property{key("repository", repository()), key("binary", binary()), key("addon", addon())},
	}.JSON()
}

func repository() *schema.Value {
	return object(
		must("type", words("deb", "rpm")), key("arches", list(words("amd64", "arm64"))), key("url", text()),
		key("dir", text()),
		key("machine", yesNo()), key("suites", list(text())), key("components", list(text())), key("keyring", text()),
		key("trusted", yesNo()), key("priority", text()), key("check-valid-until", yesNo()),
	)
}

func binary() *schema.Value {
	pick := &schema.Value{Types: []string{"object"}, Object: true, Others: text()}
	return object(
		must("name", text()), key("version", text()), key("url", text()), key("path", text()), key("checksum", text()),
		key("sha256", text()), key("pick", pick), must("dst", text()), key("mode", text()), must("roles", roles()),
	)
}

func addon() *schema.Value {
	anything := &schema.Value{Types: []string{"object"}}
	return object(
		must("name", text()), key("version", text()), key("url", text()), key("path", text()), key("dir", text()),
		key("chart", object(
			key("url", text()), key("repository", text()), key("name", text()), key("version", text()),
			key("path", text()),
			must("release", text()), key("namespace", text()), key("values", anything), key("values-file", text()),
		)),
		key("sha256", text()), key("roles", roles()), key("images", list(text())),
	)
}

func object(keys ...schema.Property) *schema.Value {
	return &schema.Value{Types: []string{"object"}, Object: true, Keys: keys}
}

func key(name string, v *schema.Value) schema.Property { return schema.Property{Name: name, Value: v} }

func must(name string, v *schema.Value) schema.Property {
	return schema.Property{Name: name, Value: v, Required: true}
}

func list(of *schema.Value) *schema.Value { return &schema.Value{Types: []string{"array"}, Items: of} }

// scalar is text as it is written; YAML may take it for something else.
func scalar(pattern string) *schema.Value {
	return &schema.Value{Types: []string{"string", "number", "boolean"}, Pattern: pattern}
}

func text() *schema.Value { return scalar("") }

func yesNo() *schema.Value {
	return &schema.Value{Any: []*schema.Value{{Types: []string{"boolean"}}, {Enum: []string{"true", "false"}}}}
}

// words are a choice. A hole stands for what is filled in.
func words(list ...string) *schema.Value {
	return &schema.Value{Any: []*schema.Value{
		{Enum: list}, {Types: []string{"string"}, Pattern: `\{(?:arch|uname|kubernetes)\}`},
	}}
}

func roles() *schema.Value {
	var all []string
	for _, r := range bundle.AllRoles() {
		all = append(all, strings.TrimSpace(string(r)))
	}
	return list(words(all...))
}
