package importarchive

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/addon"
	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// decide holds what was found against what a bundle must say: one architecture, a kubelet, its version.
func (s *source) decide(o Options) error {
	for _, p := range s.packages {
		s.votes(p.arch, filepath.Base(p.file))
	}
	arches := slices.Sorted(maps.Keys(s.seen))
	switch {
	case len(arches) > 1:
		return bad("adopt.mixed", nil, "file", s.file, "arch", arches[0], "member", s.seen[arches[0]], "other_arch",
			arches[1], "other", s.seen[arches[1]])
	case len(arches) == 0 && o.Arch == "":
		return bad("adopt.no-arch", nil, "file", s.file)
	case len(arches) == 0:
		s.arch = o.Arch
	default:
		s.arch = arches[0]
	}
	if want := cmp.Or(o.Arch, s.arch); want != s.arch || want != "amd64" && want != "arm64" {
		return bad("adopt.arch", nil, "file", s.file, "got", s.arch, "member", s.seen[s.arch], "want",
			cmp.Or(o.Arch, "amd64, arm64"))
	}
	if err := s.decideVersion(o); err != nil {
		return err
	}
	s.os = o.OS
	if s.os == (bundle.OS{}) {
		s.guess()
	}
	if len(s.packages) > 0 && s.os.Family != s.family {
		return bad("adopt.os", nil, "file", s.file, "family", s.family, "os", s.os.ID+" "+s.os.Release)
	}
	return nil
}

// decideVersion finds the version of Kubernetes: the kubelet's.
func (s *source) decideVersion(o Options) error {
	i := slices.IndexFunc(s.programs, func(p program) bool { return p.name == "kubelet" })
	if i < 0 {
		at := map[bundle.Layout]string{bundle.Typed: "bin/kubelet", bundle.Flat: "kubelet"}[s.layout]
		return bad("adopt.no-kubelet", nil, "file", s.file, "place", at)
	}
	switch got := s.programs[i].version; {
	case got == "" && o.Kubernetes == "":
		return bad("adopt.no-version", nil, "file", s.file, "member", s.programs[i].member.name)
	case got != "" && o.Kubernetes != "" && got != o.Kubernetes:
		return bad("adopt.version", nil, "file", s.file, "got", got, "want", o.Kubernetes)
	case got == "":
		s.programs[i].version = o.Kubernetes
		s.unverified("adopt.version-given", "version", o.Kubernetes)
	}
	s.kubernetes = s.programs[i].version
	if bundle.Minor(s.kubernetes) < bundle.OldestMinor { // a deploy would refuse the bundle
		return bad("adopt.kubernetes-old", nil, "file", s.file, "version", s.kubernetes, "oldest",
			fmt.Sprintf("1.%d", bundle.OldestMinor), "newest", fmt.Sprintf("1.%d", bundle.NewestMinor))
	}
	return nil
}

// tooNew warns of a version that is newer than those that this release knows, as a deploy does. It is a matter of the
// release, not of the archive: the manifest does not list it.
func (s *source) tooNew() []event.Msg {
	if bundle.Minor(s.kubernetes) <= bundle.NewestMinor {
		return nil
	}
	return []event.Msg{event.M("adopt.warn.kubernetes-new", "file", filepath.Base(s.file), "version", s.kubernetes,
		"newest", fmt.Sprintf("1.%d", bundle.NewestMinor))}
}

var (
	debianRelease   = regexp.MustCompile(`[~+]deb(\d{2})`)
	ubuntuRelease   = regexp.MustCompile(`ubuntu[^~]*~(\d{2}\.\d{2})`)
	enterpriseLinux = regexp.MustCompile(`\.el(\d{1,2})(?:[._]|$)`)
	openEuler       = regexp.MustCompile(`\.oe(1|\d{4})(?:sp\d)?(?:\.|$)`)
)

