package rpm

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Files of the repository metadata in a bundle.
const (
	PrimaryPath   = "repodata/primary.xml.gz"
	FilelistsPath = "repodata/filelists.xml.gz"
	OtherPath     = "repodata/other.xml.gz"
)

const (
	commonNS = "http://linux.duke.edu/metadata/common"
	rpmNS    = "http://linux.duke.edu/metadata/rpm"
)

// MetaOf is the package's element of primary.xml as it stands in a bundle, on one line: its location is the file's
// plain name, and what no resolver asks for (description, packager, changes, weak dependencies) is left out. The same
// package gives the same text, whatever repository it came from and however that wrote it.
func MetaOf(p *Package) string {
	var b strings.Builder
	text := func(name, s string) {
		if s == "" {
			b.WriteString("<" + name + "/>")
			return
		}
		b.WriteString("<" + name + ">" + escape(s) + "</" + name + ">")
	}
	num := func(n int64) string { return strconv.FormatInt(n, 10) }
	b.WriteString(`<package type="rpm">`)
	text("name", p.Name)
	text("arch", p.Arch)
	b.WriteString(`<version epoch="` + escape(orZero(p.Epoch)) + `" ver="` + escape(p.Version) + `" rel="` +
		escape(p.Release) + `"/>`)
	b.WriteString(`<checksum type="` + p.Sum.Type + `" pkgid="YES">` + p.Sum.Hex + `</checksum>`)
	text("summary", p.Summary)
	b.WriteString(`<description/><packager/><url/>`)
	b.WriteString(`<time file="` + num(p.FileTime) + `" build="` + num(p.BuildTime) + `"/>`)
	b.WriteString(`<size package="` + num(p.Size) + `" installed="` + num(p.Installed) + `" archive="` +
		num(p.Archive) + `"/>`)
	b.WriteString(`<location href="` + escape(p.File()) + `"/><format>`)
	text("rpm:license", p.License)
	b.WriteString(`<rpm:vendor/><rpm:group/><rpm:buildhost/>`)
	text("rpm:sourcerpm", p.SourceRPM)
	b.WriteString(`<rpm:header-range start="` + num(p.HeaderStart) + `" end="` + num(p.HeaderEnd) + `"/>`)
	writeDeps(&b, "provides", p.provides)
	writeDeps(&b, "requires", p.requires)
	writeDeps(&b, "conflicts", p.conflicts)
	writeDeps(&b, "obsoletes", p.obsoletes)
	b.WriteString(fileElements(p))
	b.WriteString("</format></package>")
	return b.String()
}

func writeDeps(b *strings.Builder, kind string, list []*Dep) {
	if len(list) == 0 {
		return
	}
	b.WriteString("<rpm:" + kind + ">")
	for _, d := range list {
		b.WriteString(`<rpm:entry name="` + escape(d.Name) + `"`)
		if d.Op != 0 {
			b.WriteString(` flags="` + d.Op.flag() + `" epoch="` + escape(orZero(d.EVR.Epoch)) + `" ver="` +
				escape(d.EVR.Version) + `"`)
			if d.EVR.Release != "" {
				b.WriteString(` rel="` + escape(d.EVR.Release) + `"`)
			}
		}
		b.WriteString("/>")
	}
	b.WriteString("</rpm:" + kind + ">")
}

// escape writes what was checked to be printable, or drops what is not.
func escape(s string) string {
	if !strings.ContainsAny(s, `&<>"'`) && printable(s) {
		return s
	}
	if !printable(s) {
		s = clean(s)
	}
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace(s)
}

// MaxMeta is how long the metadata of one package may be, in bytes. Kernels and TeX have some hundreds of kilobytes.
const MaxMeta = 16 << 20

// PackageOfMeta reads back what MetaOf wrote. It takes nothing else: a text that is not, byte for byte, the one that
// MetaOf gives for the package that it describes is refused. Fault: "rpm.meta".
func PackageOfMeta(meta string) (*Package, error) {
	p, err := packageOfMeta(meta)
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "rpm.meta", err)
	}
	return p, nil
}

func packageOfMeta(meta string) (*Package, error) {
	if len(meta) > MaxMeta {
		return nil, fmt.Errorf("more than %d bytes", MaxMeta)
	}
	x := newScanner(strings.NewReader(meta))
	if err := x.root("package"); err != nil {
		return nil, err
	}
	p, err := readPackage(x, newTable(), func(string) bool { return true })
	if err == nil {
		err = p.valid()
	}
	if err != nil {
		return nil, err
	}
	if p.Location != p.File() || p.Base != "" || MetaOf(p) != meta {
		return nil, fmt.Errorf("the metadata of %.200q is not as it was written", p.Name)
	}
	return p, nil
}

