package image

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strconv"
)

// complete adds the images to those of an OCI layout that only docker's manifest.json of the same archive has whole.
// docker 25.0 wrote OCI manifests without layers, and docker save writes no entry for an image that is named by its
// digest. Where manifest.json cannot be read, the layout is taken as it is.
func (s *Source) complete(manifest []byte) error {
	layout := s.entries
	s.entries = nil
	if err := s.dockerEntries(manifest); err != nil {
		if s.entries = layout; len(layout) == 0 {
			return err
		}
		return nil
	}
	docker, order := map[string]entry{}, []string{} // by the digest of the configuration
	for i, e := range s.entries {
		raw, _, err := s.dockerConfig(s.path, e.docker)
		if err != nil && len(layout) > 0 {
			continue
		}
		config := sumOf(raw)
		if err != nil {
			config = strconv.Itoa(i) // reported when it is resolved
		}
		old, twice := docker[config]
		if !twice {
			old, order = e, append(order, config)
		}
		docker[config] = old.with(e)
	}
	s.entries = nil
	whole := map[string]bool{}
	for _, e := range layout {
		configs, hollow := s.configs(e.desc)
		for _, c := range configs {
			whole[c] = true
		}
		if d, there := docker[hollow]; there {
			docker[hollow] = d.with(e)
			continue
		}
		s.entries = append(s.entries, e)
	}
	for _, config := range order {
		if !whole[config] {
			s.entries = append(s.entries, docker[config])
		}
	}
	return nil
}

// with is the entry with the names of another one, too.
func (e entry) with(other entry) entry {
	e.names, e.tags = slices.Clone(e.names), slices.Clone(e.tags)
	for _, n := range slices.Concat(other.names, other.tags) {
		if !slices.Contains(e.tags, n) {
			e.name(n)
		}
	}
	return e
}

// configs are the digests of the configurations of the images that a descriptor leads to and whose manifests are there.
// hollow is that of a manifest without the layers that its configuration names. What cannot be read has none: it is
// reported when the image is resolved.
func (s *Source) configs(d Descriptor) (list []string, hollow string) {
	raw, err := s.bytesOf(s.path, d)
	if err != nil {
		return nil, ""
	}
	if _, isIndex, err := Kind(s.path, raw, d.MediaType); err != nil {
		return nil, ""
	} else if isIndex {
		var x index
		if json.Unmarshal(raw, &x) != nil {
			return nil, ""
		}
		for _, m := range x.Manifests {
			if known(m.MediaType) && !indexType(m.MediaType) && checkDescriptor(s.path, m, maxManifest) == nil {
				more, _ := s.configs(m)
				list = append(list, more...)
			}
		}
		return list, ""
	}
	doc, err := parseManifest(s.path, raw)
	if err != nil {
		return nil, ""
	}
	if len(doc.Layers) == 0 && doc.Config.Size <= MaxConfig {
		if raw, err = s.bytesOf(s.path, doc.Config); err == nil {
			if c, err := parseConfig(s.path, raw); err == nil && len(c.RootFS.DiffIDs) > 0 {
				return nil, doc.Config.Digest
			}
		}
	}
	return []string{doc.Config.Digest}, ""
}

// platformOf reads the platform of an image of an index from its configuration; none for what is not there.
func (s *Source) platformOf(name string) func(Descriptor) (Platform, error) {
	return func(d Descriptor) (Platform, error) {
		raw, err := s.bytesOf(name, d)
		if err == nil {
			var p Platform
			p, err = PlatformOf(name, raw, func(d Descriptor) ([]byte, error) { return s.bytesOf(name, d) })
			if err == nil {
				return p, nil
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return Platform{}, err
	}
}

// indexPlatforms lists the platforms of an index whose images are there: docker save writes the whole index and only
// the platforms that it has.
func (s *Source) indexPlatforms(name string, raw []byte) (out []Platform, err error) {
	var x index
	if err := json.Unmarshal(raw, &x); err != nil {
		return nil, failed("bundle.image-manifest", err, "image", name)
	}
	for _, m := range x.Manifests {
		if m.aside() || !known(m.MediaType) || checkDescriptor(name, m, maxManifest) != nil {
			continue
		}
		if _, err := s.place(m.Digest); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if !m.bare() {
			out = append(out, *m.Platform)
			continue
		}
		if len(out) >= maxBare {
			break
		}
		p, err := s.platformOf(name)(m)
		if err != nil {
			return nil, err
		}
		if p != (Platform{}) {
			out = append(out, p)
		}
	}
	return out, nil
}
