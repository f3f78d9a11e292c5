package sbom

import (
	"path"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// packageURL puts the parts together in the canonical form: qualifiers sorted, those without a value left out.
func packageURL(kind, namespace, name, version string, qualifiers map[string]string) string {
	s := "pkg:" + kind + "/"
	if namespace != "" {
		s += escape(namespace) + "/"
	}
	s += escape(name)
	if version != "" {
		s += "@" + escape(version)
	}
	var list []string
	for k, v := range qualifiers {
		if v != "" {
			list = append(list, k+"="+escape(v))
		}
	}
	slices.Sort(list)
	if len(list) > 0 {
		s += "?" + strings.Join(list, "&")
	}
	return s
}

// escape encodes all but the unreserved characters and the colon, which the specification leaves as it is.
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~:", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteString("%" + hex[c>>4:c>>4+1] + hex[c&15:c&15+1])
		}
	}
	return b.String()
}

// distribution as package URLs name it: debian-12.
func distribution(o bundle.OS) string {
	if o.Release == "" {
		return strings.ToLower(o.ID)
	}
	return strings.ToLower(o.ID) + "-" + o.Release
}

// debURL takes the architecture from the file's name, NAME_VERSION_ARCH.deb, for it may be "all".
func debURL(m *bundle.Manifest, e bundle.Member) string {
	arch := m.Arch
	if parts := strings.Split(strings.TrimSuffix(path.Base(e.Path), ".deb"), "_"); len(parts) == 3 {
		arch = parts[2]
	}
	return packageURL("deb", strings.ToLower(m.OS.ID), strings.ToLower(e.Name), e.Version,
		map[string]string{"arch": arch, "distro": distribution(m.OS)})
}

// rpmURL takes the architecture from the file's name, NAME-VERSION-RELEASE.ARCH.rpm. The epoch is a qualifier.
func rpmURL(m *bundle.Manifest, e bundle.Member) string {
	q := map[string]string{"distro": distribution(m.OS),
		"arch": map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[m.Arch]}
	if base, ok := strings.CutSuffix(path.Base(e.Path), ".rpm"); ok {
		if i := strings.LastIndexByte(base, '.'); i >= 0 {
			q["arch"] = base[i+1:]
		}
	}
	version := e.Version
	if epoch, rest, ok := strings.Cut(version, ":"); ok {
		version = rest
		if q["epoch"] = epoch; epoch == "0" {
			q["epoch"] = ""
		}
	}
	return packageURL("rpm", strings.ToLower(m.OS.ID), e.Name, version, q)
}

func genericURL(name, version, source, sha256 string) string {
	q := map[string]string{}
	if source != noAssertion {
		q["download_url"] = source
	}
	if sha256 != "" {
		q["checksum"] = "sha256:" + sha256
	}
	return packageURL("generic", "", name, version, q)
}

// imageURL names an image by its repository and the digest of its platform's manifest; it also gives the tag.
func imageURL(arch string, im bundle.Image) (url, tag string) {
	repository, _, _ := strings.Cut(im.Name, "@")
	if i := strings.LastIndexByte(repository, ':'); i > strings.LastIndexByte(repository, '/') { // else it is a port
		repository, tag = repository[:i], repository[i+1:]
	}
	name := strings.ToLower(path.Base(repository))
	return packageURL("oci", "", name, im.Digest, map[string]string{"arch": arch, "repository_url": repository,
		"tag": tag}), tag
}
