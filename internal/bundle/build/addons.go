package build

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/addon"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/bundle/lock"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

const (
	maxAddon = 64 << 20 // bytes of a manifest or a chart
	maxIndex = 64 << 20 // bytes of a chart repository's index
)

// addons pins the addons; those that nothing vouches for are trusted on first use.
func (r *resolver) addons(ctx context.Context) error {
	out := make([]lock.Addon, len(r.spec.Addons))
	var tasks []func(context.Context) error
	for i, a := range r.spec.Addons {
		tasks = append(tasks, func(ctx context.Context) (err error) {
			out[i], err = r.addon(ctx, a)
			return err
		})
	}
	if err := together(ctx, tasks...); err != nil {
		return err
	}
	r.set.Addons = out
	return r.scopes(ctx)
}

// addon pins one. What lies beside the spec is read each time and is part of the question.
func (r *resolver) addon(ctx context.Context, a spec.Addon) (lock.Addon, error) {
	files, local, err := r.beside(a)
	if err != nil {
		return lock.Addon{}, err
	}
	inputs, err := lock.Inputs(a, r.spec.Hints, r.spec.Kubernetes, local)
	if err != nil {
		return lock.Addon{}, err
	}
	if old, ok := r.old.Addon(a.Name, inputs); ok {
		if a.Chart == nil || old.Rendering == addon.Rendering {
			return old, nil
		}
		return r.again(ctx, a, old, old.Scopes)
	}
	if err := r.beyond(a.Name); err != nil {
		return lock.Addon{}, err
	}
	out := lock.Addon{Name: a.Name, Inputs: inputs, Trust: "local"}
	if a.URL != "" || a.Chart != nil && a.Chart.Path.Name == "" {
		if err := r.firstUse(ctx, a, &out); err != nil {
			return out, err
		}
	}
	if files == nil {
		if files, err = r.addonFiles(ctx, a, out); err != nil {
			return out, err
		}
	}
	return out, r.pinFiles(a, files, &out)
}

// beside reads what an addon has beside the spec: its files if they are all of it, and the sums by which it is known
// again.
func (r *resolver) beside(a spec.Addon) (files []addon.File, sums []string, err error) {
	switch {
	case a.Path.Name != "":
		data, err := readFile(a.Path, maxAddon)
		return []addon.File{{Name: a.Name, Data: data}}, []string{sumOf(data)}, err
	case a.Dir.Name != "":
		files, err := addon.Collect(os.DirFS(a.Dir.File))
		for i, f := range files {
			sums = append(sums, f.Path, sumOf(f.Data))
			files[i].Name = a.Name + "__" + f.Name
		}
		return files, sums, inFile(err, a.Dir.File)
	case a.Chart == nil:
		return nil, nil, nil
	}
	c := a.Chart
	if c.ValueFile.Name != "" {
		data, err := readFile(c.ValueFile, maxAddon)
		if err != nil {
			return nil, nil, err
		}
		sums = append(sums, sumOf(data))
	}
	if c.Path.Name != "" {
		sum, err := sumOfTree(c.Path.File)
		if err != nil {
			return nil, nil, fileFault(c.Path, err)
		}
		sums = append(sums, sum)
	}
	return nil, sums, nil
}

func inFile(err error, file string) error {
	if f := (*event.Fault)(nil); errors.As(err, &f) && f.Args["addon"] == "" {
		f.Args["addon"] = file
	}
	return err
}

