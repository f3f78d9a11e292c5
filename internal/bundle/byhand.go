package bundle

import (
	"archive/tar"
	"path"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// MeantPath is the path of a member as people mean it who pack an archive by hand: tar of a directory puts ./ before
// it, some programs on Windows write backslashes. It is to be held against CheckPath.
func MeantPath(name string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.ReplaceAll(name, `\`, "/"), "./"), "/")
}

// OfMacOS reports whether a path is of what macOS puts beside the files that are archived: their attributes, and how a
// window shows a directory.
func OfMacOS(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, "._") || base == ".DS_Store" || slices.Contains(strings.Split(name, "/"), "__MACOSX")
}

// TopDir returns the directory that all these paths are below, as where a directory was packed and not what is in it.
// It ends above the directories that the archives of the original eggo have; "" if there is none.
func TopDir(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	top := strings.Split(path.Dir(paths[0]), "/")
	for _, p := range paths[1:] {
		dirs := strings.Split(path.Dir(p), "/")
		for len(top) > 0 && (len(top) > len(dirs) || !slices.Equal(top, dirs[:len(top)])) {
			top = top[:len(top)-1]
		}
	}
	known := []string{".", "pkg", "bin", "file", "dir", "image", "addons", "repodata", "blobs"}
	if i := slices.IndexFunc(top, func(d string) bool { return slices.Contains(known, d) }); i >= 0 {
		top = top[:i]
	}
	return strings.Join(top, "/")
}

// ImagesArchive reports whether a file at the root of an archive that was packed by hand has its images, also where
// they were compressed.
func ImagesArchive(name string) bool {
	if strings.Contains(name, "/") {
		return false
	}
	stem, gzipped := strings.CutSuffix(name, ".gz")
	stem, tarred := strings.CutSuffix(stem, ".tar")
	if !tarred {
		stem, gzipped = strings.CutSuffix(name, ".tgz")
		tarred = gzipped
	}
	return tarred && (!gzipped || strings.Contains(stem, "image"))
}

// unknownLayout says what an archive is that does not begin with manifest.json. It looks at a few members only.
func (s *stream) unknownLayout(hdr *tar.Header) error {
	s.plain.limit = unknownBudget
	var names, raw []string
	for i := 0; hdr != nil && i < 64; i++ {
		if hdr.Typeflag != tar.TypeDir && !OfMacOS(MeantPath(hdr.Name)) {
			names, raw = append(names, MeantPath(hdr.Name)), append(raw, hdr.Name)
		}
		var err error
		if hdr, err = s.rawNext(); err != nil {
			break
		}
	}
	top := TopDir(names)
	for i := range names {
		names[i] = strings.TrimPrefix(names[i], top+"/")
	}
	if slices.ContainsFunc(names, ofImages) {
		return fault("bundle.images", nil)
	}
	if i := slices.Index(names, ManifestName); i >= 0 {
		return fault("bundle.order", nil, "member", event.Clean(raw[i]), "want", event.Clean(raw[0]))
	}
	layout := layoutOf(names)
	odd := top != "" || slices.ContainsFunc(names, compressedImages) || !slices.Equal(names, raw)
	if layout == "unknown" || !odd {
		return fault("bundle.no-manifest", nil, "layout", layout)
	}
	const most = 5
	found := event.Clean(strings.Join(raw[:min(most, len(raw))], ", "))
	if len(raw) > most {
		found += ", …"
	}
	return fault("bundle.by-hand", nil, "layout", layout, "found", found)
}

// layoutOf tells an archive of the original eggo by its members.
func layoutOf(names []string) string {
	typed := func(n string) bool {
		dir, _, ok := strings.Cut(n, "/")
		return ok && slices.Contains([]string{"pkg", "bin", "file", "dir", "image"}, dir)
	}
	flat := func(n string) bool {
		return n == ImagesName || compressedImages(n) || strings.HasPrefix(n, "addons/") ||
			strings.HasSuffix(n, ".deb") || strings.HasSuffix(n, ".rpm")
	}
	switch {
	case slices.ContainsFunc(names, typed):
		return "typed"
	case slices.ContainsFunc(names, flat):
		return "flat"
	}
	return "unknown"
}

func compressedImages(name string) bool {
	return ImagesArchive(name) && !strings.HasSuffix(name, ".tar")
}

// ofImages reports whether a member is one of an archive of images, such as docker save writes.
func ofImages(name string) bool {
	return name == "oci-layout" || name == "repositories" || strings.HasPrefix(name, "blobs/sha256/") ||
		strings.HasSuffix(name, "/layer.tar") || strings.HasPrefix(name, "sha256:") // as crane names configurations
}

// rawNext is next without its refusals, for looking at archives of other tools.
func (s *stream) rawNext() (*tar.Header, error) {
	for {
		hdr, err := s.tr.Next()
		if err != nil || hdr.Typeflag == tar.TypeReg {
			return hdr, err
		}
	}
}
