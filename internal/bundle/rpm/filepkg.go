package rpm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Bits of a dependency's flags, from rpm's rpmds.h.
const (
	senseLess, senseGreater, senseEqual = 1 << 1, 1 << 2, 1 << 3
	senseRPMLib                         = 1 << 24
	fileGhost                           = 1 << 6
)

// ReadPackage reads an rpm file to its end and describes it as a repository would: for directories of packages without
// metadata. name is the file's base name and becomes the location. mtime is in seconds since 1970. Nothing is verified
// (see Verify). Fault: "rpm.file".
func ReadPackage(r io.Reader, name string, mtime int64) (*Package, error) {
	sum := sha256.New()
	n := &counter{r: io.TeeReader(r, sum)}
	h, err := ReadHeader(n)
	var p *Package
	if err == nil {
		p, err = h.Package()
	}
	if err == nil {
		_, err = io.Copy(io.Discard, n)
	}
	if err == nil {
		p.Location, p.Size, p.FileTime = name, n.n, max(mtime, 0)
		p.Sum = Sum{"sha256", hex.EncodeToString(sum.Sum(nil))}
		p.SHA256 = p.Sum.Hex
		err = p.valid()
	}
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "rpm.file", err, "file", name)
	}
	return p, nil
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// Package is what the header says of its package. Location, size and checksum are not in it.
func (h *Header) Package() (*Package, error) {
	p := &Package{HeaderStart: h.Start, HeaderEnd: h.End}
	var errs []error
	text := func(id int32, to *string) {
		s, err := h.gen[id].string()
		*to, errs = s, append(errs, err)
	}
	num := func(tags map[int32]tag, id int32, to *int64) {
		if _, ok := tags[id]; ok {
			n, err := tags[id].int()
			*to, errs = n, append(errs, err)
		}
	}
	text(tagName, &p.Name)
	text(tagVersion, &p.Version)
	text(tagRelease, &p.Release)
	text(tagArch, &p.Arch)
	text(tagSummary, &p.Summary)
	text(tagLicense, &p.License)
	text(tagSourceRPM, &p.SourceRPM)
	p.Summary, p.License, p.SourceRPM = clean(p.Summary), clean(p.License), clean(p.SourceRPM)
	epoch := int64(0)
	num(h.gen, tagEpoch, &epoch)
	p.Epoch = fmt.Sprint(epoch)
	num(h.gen, tagBuildTime, &p.BuildTime)
	num(h.gen, tagSize, &p.Installed)
	num(h.gen, tagLongSize, &p.Installed)
	num(h.gen, tagArchiveSize, &p.Archive)
	num(h.sig, sigPayloadSize, &p.Archive)
	for _, d := range []struct {
		to                   *[]*Dep
		name, flags, version int32
	}{
		{&p.provides, tagProvideName, tagProvideFlags, tagProvideVersion},
		{&p.requires, tagRequireName, tagRequireFlags, tagRequireVersion},
		{&p.conflicts, tagConflictName, tagConflictFlags, tagConflictVersion},
		{&p.obsoletes, tagObsoleteName, tagObsoleteFlags, tagObsoleteVersion},
		{&p.recommends, tagRecommendName, tagRecommendName + 2, tagRecommendName + 1},
		{&p.supplements, tagSupplementName, tagSupplementName + 2, tagSupplementName + 1},
	} {
		list, err := h.deps(d.name, d.flags, d.version)
		*d.to, errs = list, append(errs, err)
	}
	files, err := h.files()
	p.files = files
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	check := *p
	check.Location, check.Size, check.Sum = "x.rpm", 1, Sum{"sha256", "0"}
	return p, check.valid()
}

func (h *Header) deps(name, flags, version int32) ([]*Dep, error) {
	names, err := h.gen[name].strings()
	if err != nil || len(names) == 0 {
		return nil, err
	}
	senses, err := h.gen[flags].ints()
	if err != nil {
		return nil, err
	}
	versions, err := h.gen[version].strings()
	if err != nil {
		return nil, err
	}
	if len(senses) != len(names) || len(versions) != len(names) || len(names) > maxDeps {
		return nil, errors.New("dependencies that do not match their versions")
	}
	var out []*Dep
	seen := map[Dep]bool{}
	for i, n := range names {
		if senses[i]&senseRPMLib != 0 || strings.HasPrefix(n, "rpmlib(") || n == "" {
			continue
		}
		d := Dep{Name: n}
		for _, b := range []struct {
			bit uint64
			op  Op
		}{{senseLess, LT}, {senseGreater, GT}, {senseEqual, EQ}} {
			if senses[i]&b.bit != 0 {
				d.Op |= b.op
			}
		}
		if d.EVR = ParseEVR(versions[i]); d.EVR.Version == "" || d.Op == 0 || d.Op&(LT|GT) == LT|GT {
			d.Op, d.EVR = 0, EVR{}
		}
		if d.EVR.Epoch == "0" {
			d.EVR.Epoch = ""
		}
		if err := d.valid(); err != nil {
			return nil, err
		}
		if !seen[d] {
			seen[d] = true
			out = append(out, &d)
		}
	}
	return out, nil
}

func (h *Header) files() ([]file, error) {
	base, err1 := h.gen[tagBaseNames].strings()
	dirs, err2 := h.gen[tagDirNames].strings()
	index, err3 := h.gen[tagDirIndexes].ints()
	modes, err4 := h.gen[tagFileModes].ints()
	flags, err5 := h.gen[tagFileFlags].ints()
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return nil, err
	}
	if len(index) != len(base) || len(modes) != len(base) || len(flags) != len(base) || len(base) > maxFiles {
		return nil, errors.New("files that do not match their directories")
	}
	var out []file
	for i, b := range base {
		if index[i] >= uint64(len(dirs)) {
			return nil, errors.New("a file without a directory")
		}
		f := file{path: dirs[index[i]] + b}
		switch {
		case flags[i]&fileGhost != 0:
			f.kind = "ghost"
		case modes[i]&0o170000 == 0o040000:
			f.kind = "dir"
		}
		if err := f.valid(); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// Match says whether the header is that of the package which the metadata promised. Fault: "rpm.mismatch".
func (h *Header) Match(p *Package) error {
	got, err := h.Package()
	if err != nil {
		return event.NewFault(event.ClassFailed, "rpm.file", err, "file", p.File())
	}
	if got.NEVRA() != p.NEVRA() {
		return event.NewFault(event.ClassFailed, "rpm.mismatch", nil, "want", p.NEVRA(), "got", got.NEVRA())
	}
	return nil
}
