package image

import (
	"errors"
	"fmt"

	"github.com/distribution/reference"
)

// Ref is an image's name taken apart the way containerd and the kubelet do: docker.io and library/ are filled in, and
// of a tag and a digest only the digest counts.
type Ref struct {
	Host   string // registry.k8s.io, docker.io; with its port
	Path   string // library/nginx
	Tag    string // "" when there is a digest only
	Digest string // "sha256:…" or ""
	Latest bool   // the tag is latest, written or, as neither tag nor digest was, implied
}

// maxName is what the kubelet and containerd accept with room to spare: 255 for the repository, 128 for the tag, and a
// digest.
const maxName = 512

// ParseName takes a name as pods write it apart. The error says what is wrong with it and is not a fault.
func ParseName(name string) (Ref, error) {
	if len(name) > maxName {
		return Ref{}, fmt.Errorf("it has %d bytes", len(name))
	}
	named, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return Ref{}, err
	}
	r := Ref{Host: reference.Domain(named), Path: reference.Path(named)}
	if r.Host == "" { // the library takes a_b.c/d for a name without a registry, though its own spelling of it is none
		return Ref{}, errors.New("its registry is not a host name")
	}
	if t, ok := named.(reference.Tagged); ok {
		r.Tag = t.Tag()
	}
	if d, ok := named.(reference.Digested); ok {
		r.Digest = d.Digest().String()
		if _, err := Hex(r.Digest); err != nil {
			return Ref{}, errors.New("its digest is not a sha256")
		}
	}
	if r.Tag == "" && r.Digest == "" {
		r.Tag = "latest"
	}
	r.Latest = r.Digest == "" && r.Tag == "latest"
	return r, nil
}

// Repository is the name without tag and digest.
func (r Ref) Repository() string { return r.Host + "/" + r.Path }

// String is what containerd looks the image up by: the repository with the digest, or with the tag where there is none.
func (r Ref) String() string {
	if r.Digest != "" {
		return r.Repository() + "@" + r.Digest
	}
	return r.Repository() + ":" + r.Tag
}

// Normalize returns the name that containerd and the kubelet look an image up by: nginx becomes
// docker.io/library/nginx:latest, and repo:tag@digest becomes repo@digest. ParseName says whether "latest" was implied.
func Normalize(name string) (string, error) {
	r, err := ParseName(name)
	if err != nil {
		return "", err
	}
	return r.String(), nil
}

// Names are all that an archive must carry so that every spelling of a pod finds the image offline: the tag, the
// spelling with the digest that was asked for, and the digests of the upstream index (may be "") and of the platform's
// manifest.
func (r Ref) Names(index, manifest string) []string {
	var out []string
	if r.Tag != "" {
		out = append(out, r.Repository()+":"+r.Tag)
	}
	seen := map[string]bool{"": true}
	for _, d := range []string{r.Digest, index, manifest} {
		if !seen[d] {
			seen[d] = true
			out = append(out, r.Repository()+"@"+d)
		}
	}
	return out
}
