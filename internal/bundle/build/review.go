package build

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/addon"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/bundle/kubeapi"
	"github.com/eggo-k8s/eggo/internal/bundle/lock"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// contentOf reads a file of an addon, once for all architectures.
func (b *builder) contentOf(name, sum string, data []byte) (*addon.Content, error) {
	key := sum + " " + name
	b.mu.Lock()
	known := b.contents[key]
	b.mu.Unlock()
	if known != nil {
		return known, nil
	}
	hints := addon.Hints()
	for _, h := range b.Spec.Hints {
		hints = append(hints, addon.Hint{Kind: h.Kind, APIVersion: h.APIVersion, Path: h.Path})
	}
	c, err := addon.Read(name, data, hints...)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.contents[key] = c
	b.mu.Unlock()
	return c, nil
}

// contentsOf reads the files of the pinned addons, and brings into the cache what it does not have.
func (b *builder) contentsOf(ctx context.Context, client *fetch.Client, addons []spec.Addon, pins []lock.Addon) (
	[]*addon.Content, error) {
	out := make([]*addon.Content, len(pins))
	var tasks []func(context.Context) error
	for i, pin := range pins {
		out[i] = &addon.Content{}
		tasks = append(tasks, func(ctx context.Context) error {
			if slices.ContainsFunc(pin.Files, func(f lock.AddonFile) bool {
				_, ok := b.Cache.Find(f.SHA256, f.Size)
				return !ok
			}) {
				if err := b.bringAddon(ctx, client, addons[i], pin); err != nil {
					return err
				}
			}
			for _, f := range pin.Files {
				data, err := b.content(fetch.Blob{SHA256: f.SHA256, Size: f.Size})
				if err != nil {
					return err
				}
				c, err := b.contentOf(f.Path, f.SHA256, data)
				if err != nil {
					return err
				}
				out[i].Add(c)
			}
			return nil
		})
	}
	return out, together(ctx, tasks...)
}

// first reports whether a fault is new: what is wrong with an addon is so for each architecture.
func (b *builder) first(f *event.Fault) bool {
	key := f.Code + fmt.Sprint(f.Args)
	b.mu.Lock()
	defer b.mu.Unlock()
	again := b.warned[key]
	b.warned[key] = true
	return !again
}

// defined are the kinds that the addons define.
func defined(contents []*addon.Content) map[string]bool {
	out := map[string]bool{}
	for _, c := range contents {
		maps.Copy(out, c.Defined)
	}
	return out
}

// scopes renders charts again whose objects are of kinds that other addons define: only then is it known that they are
// in a namespace.
func (r *resolver) scopes(ctx context.Context) error {
	if !slices.ContainsFunc(r.spec.Addons, func(a spec.Addon) bool { return a.Chart != nil }) {
		return nil
	}
	contents, err := r.contentsOf(ctx, r.client, r.spec.Addons, r.set.Addons)
	if err != nil {
		return err
	}
	all := defined(contents)
	for i, a := range r.spec.Addons {
		if a.Chart == nil {
			continue
		}
		pin := r.set.Addons[i]
		_, want := contents[i].Unscoped(all)
		for kind := range pin.Scopes {
			if namespaced, is := all[kind]; is {
				want[kind] = namespaced
			}
		}
		if maps.Equal(want, pin.Scopes) {
			continue
		}
		if r.set.Addons[i], err = r.again(ctx, a, pin, want); err != nil {
			return err
		}
	}
	return nil
}

// again renders a pinned chart with the rules of now. Where the result is another one, it is more than the lock says.
func (r *resolver) again(ctx context.Context, a spec.Addon, pin lock.Addon, scopes map[string]bool) (lock.Addon,
	error) {
	out := pin
	out.Files, out.Scopes = nil, scopes
	if len(scopes) == 0 {
		out.Scopes = nil
	}
	if err := r.fetchAddon(ctx, r.client, pin); err != nil {
		return pin, err
	}
	files, err := r.addonFiles(ctx, a, out)
	if err != nil {
		return pin, err
	}
	if err := r.pinFiles(a, files, &out); err != nil {
		return pin, err
	}
	if !slices.Equal(out.Files, pin.Files) {
		return out, r.beyond(a.Name)
	}
	return out, nil
}

// review adds to errs what of the addons the version of Kubernetes does not serve, and warns of the rest.
func (p *plan) review(ctx context.Context, m *bundle.Manifest) (errs []error, kept map[string]bool, err error) {
	contents, err := p.contentsOf(ctx, p.client, p.spec.Addons, p.set.Addons)
	if err != nil {
		return nil, nil, err
	}
	all := defined(contents)
	kept = map[string]bool{}
	for i, a := range p.set.Addons {
		have := append(slices.Clone(p.spec.Addons[i].Images), a.Images...)
		for _, im := range m.Images {
			have = append(have, im.Name)
		}
		found := contents[i].Review(a.Name, p.spec.Kubernetes, have)
		for _, u := range found.Unserved {
			if u.Code == kubeapi.OnDemand || p.Adopted != nil {
				p.warn(p.arch, u.Warning(a.Name, p.spec.Kubernetes))
			} else if f := u.Fault(event.ClassFailed, a.Name, p.spec.Kubernetes); p.first(f) {
				errs = append(errs, f)
			}
		}
		for _, w := range found.Warnings {
			p.warn(p.arch, w)
		}
		if chart := p.spec.Addons[i].Chart; chart != nil && chart.Namespace != "" && chart.Namespace != "default" {
			if unknown, _ := contents[i].Unscoped(all); len(unknown) > 0 {
				p.warn("", event.M("addon.note.no-namespace", "addon", a.Name, "namespace", chart.Namespace, "objects",
					addon.Named(unknown)))
			}
		}
		for _, ref := range contents[i].Kept {
			if _, is := kept[ref]; !is {
				kept[ref] = true
			}
		}
		for _, pull := range contents[i].Pulls {
			if ref, err := image.Normalize(pull.Image); err == nil {
				kept[ref] = false
			}
		}
	}
	return errs, kept, nil
}
