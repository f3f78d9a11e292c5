package build

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/addon"
	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// lint looks for what would only be found out where nothing can be fetched any more. Errors end the build, all told at
// once. What a download turns out to be (its architecture, whether a runtime loads it) is checked when it is resolved;
// here it is held against what the spec says now.
func (p *plan) lint(ctx context.Context, m *bundle.Manifest) error {
	var errs []error
	add := func(code string, kv ...string) {
		errs = append(errs, event.NewFault(event.ClassFailed, code, nil, append(kv, "arch", p.arch)...))
	}
	var have []string
	for _, im := range m.Images {
		have = append(have, im.Name)
	}
	for _, a := range p.set.Addons {
		if p.Adopted != nil {
			break // the manifest lists them
		}
		for _, x := range addon.Missing(found(a.Images), have) {
			code := "build.image-missing"
			if strings.Contains(x.Name, "@") {
				code = "build.image-alias"
			}
			add(code, "addon", a.Name, "image", x.Name)
		}
	}
	arches := []string{p.spec.Arch(p.arch), "all", "noarch"}
	if p.set.Packages != nil {
		for _, x := range p.set.Packages.Packages {
			if !slices.Contains(arches, x.Arch) {
				add("build.package-arch", "package", x.Name, "got", x.Arch)
			}
		}
	}
	for _, im := range p.set.Images {
		for _, l := range im.Layers {
			if err := image.CheckLayer(im.Name, l.MediaType, image.Runtime(p.spec.Runtime)); err != nil {
				errs = append(errs, err)
				break
			}
		}
	}
	for _, o := range m.Outside() {
		add("build.outside", "member", o.Member, "place", o.Place)
	}
	unserved, kept, err := p.review(ctx, m)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	p.warnOfImages(kept)
	return errors.Join(append(errs, unserved...)...)
}

// found makes what an addon was found to name of its names.
func found(names []string) []addon.Found {
	var out []addon.Found
	for _, n := range names {
		ref, err := image.Normalize(n)
		if err != nil {
			ref = n
		}
		out = append(out, addon.Found{Name: n, Ref: ref})
	}
	return out
}

// warnOfImages warns of images whose tag moves, and of those that nothing seems to need. A moving tag does no harm to
// those that are kept: every container that names them takes what the bundle has.
func (p *plan) warnOfImages(kept map[string]bool) {
	used := map[string]bool{}
	for _, a := range p.set.Addons {
		for _, f := range found(append(slices.Clone(a.Images), a.Guesses...)) {
			used[f.Ref] = true
		}
	}
	if list, _, err := addon.KubernetesImages(p.spec.Kubernetes); err == nil {
		for _, k := range list {
			used[repository(k.Name)] = true // another version of it is used as well
		}
	}
	for _, im := range p.spec.Images {
		ref, err := image.Normalize(im.Name)
		if err != nil {
			continue
		}
		if addon.Floating(im.Name) && !kept[ref] {
			p.warn(p.arch, event.M("build.warn.latest", "image", im.Name))
		}
		if im.Why == "" && !used[ref] && !used[repository(im.Name)] {
			p.warn(p.arch, event.M("build.warn.unused", "image", im.Name))
		}
	}
}

func repository(name string) string {
	ref, err := image.ParseName(name)
	if err != nil {
		return name
	}
	return ref.Repository()
}
