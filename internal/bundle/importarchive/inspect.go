package importarchive

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/addon"
	"github.com/eggo-k8s/eggo/internal/bundle/deb"
	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/bundle/rpm"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// source is an archive with what was found in it.
type source struct {
	file   string // as it was given
	dir    string // temporary
	sha256 string
	size   int64
	name   string // of the bundle
	layout bundle.Layout

	family   string // of the packages
	packages []pkg
	programs []program
	files    []member // with the file's name only
	dirs     []string // names
	addons   []member
	images   []found
	archives []member // of images

	seen       map[string]string // architecture → what is for it
	arch       string
	kubernetes string
	os         bundle.OS
	guessedOS  bool

	needs    []string // capabilities that packages need and none of the archive has
	older    []string // packages of which there is a newer one
	unnamed  int      // images
	twice    []string // images of one name that differ
	ignored  []string // members
	taken    []string // programs out of packages
	wants    []string // images that addons name
	findings []bundle.Unverified
}

// pkg is a package by its own header.
type pkg struct {
	file, name, version, arch string

	old    bool // there is a newer one
	starts bool // it has a program that Eggo starts
	taken  bool // such a program was taken out of it
}

// found is an image of an archive.
type found struct {
	name, digest string
	archive      member
}

// read unpacks an archive and inspects it.
func (w *Work) read(ctx context.Context, file string, progress func(done, total int64)) (*source, error) {
	s := &source{file: file, dir: filepath.Join(w.dir, fmt.Sprint(len(w.sources))), name: w.Name}
	u, sum, err := unpack(ctx, file, s.dir, progress)
	if err != nil {
		return nil, err
	}
	s.sha256, s.size = sum, u.size
	if err := u.lift(); err != nil {
		return nil, err
	}
	if err := s.sort(u.members); err != nil {
		return nil, err
	}
	steps := []func(context.Context) error{s.readPackages, s.takePrograms, s.readPrograms, s.readAddons, s.readImages,
		func(context.Context) error { return s.decide(w.Options) }}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	s.find()
	return s, w.room(u)
}

// sort gives each member its kind, by the directory that it is in.
func (s *source) sort(members []member) error {
	has := func(match func(string) bool) bool {
		return slices.ContainsFunc(members, func(m member) bool { return match(m.name) })
	}
	if has(func(n string) bool { return n == bundle.SumsName }) &&
		slices.ContainsFunc(members, func(m member) bool { return m.name == bundle.ManifestName && ours(m) }) {
		return bad("adopt.is-bundle", nil, "file", s.file)
	}
	switch {
	case has(typed):
		s.layout = bundle.Typed
	case has(isPackage), has(func(n string) bool {
		return bundle.ImagesArchive(n) && strings.Contains(n, "image") || strings.HasPrefix(n, "addons/")
	}):
	default:
		return bad("adopt.layout", nil, "file", s.file)
	}
	for _, m := range members {
		if s.layout == bundle.Typed {
			s.sortTyped(m)
		} else {
			s.sortFlat(m)
		}
	}
	slices.Sort(s.dirs)
	s.dirs = slices.Compact(s.dirs)
	if len(s.archives) == 0 {
		return bad("adopt.no-images", nil, "file", s.file, "place",
			map[bundle.Layout]string{bundle.Flat: "images.tar", bundle.Typed: "image/images.tar"}[s.layout])
	}
	return nil
}

func typed(name string) bool {
	dir, _, ok := strings.Cut(name, "/")
	return ok && slices.Contains([]string{"pkg", "bin", "file", "dir", "image"}, dir)
}

// ours says whether a member is the manifest of a bundle.
func ours(m member) bool {
	data, err := head(m.file, bundle.MaxManifest)
	if err != nil {
		return false
	}
	_, err = bundle.ParseManifest(data)
	return err == nil
}

func (s *source) sortTyped(m member) {
	dir, rest, below := strings.Cut(m.name, "/")
	flat := below && !strings.Contains(rest, "/")
	switch {
	case dir == "pkg" && flat && isPackage(rest):
		s.packages = append(s.packages, pkg{file: m.file})
	case dir == "pkg" && metadata(rest), !below && metadata(dir):
	case dir == "bin" && flat:
		s.programs = append(s.programs, program{member: m, name: rest})
	case dir == "image" && below:
		s.archives = append(s.archives, m)
	case dir == "file" && flat && isManifest(m):
		s.addons = append(s.addons, m)
	case dir == "file" && flat:
		s.files = append(s.files, m)
	case dir == "dir" && strings.Contains(rest, "/"):
		name, _, _ := strings.Cut(rest, "/")
		s.dirs = append(s.dirs, name)
	default:
		s.ignored = append(s.ignored, m.name)
	}
}

func (s *source) sortFlat(m member) {
	dir, rest, below := strings.Cut(m.name, "/")
	switch {
	case !below && isPackage(m.name):
		s.packages = append(s.packages, pkg{file: m.file})
	case metadata(m.name):
	case bundle.ImagesArchive(m.name):
		s.archives = append(s.archives, m)
	case dir == "addons" && below && !strings.Contains(rest, "/") && isManifest(m):
		s.addons = append(s.addons, m)
	case !below && isELF(m.file):
		s.programs = append(s.programs, program{member: m, name: m.name})
	case !below:
		s.files = append(s.files, m)
	case dir == "addons":
		s.ignored = append(s.ignored, m.name)
	default:
		s.dirs = append(s.dirs, dir)
	}
}