// readFile reads a small file that the spec names.
func readFile(p spec.Path, limit int64) ([]byte, error) {
	f, err := os.Open(p.File)
	if err != nil {
		return nil, fileFault(p, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	if err != nil {
		return nil, fileFault(p, err)
	}
	return data, nil
}

// firstUse downloads a manifest or a chart: by the spec's sum, or as it comes.
func (r *resolver) firstUse(ctx context.Context, a spec.Addon, out *lock.Addon) error {
	src, sum, err := r.addonSource(ctx, a)
	if err != nil {
		return err
	}
	out.Trust = "spec"
	if src.SHA256 = a.SHA256; a.SHA256 == "" {
		src.SHA256, out.Trust = sum, "checksum"
	}
	if src.SHA256 == "" {
		// A sum that an earlier build took on first use still counts, also when something else of the addon's spec has
		// changed.
		out.Trust = "first-use"
		for _, set := range r.first {
			i := slices.IndexFunc(set.Addons, func(o lock.Addon) bool {
				return o.URL == src.URL && o.Trust == "first-use"
			})
			if i >= 0 && src.SHA256 == "" {
				src.SHA256 = set.Addons[i].SHA256
			}
		}
	}
	known := src.SHA256 != ""
	blob, err := r.client.Get(ctx, src)
	if err != nil {
		return otherThanFirst(err, out.Trust)
	}
	if !known {
		r.warn(r.arch, event.M("build.warn.first-use", "file", a.Name, "url", src.URL, "sha256", blob.SHA256))
	}
	out.URL, out.SHA256, out.Size = src.URL, blob.SHA256, blob.Size
	return nil
}

// otherThanFirst says of a download that is not what it was when it was first used that this is the reason.
func otherThanFirst(err error, trust string) error {
	if err == nil {
		return nil
	}
	if f := event.AsFault(err); trust == "first-use" &&
		(f.Code == "fetch.sum-mismatch" || f.Code == "fetch.size" || f.Code == "fetch.too-large") {
		return event.NewFault(f.Class, "build.first-use", nil, "what", f.Args["what"], "url", f.Args["url"])
	}
	return err
}

// addonSource says where an addon is downloaded from, and the sum that its repository vouches for.
func (r *resolver) addonSource(ctx context.Context, a spec.Addon) (fetch.Source, string, error) {
	src := fetch.Source{URL: a.URL, Size: -1, Limit: maxAddon, What: a.Name}
	if a.Chart == nil {
		return src, "", nil
	}
	src.URL = a.Chart.URL
	if a.Chart.Repo != "" {
		index := a.Chart.Repo + "/index.yaml"
		blob, err := r.client.Get(ctx, fetch.Source{URL: index, Size: -1, Limit: maxIndex, What: a.Name + " index"})
		if err != nil {
			return src, "", err
		}
		data, err := r.content(blob)
		if err != nil {
			return src, "", err
		}
		e, err := addon.ChartIndexEntry(data, index, a.Chart.Name, a.Chart.Version)
		if err != nil {
			return src, "", err
		}
		if u, err := url.Parse(e.URL); err == nil && u.Scheme == "http" && e.SHA256 == "" &&
			!fetch.Loopback(u.Hostname()) {
			return src, "", event.NewFault(event.ClassFailed, "build.chart-http", nil, "what", a.Name, "url", e.URL)
		}
		src.URL = e.URL
		return src, e.SHA256, nil
	}
	if name, ok := strings.CutPrefix(src.URL, "oci://"); ok {
		return r.ociChart(ctx, name, a.Name)
	}
	return src, "", nil
}

// ociChart finds the layer of a chart that is kept in a registry.
func (r *resolver) ociChart(ctx context.Context, name, what string) (fetch.Source, string, error) {
	layer, err := r.registry.Artifact(ctx, name, "application/vnd.cncf.helm.chart.content.v1.tar+gzip")
	if err == nil && layer.Size > maxAddon {
		err = event.NewFault(event.ClassFailed, "fetch.too-large", nil, "what", what, "url", "oci://"+name, "limit",
			fmt.Sprint(maxAddon))
	}
	if err != nil {
		return fetch.Source{}, "", err
	}
	src, err := r.registry.BlobSource(name, layer, what)
	if err != nil {
		return src, "", err
	}
	src.URL = "oci://" + name
	return src, src.SHA256, nil
}

// addonFiles makes the files of an addon from its download, or renders its chart.
func (b *builder) addonFiles(ctx context.Context, a spec.Addon, pin lock.Addon) ([]addon.File, error) {
	if a.Chart == nil {
		data, err := b.content(fetch.Blob{SHA256: pin.SHA256, Size: pin.Size})
		return []addon.File{{Name: a.Name, Data: data}}, err
	}
	src := addon.ChartSource{Name: a.Name}
	end := func(err error) error { return err }
	switch st, err := os.Stat(a.Chart.Path.File); {
	case a.Chart.Path.Name == "":
		f, err := b.Cache.Open(fetch.Blob{SHA256: pin.SHA256, Size: pin.Size})
		if err != nil {
			return nil, err
		}
		defer f.Close()
		src.Archive = f
		end = func(err error) error { return whole(f, err) }
	case err != nil:
		return nil, fileFault(a.Chart.Path, err)
	case st.IsDir():
		src.Dir = os.DirFS(a.Chart.Path.File)
	default:
		data, err := readFile(a.Chart.Path, maxAddon)
		if err != nil {
			return nil, err
		}
		src.Archive = bytes.NewReader(data)
	}
	o := addon.RenderOptions{Release: a.Chart.Release, Namespace: a.Chart.Namespace, KubeVersion: b.Spec.Kubernetes,
		IncludeCRDs: true, Scopes: pin.Scopes}
	if a.Chart.ValueFile.Name != "" {
		data, err := readFile(a.Chart.ValueFile, maxAddon)
		if err != nil {
			return nil, err
		}
		o.Values = append(o.Values, data)
	}
	if a.Chart.Values != "" {
		o.Values = append(o.Values, []byte(a.Chart.Values))
	}
	text, notes, err := addon.Render(ctx, src, o)
	if err = end(err); err != nil {
		return nil, err
	}
	for _, m := range notes {
		if m.Key != "addon.note.no-namespace" { // another addon may define it: lint knows all
			b.warn("", m)
		}
	}
	return []addon.File{{Name: strings.TrimSuffix(a.Name, path.Ext(a.Name)) + ".yaml", Data: text}}, nil
}

// pinFiles puts an addon's files into the cache and pins them with the images that they name.
func (r *resolver) pinFiles(a spec.Addon, files []addon.File, out *lock.Addon) error {
	names := slices.Clone(a.Images)
	var guesses []string
	for _, f := range files {
		blob, err := r.Cache.Put(bytes.NewReader(f.Data), maxAddon)
		if err != nil {
			return err
		}
		out.Files = append(out.Files, lock.AddonFile{Path: f.Name, SHA256: blob.SHA256, Size: blob.Size})
		found, err := r.contentOf(f.Name, blob.SHA256, f.Data)
		if err != nil {
			return err
		}
		for _, x := range found.Images {
			if x.Guess {
				guesses = append(guesses, x.Name)
			} else {
				names = append(names, x.Name)
			}
		}
	}
	out.Images, out.Guesses = distinct(names), distinct(guesses)
	if a.Chart != nil {
		out.Rendering = addon.Rendering
	}
	return nil
}

func distinct(in []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, x := range in {
		if !seen[x] {
			seen[x] = true
			out = append(out, x)
		}
	}
	return out
}

// addonMembers are the members of the pinned addons.
func (b *builder) addonMembers(s *spec.Spec, set *lock.Set) []content {
	var out []content
	for i, a := range set.Addons {
		x := s.Addons[i]
		for _, f := range a.Files {
			out = append(out, content{
				member: bundle.Member{Path: layoutOf(s).Place(bundle.Addon, f.Path), Kind: bundle.Addon, Name: f.Path,
					Version: x.Version, Source: a.URL,
					Size: f.Size, SHA256: f.SHA256, Roles: x.Roles},
				get: func(ctx context.Context, p *plan) error { return p.bringAddon(ctx, p.client, x, a) },
			})
		}
	}
	return out
}

// fetchAddon brings what is pinned of an addon into the cache.
func (b *builder) fetchAddon(ctx context.Context, client *fetch.Client, a lock.Addon) error {
	if a.URL == "" {
		return nil
	}
	src := fetch.Source{URL: a.URL, SHA256: a.SHA256, Size: a.Size, What: a.Name}
	if name, ok := strings.CutPrefix(a.URL, "oci://"); ok {
		var err error
		if src, err = b.registry.BlobSource(name, image.Descriptor{Digest: "sha256:" + a.SHA256, Size: a.Size},
			a.Name); err != nil {
			return err
		}
	}
	_, err := client.Get(ctx, src)
	return otherThanFirst(err, a.Trust)
}

// bringAddon brings an addon's files into the cache again, from what is pinned.
func (b *builder) bringAddon(ctx context.Context, client *fetch.Client, x spec.Addon, a lock.Addon) error {
	if err := b.fetchAddon(ctx, client, a); err != nil {
		return err
	}
	files, err := b.addonFiles(ctx, x, a)
	if x.Path.Name != "" || x.Dir.Name != "" {
		files, _, err = (&resolver{builder: b}).beside(x)
	}
	if err != nil {
		return err
	}
	got := map[string]string{}
	for _, f := range files {
		blob, err := b.Cache.Put(bytes.NewReader(f.Data), maxAddon)
		if err != nil {
			return err
		}
		got[f.Name] = blob.SHA256
	}
	for _, f := range a.Files {
		switch {
		case got[f.Path] == f.SHA256:
		case a.URL == "": // of what lies beside the spec
			return changed(nil, cmp.Or(x.Path.File, x.Dir.File, a.Name))
		default:
			return event.NewFault(event.ClassFailed, "fetch.sum-mismatch", nil, "url", a.URL, "what", f.Path, "got",
				got[f.Path], "want", f.SHA256)
		}
	}
	return nil
}