// guess reads the operating system from the versions of the packages, where all that tell one agree.
func (s *source) guess() {
	s.os.Family = s.family
	systems := map[bundle.OS]bool{}
	for _, p := range s.packages {
		if s.family == spec.Debian {
			if m := debianRelease.FindStringSubmatch(p.version); m != nil {
				systems[bundle.OS{Family: spec.Debian, ID: "debian", Release: m[1], Codename: map[string]string{
					"10": "buster", "11": "bullseye", "12": "bookworm", "13": "trixie"}[m[1]]}] = true
			}
			if m := ubuntuRelease.FindStringSubmatch(p.version); m != nil {
				systems[bundle.OS{Family: spec.Debian, ID: "ubuntu", Release: m[1], Codename: map[string]string{
					"20.04": "focal", "22.04": "jammy", "24.04": "noble"}[m[1]]}] = true
			}
			continue
		}
		if m := enterpriseLinux.FindStringSubmatch(p.version); m != nil {
			systems[bundle.OS{Family: spec.RPM, ID: "centos", Release: m[1]}] = true
		}
		if m := openEuler.FindStringSubmatch(p.version); m != nil {
			r := "20.03"
			if len(m[1]) == 4 {
				r = m[1][:2] + "." + m[1][2:]
			}
			systems[bundle.OS{Family: spec.RPM, ID: "openEuler", Release: r}] = true
		}
	}
	if len(systems) == 1 {
		for s.os = range systems {
		}
		s.guessedOS = true
	}
}

// spec describes the archive as the builder wants it. Nothing in it has to be fetched.
func (s *source) spec() *spec.Spec {
	base := event.Clean(filepath.Base(s.file))
	at := func(m member) spec.Path { return spec.Path{Name: base + "/" + m.name, File: m.file} }
	x := &spec.Spec{Name: s.name, Kubernetes: s.kubernetes, OS: s.os, Runtime: "containerd", Closure: spec.NoDeps}
	if s.layout == bundle.Typed {
		x.Layout = "typed"
	}
	if len(s.packages) > 0 {
		kind := map[string]string{spec.Debian: "deb", spec.RPM: "rpm"}[s.family]
		x.Repositories = []spec.Repository{{Type: kind, Priority: 500, Trusted: true,
			Dir: spec.Path{Name: base, File: filepath.Join(s.dir, "pkg")}}}
	}
	named := map[string]bool{}
	for _, p := range s.packages {
		if !p.old && !named[p.name] {
			named[p.name] = true
			x.Install = append(x.Install, bundle.Package{Name: p.name, Roles: p.roles()})
		}
	}
	for _, p := range s.programs {
		u := useOf(p.name)
		x.Binaries = append(x.Binaries, spec.Binary{Name: p.name, Version: p.version, Path: at(p.member), Dst: u.dst,
			Mode: 0o755, Roles: u.roles})
	}
	for _, m := range s.files {
		mode := uint32(0o644)
		if m.exec {
			mode = 0o755
		}
		x.Files = append(x.Files, spec.Binary{Name: filepath.Base(m.name), Path: at(m), Dst: filesDir, Mode: mode})
	}
	for _, name := range s.dirs {
		in := name
		if s.layout == bundle.Typed {
			in = "dir/" + name
		}
		x.Dirs = append(x.Dirs, spec.Dir{Name: name, Dst: filesDir,
			Path: spec.Path{Name: base + "/" + in, File: filepath.Join(s.dir, "in", filepath.FromSlash(in))}})
	}
	for _, m := range s.addons {
		x.Addons = append(x.Addons, spec.Addon{Name: filepath.Base(m.name), Path: at(m),
			Roles: []bundle.Role{bundle.ControlPlane}})
	}
	for _, im := range s.images {
		x.Images = append(x.Images, spec.Image{Name: im.name, Archive: at(im.archive), Why: base,
			Roles: []bundle.Role{bundle.ControlPlane, bundle.Worker}})
	}
	return x
}

// filesDir is a place for files that no role gets by itself: a list of deploy.yaml names the real one.
const filesDir = "/root/.eggo"

