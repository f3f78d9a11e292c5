package upstream

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/assets"
)

// System is the operating system of the lab's nodes, whose default spec the upstream serves.
const System = "debian-12"

// Spec is what the upstream needs to know of a bundle spec (assets/bundle.yaml): the addresses and the versions.
// Everything else in the file is the bundle builder's business and is not read.
type Spec struct {
	Kubernetes string `yaml:"kubernetes"`
	OS         struct {
		Codename string `yaml:"codename"`
	} `yaml:"os"`
	Packages struct {
		Repositories []Repository `yaml:"repositories"`
	} `yaml:"packages"`
	Binaries []Download `yaml:"binaries"`
	Addons   []Download `yaml:"addons"`
	Images   []Image    `yaml:"images"`
	tools    string     // version of Kubernetes that test images are built from, if it is not the spec's own
	suite    bool       // of the end-to-end suite
}

// Image is one of the spec.
type Image struct {
	Name string `yaml:"name"`
}

// At is the spec with another version of Kubernetes. Images that are built from the sources of Kubernetes whatever
// their tag says stay as they are, so that both versions can be served from one cache.
func (s *Spec) At(kubernetes string) *Spec {
	other := *s
	other.Kubernetes, other.tools = kubernetes, s.toolsVersion()
	return &other
}

func (s *Spec) toolsVersion() string {
	if s.tools != "" {
		return s.tools
	}
	return s.Kubernetes
}

// Repository is an apt repository of the spec.
type Repository struct {
	URL        string   `yaml:"url"`
	Suites     []string `yaml:"suites"`
	Components []string `yaml:"components"`
	Keyring    string   `yaml:"keyring"`
}

// Download is a binary or an addon of the spec.
type Download struct {
	URL      string `yaml:"url"`
	Checksum string `yaml:"checksum"`
}

// LoadSpec reads the spec at path; an empty path means the one that eggo-bundle carries.
func LoadSpec(path string) (*Spec, error) {
	if path == "" {
		text, err := assets.BundleSpec(System)
		if err != nil {
			return nil, err
		}
		return parseSpec(text)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := parseSpec(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func parseSpec(b []byte) (*Spec, error) {
	s := &Spec{}
	if err := yaml.Unmarshal(b, s); err != nil {
		return nil, err
	}
	if s.Kubernetes == "" || s.OS.Codename == "" {
		return nil, errors.New("no kubernetes version or os codename in it")
	}
	return s, nil
}

// URLs lists the files that the spec names for an architecture, checksum files included, in the spec's order and each
// once.
func (s *Spec) URLs(arch string) []string {
	expand := strings.NewReplacer("{arch}", arch, "{kubernetes}", s.Kubernetes)
	var out []string
	seen := map[string]bool{"": true}
	for _, d := range append(append([]Download{}, s.Binaries...), s.Addons...) {
		for _, u := range []string{expand.Replace(d.URL), expand.Replace(d.Checksum)} {
			if !seen[u] {
				seen[u] = true
				out = append(out, u)
			}
		}
	}
	return out
}

// ImageNames lists the images of the spec as it writes them.
func (s *Spec) ImageNames() []string {
	out := make([]string, 0, len(s.Images))
	for _, i := range s.Images {
		out = append(out, strings.ReplaceAll(i.Name, "{kubernetes}", s.Kubernetes))
	}
	return out
}

// keyring reads the keyring that a repository names: embedded:NAME or a path.
func (r Repository) keyring() ([]byte, error) {
	if name, ok := strings.CutPrefix(r.Keyring, "embedded:"); ok {
		return assets.Keyring(name)
	}
	return os.ReadFile(r.Keyring)
}