// RepodataFromMetas makes the metadata of a repository with the packages of the metas at its root, by the files' names:
// the nodes' dnf chooses from it. It depends on the packages alone, not on their order. Faults: "rpm.meta" and
// "rpm.same-file", when two packages would have the same file.
func RepodataFromMetas(metas []string) (map[string][]byte, error) {
	type entry struct {
		p    *Package
		meta string
	}
	list := make([]entry, 0, len(metas))
	files := map[string]*Package{}
	var newest int64
	for _, m := range metas {
		p, err := PackageOfMeta(m)
		if err != nil {
			return nil, err
		}
		key := strings.ToLower(p.File())
		if other := files[key]; other != nil {
			return nil, event.NewFault(event.ClassFailed, "rpm.same-file", nil, "file", p.File(), "package", p.NEVRA(),
				"other", other.NEVRA())
		}
		files[key] = p
		list = append(list, entry{p, m})
		newest = max(newest, p.BuildTime)
	}
	sort.Slice(list, func(a, b int) bool { return list[a].p.File() < list[b].p.File() })

	primary := &document{name: "metadata", count: len(list), ns: `xmlns="` + commonNS + `" xmlns:rpm="` + rpmNS + `"`}
	filelists := &document{name: "filelists", count: len(list), ns: `xmlns="http://linux.duke.edu/metadata/filelists"`}
	other := &document{name: "otherdata", count: len(list), ns: `xmlns="http://linux.duke.edu/metadata/other"`}
	for _, e := range list {
		head := e.p.listHead()
		primary.line(e.meta)
		filelists.line(head + fileElements(e.p) + "</package>")
		other.line(head + "</package>")
	}
	out := map[string][]byte{}
	var index bytes.Buffer
	fmt.Fprintf(&index,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<repomd xmlns=\"http://linux.duke.edu/metadata/repo\" "+
			"xmlns:rpm=\"%s\">\n"+
			"  <revision>%d</revision>\n", rpmNS, newest)
	for _, f := range []struct {
		typ, path string
		doc       *document
	}{{"primary", PrimaryPath, primary}, {"filelists", FilelistsPath, filelists}, {"other", OtherPath, other}} {
		plain := f.doc.bytes()
		packed, err := pack(plain)
		if err != nil {
			return nil, err
		}
		out[f.path] = packed
		fmt.Fprintf(&index,
			"  <data type=\"%s\">\n    <checksum type=\"sha256\">%s</checksum>\n    <open-checksum "+
				"type=\"sha256\">%s</open-checksum>\n"+
				"    <location href=\"%s\"/>\n    <timestamp>%d</timestamp>\n    <size>%d</size>\n    "+
				"<open-size>%d</open-size>\n  </data>\n",
			f.typ, sum256(packed), sum256(plain), f.path, newest, len(packed), len(plain))
	}
	index.WriteString("</repomd>\n")
	out[RepomdPath] = index.Bytes()
	return out, nil
}

// listHead begins the package's element in the lists beside primary.xml.
func (p *Package) listHead() string {
	return `<package pkgid="` + p.Sum.Hex + `" name="` + escape(p.Name) + `" arch="` + escape(p.Arch) +
		`"><version epoch="` + escape(orZero(p.Epoch)) +
		`" ver="` + escape(p.Version) + `" rel="` + escape(p.Release) + `"/>`
}

func fileElements(p *Package) string {
	var b strings.Builder
	for _, f := range p.files {
		b.WriteString("<file")
		if f.kind != "" {
			b.WriteString(` type="` + f.kind + `"`)
		}
		b.WriteString(">" + escape(f.path) + "</file>")
	}
	return b.String()
}

// document is one file of metadata, an element to a line.
type document struct {
	name, ns string
	count    int
	body     bytes.Buffer
}

func (d *document) line(s string) {
	d.body.WriteString(s)
	d.body.WriteByte('\n')
}

func (d *document) bytes() []byte {
	return fmt.Appendf(nil, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<%s %s packages=\"%d\">\n%s</%s>\n", d.name,
		d.ns, d.count, d.body.Bytes(), d.name)
}

// pack compresses with a header that has no name and no time.
func pack(plain []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = z.Write(plain)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

func sum256(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}