// unverified notes what the archive cannot prove.
func (s *source) unverified(code string, kv ...string) {
	f := event.NewFault(event.ClassBundle, code, nil, kv...)
	s.findings = append(s.findings, bundle.Unverified{Code: f.Code, Args: f.Args})
}

// find lists what the archive cannot prove, or lacks.
func (s *source) find() {
	s.unverified("adopt.source")
	if len(s.packages) > 0 {
		s.findInPackages()
	}
	s.findInPrograms()
	s.findInImages()
	if len(s.addons) == 0 {
		s.unverified("adopt.no-addon")
	}
	s.list("adopt.ignored", s.ignored)
	var files []string
	for _, m := range s.files {
		files = append(files, m.name)
	}
	s.list("adopt.files", append(files, s.dirs...))
}

// list notes a finding about several things, if there are any.
func (s *source) list(code string, names []string) {
	const most = 12
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if len(names) == 0 {
		return
	}
	text := strings.Join(names[:min(most, len(names))], ", ")
	if len(names) > most {
		text += ", …"
	}
	s.unverified(code, "count", count(len(names)), "names", event.Clean(text))
}

func (s *source) findInPackages() {
	s.unverified("adopt.unsigned", "count", count(len(s.packages)))
	s.list("adopt.needs", s.needs)
	s.list("adopt.older", s.older)
	var loose, spare []string
	for _, p := range s.packages {
		switch {
		case p.starts && !p.taken:
			spare = append(spare, p.name)
		case p.roles() == nil && !p.starts:
			loose = append(loose, p.name)
		}
	}
	s.list("adopt.packages", loose)
	s.list("adopt.spare", spare)
	switch system := strings.TrimSpace(s.os.ID + " " + s.os.Release); {
	case s.guessedOS:
		s.unverified("adopt.os-read", "os", system)
	case s.os.ID == "":
		s.unverified("adopt.os-unknown", "family", s.family)
	}
}

func (s *source) findInPrograms() {
	var unknown, dynamic, loose, scripts, differ []string
	have := map[string]bool{}
	for _, p := range s.programs {
		have[p.name] = true
		if p.version == "" && !p.script {
			unknown = append(unknown, p.name)
		}
		if p.dynamic {
			dynamic = append(dynamic, p.name)
		}
		if p.script {
			scripts = append(scripts, p.name)
		}
		if useOf(p.name).roles == nil {
			loose = append(loose, p.name)
		}
		if slices.Contains(kubernetesPrograms(), p.name) && p.version != "" && p.version != s.kubernetes {
			differ = append(differ, p.name+" "+p.version)
		}
	}
	s.list("adopt.taken", s.taken)
	s.list("adopt.versions", unknown)
	s.list("adopt.differ", differ)
	s.list("adopt.dynamic", dynamic)
	s.list("adopt.scripts", scripts)
	s.list("adopt.programs", loose)
	var missing []string
	for _, name := range append(kubernetesPrograms()[:6], "etcd") {
		if !have[name] {
			missing = append(missing, name)
		}
	}
	s.list("adopt.no-program", missing)
}

func (s *source) findInImages() {
	var have []string
	base := map[string]bool{}
	for _, im := range s.images {
		have = append(have, im.name)
		if r, err := image.ParseName(im.name); err == nil {
			base[r.Path[strings.LastIndexByte(r.Path, '/')+1:]] = true
		}
	}
	var wanted []addon.Found
	for _, n := range s.wants {
		ref, err := image.Normalize(n)
		if err == nil {
			wanted = append(wanted, addon.Found{Name: n, Ref: ref})
		}
	}
	var missing []string
	for _, x := range addon.Missing(wanted, have) {
		missing = append(missing, x.Name)
	}
	for _, name := range []string{"pause", "coredns"} {
		if !base[name] {
			missing = append(missing, name)
		}
	}
	s.list("adopt.no-image", missing)
	s.list("adopt.image-twice", s.twice)
	if s.unnamed > 0 {
		s.unverified("adopt.unnamed", "count", count(s.unnamed))
	}
}

func count(n int) string { return strconv.Itoa(n) }