// metadata is made again from the packages.
func metadata(name string) bool {
	return strings.HasPrefix(name, "repodata/") || slices.Contains([]string{"Packages", "Packages.gz", "Release",
		"InRelease", "Release.gpg", bundle.SumsName, bundle.ImagesSumName, bundle.SBOMName}, name)
}

// isManifest says whether a file is a manifest for a cluster.
func isManifest(m member) bool {
	if !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(m.name)) {
		return false
	}
	data, err := head(m.file, maxAddon)
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return false
	}
	_, err = addon.Images(m.name, data)
	return err == nil
}

const maxAddon = 64 << 20 // bytes of a manifest

// head reads a small file, an error if it is larger.
func head(file string, limit int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	return data, err
}

// damaged is the fault of a member.
func (s *source) damaged(member string, err error) error {
	return bad("adopt.member", why(err), "file", s.file, "member", member)
}

// readPackages reads the headers of the packages.
func (s *source) readPackages(ctx context.Context) error {
	var debs []deb.Stanza
	var rpms []*rpm.Package
	var errs []error
	for i := range s.packages {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p := &s.packages[i]
		family := map[string]string{".deb": spec.Debian, ".rpm": spec.RPM}[path.Ext(p.file)]
		if s.family = cmp.Or(s.family, family); s.family != family {
			return bad("adopt.families", nil, "file", s.file, "member", filepath.Base(p.file))
		}
		err := withFile(p.file, func(f *os.File) error {
			if family == spec.RPM {
				x, err := rpm.ReadPackage(bufio.NewReaderSize(f, 256<<10), filepath.Base(p.file), 0)
				if err == nil {
					p.name, p.version, p.arch = x.Name, x.EVR().String(), x.Arch
					rpms = append(rpms, x)
				}
				return err
			}
			x, err := deb.ReadControl(bufio.NewReader(f))
			if err == nil {
				p.name, p.version, p.arch = x.Get("Package"), x.Get("Version"), x.Get("Architecture")
				debs = append(debs, x)
			}
			return err
		})
		if err != nil {
			errs = append(errs, s.damaged(filepath.Base(p.file), err))
		}
	}
	s.needs = append(deb.Unmet(debs), rpm.Unmet(rpms)...)
	s.findOlder()
	return errors.Join(errs...)
}

func withFile(name string, use func(*os.File) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return use(f)
}

// findOlder lists packages that are there in a newer version, too: only that one is taken.
func (s *source) findOlder() {
	newest := map[string]*pkg{}
	compare := deb.Compare
	if s.family == spec.RPM {
		compare = func(a, b string) int { return rpm.Compare(rpm.ParseEVR(a), rpm.ParseEVR(b)) }
	}
	for i := range s.packages {
		p := &s.packages[i]
		if p.name == "" {
			continue
		}
		old, twice := newest[p.name]
		if twice && compare(p.version, old.version) < 0 {
			p, old = old, p
		}
		if twice {
			old.old = true
			s.older = append(s.older, old.name+" "+old.version)
		}
		newest[p.name] = p
	}
}

// readAddons lists the images that the manifests name.
func (s *source) readAddons(context.Context) error {
	for _, m := range s.addons {
		data, err := head(m.file, maxAddon)
		if err != nil {
			return s.damaged(m.name, err)
		}
		list, err := addon.Images(m.name, data)
		if err != nil {
			return s.damaged(m.name, err)
		}
		for _, x := range list {
			if !x.Guess {
				s.wants = append(s.wants, x.Name)
			}
		}
	}
	slices.Sort(s.wants)
	s.wants = slices.Compact(s.wants)
	return nil
}

// readImages lists the images of the archives.
func (s *source) readImages(ctx context.Context) error {
	at := map[string]found{}
	for _, m := range s.archives {
		src, err := image.OpenSource(ctx, m.file, s.dir)
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return s.damaged(m.name, err)
		}
		list, err := src.Images(ctx)
		if err = errors.Join(err, src.Close()); err != nil {
			return s.damaged(m.name, err)
		}
		for _, im := range list {
			s.addImage(at, m, im)
		}
	}
	if len(s.images) == 0 {
		return bad("adopt.no-images", nil, "file", s.file, "place", s.archives[0].name)
	}
	return nil
}

func (s *source) addImage(at map[string]found, m member, im image.SourceImage) {
	if len(im.Names) == 0 {
		s.unnamed++
	}
	tagged := slices.ContainsFunc(im.Names, func(n string) bool { return !image.IsDigestName(n) })
	for _, name := range im.Names {
		// The builder gives an image the names with its digest again. One without another name keeps this one.
		if image.IsDigestName(name) && (tagged || !strings.HasSuffix(name, "@"+im.Digest)) {
			continue
		}
		x := found{name, im.Digest, m}
		if old, twice := at[name]; twice {
			if old.digest != x.digest || old.digest == "" {
				s.twice = append(s.twice, name)
			}
			continue
		}
		at[name] = x
		s.images = append(s.images, x)
		if len(im.Platforms) == 1 {
			s.votes(im.Platforms[0], name)
		}
	}
}

// adopted is what the manifest says of the archive.
func (s *source) adopted() *bundle.Adopted {
	return &bundle.Adopted{File: event.Clean(filepath.Base(s.file)), SHA256: s.sha256, Size: s.size,
		Unverified: s.findings}
}
