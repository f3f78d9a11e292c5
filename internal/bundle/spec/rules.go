package spec

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// imageName accepts what containerd and docker name the same: a registry, a repository, and a tag or digest or both.
func imageName(v string) error {
	host, _, ok := strings.Cut(v, "/")
	if !ok || !strings.ContainsAny(host, ".:") && host != "localhost" {
		return errors.New("must begin with its registry, such as docker.io/library/nginx:1.29")
	}
	base := v
	if b, d, ok := strings.Cut(v, "@"); ok {
		if _, err := name.NewDigest(v, name.StrictValidation); err != nil {
			return err
		}
		if !strings.HasPrefix(d, "sha256:") {
			return errors.New("the digest must be a sha256")
		}
		if base = b; !strings.Contains(b[len(host):], ":") {
			return nil
		}
	}
	_, err := name.NewTag(base, name.StrictValidation)
	return err
}

// webURL accepts https, and http on loopback, or anywhere when what is fetched is signed.
func webURL(signed bool) func(string) error {
	return func(v string) error {
		u, err := url.Parse(v)
		if err != nil {
			return err
		}
		switch {
		case u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
			return errors.New("an https URL")
		case u.Scheme == "http" && !signed && !fetch.Loopback(u.Hostname()):
			return errors.New("https, for nothing signs it")
		case u.User != nil:
			return errors.New("no credentials in a spec")
		}
		return nil
	}
}

// repositoryURL accepts the URL of a package repository. What people copy from the configuration of apt and dnf, and
// would never be found, is refused with what to write.
func repositoryURL(v string) error {
	if err := webURL(true)(v); err != nil {
		return err
	}
	u, err := url.Parse(v)
	switch dir := strings.TrimRight(u.Path, "/"); {
	case err != nil:
		return err
	case strings.Contains(v, "$"):
		return errors.New("variables of dnf and apt are not filled in: write {uname} for $basearch, {arch} for " +
			"$(ARCH), and the release itself for $releasever")
	case u.RawQuery != "":
		return errors.New("a repository has no query; of a mirror list or metalink, use the URL of one of the mirrors")
	case strings.HasSuffix(dir, "/repodata"), strings.HasSuffix(dir, "/repodata/repomd.xml"):
		return errors.New("it must be the URL of the directory that has repodata in it")
	case strings.HasSuffix(dir, "/InRelease"), strings.HasSuffix(dir, "/Release"):
		return errors.New("it must be the URL of the repository, not that of its Release file")
	}
	return nil
}

// cross looks at what no single entry shows.
func (p *parser) cross(s *Spec) {
	files := map[string]bool{}
	file := func(name string) {
		if low := strings.ToLower(name); files[low] {
			p.add(nil, name, "spec.duplicate", nil)
		} else {
			files[low] = true
		}
	}
	for _, n := range []string{bundle.ManifestName, bundle.SumsName, bundle.ImagesName, bundle.ImagesSumName,
		PackagesName} {
		files[strings.ToLower(n)] = true
	}
	for _, b := range append(slices.Clone(s.Binaries), s.Files...) {
		if len(b.Pick) == 0 {
			file(b.Name)
		}
		for _, n := range sortedValues(b.Pick) {
			file(n)
		}
	}
	files["addons"], files["repodata"] = true, true // the archive's own directories
	for _, d := range s.Dirs {
		file(d.Name)
	}
	for _, a := range s.Addons {
		file("addons/" + a.Name)
	}
	seen := map[string]bool{}
	once := func(kind, name string) {
		if seen[kind+name] {
			p.add(nil, name, "spec.duplicate", nil)
		}
		seen[kind+name] = true
	}
	for _, im := range s.Images {
		once("image ", im.Name)
	}
	for _, x := range s.Install {
		once("package ", x.Name)
		if err := matching(debPattern)(replacer("amd64", "v1.0.0").Replace(x.Name)); s.OS.Family == Debian &&
			err != nil {
			p.add(nil, "packages.install", "spec.value", err, "value", x.Name)
		}
	}
	p.whole(s)
}

// whole looks for what has to be there once all files are read.
func (p *parser) whole(s *Spec) {
	for key, v := range map[string]*string{"name": &s.Name, "kubernetes": &s.Kubernetes, "os.id": &s.OS.ID,
		"os.release": &s.OS.Release, "os.codename": &s.OS.Codename} {
		if key != "kubernetes" {
			*v = strings.ReplaceAll(*v, "{kubernetes}", s.Kubernetes)
		}
		if hole := holes.FindString(*v); hole != "" { // one value for all architectures
			p.add(nil, key, "spec.hole", nil, "hole", hole)
		}
	}
	for key, missing := range map[string]bool{
		"name": s.Name == "", "kubernetes": s.Kubernetes == "", "os": s.OS.Family == "",
		"packages.repositories": len(s.Install) > 0 && len(s.Repositories) == 0,
		"packages.baseline":     s.Closure == Minus && s.Baseline.Name == "",
	} {
		if missing {
			p.add(nil, key, "spec.missing", nil)
		}
	}
	for i, r := range s.Repositories {
		if want := map[string]string{Debian: "deb", RPM: "rpm"}[s.OS.Family]; r.Type != want {
			p.add(nil, fmt.Sprintf("packages.repositories[%d].type", i), "spec.value",
				fmt.Errorf("%s, for os.family is %s", want, s.OS.Family), "value", r.Type)
		}
	}
	slices.SortStableFunc(p.problems, func(a, b *event.Fault) int {
		return strings.Compare(a.Args["key"], b.Args["key"])
	})
}

func sortedValues(m map[string]string) []string {
	var out []string
	for _, v := range m {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

// PackagesName is the member with the metadata of the flat apt repository.
const PackagesName = "Packages"
