// Package sbom writes the bill of materials of a bundle: an SPDX 2.3 document in JSON that names each package, program,
// addon, image and layer with its version, sum and package URL. It is a pure function of the bundle's manifest, so that
// the same bundle has the same bytes.
//
// The formats: https://spdx.github.io/spdx-spec/v2.3/ and https://github.com/package-url/purl-spec.
package sbom

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// Suffix of the copy that stands beside the bundle: NAME-ARCH and this.
const Suffix = ".spdx.json"

// Origin is something that a member was made from and that the manifest does not name, such as the chart that an addon
// was rendered from.
type Origin struct {
	Member  string // path of the member
	Name    string
	Version string
	Source  string // URL, "" when it has none
	SHA256  string // "" when not known
}

// Write writes the document for a bundle with that manifest. The member that will hold the document (bundle.SBOMName)
// is left out whether it is in the manifest or not, since it cannot hold its own sum. created is that of the sources
// (SOURCE_DATE_EPOCH, else 1970). The only errors are those of w.
func Write(w io.Writer, m *bundle.Manifest, origins []Origin, created time.Time) error {
	d := &builder{manifest: m, ids: map[string]int{}, doc: document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: m.Name + "-" + m.Arch,
		Creation: creation{created.UTC().Format("2006-01-02T15:04:05Z"), []string{"Tool: eggo-bundle"}},
	}}
	d.bundle()
	of := map[string][]Origin{}
	for _, o := range origins {
		of[o.Member] = append(of[o.Member], o)
	}
	for _, e := range m.Members {
		if e.Path == bundle.SBOMName || e.Kind == bundle.Images {
			continue
		}
		id := d.member(e)
		for _, o := range of[e.Path] {
			d.origin(id, o)
		}
	}
	layers := map[string]string{}
	for _, im := range m.Images {
		d.image(im, layers)
	}
	return d.write(w)
}

// write gives the document its name space. It has to be another one for each document; the document itself, still
// without one, decides it.
func (d *builder) write(w io.Writer) error {
	text, err := d.doc.encode()
	if err != nil {
		return err
	}
	d.doc.Namespace = namespace(text)
	if text, err = d.doc.encode(); err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func (d document) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	err := enc.Encode(d)
	return b.Bytes(), err
}

// namespace is a UUID of version 8 (RFC 9562), made of the text's sum.
func namespace(text []byte) string {
	u := sha256.Sum256(text)
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

// builder puts the document together.
type builder struct {
	manifest *bundle.Manifest
	doc      document
	ids      map[string]int // the last number that was put behind an ID
	root     string         // the bundle's package
}

// add gives the package an ID of its own, which says what it is, and lists it.
func (d *builder) add(p pkg, words ...string) string {
	id := "SPDXRef-" + idString(strings.Join(words, "-"))
	p.ID = id
	for d.ids[p.ID] > 0 {
		// goes on where it was, else many names that differ in odd characters alone would take quadratic time
		d.ids[id]++
		p.ID = fmt.Sprintf("%s-%d", id, d.ids[id])
	}
	d.ids[p.ID]++
	if p.Location == "" {
		p.Location = noAssertion
	}
	p.Concluded, p.Declared, p.Copyright = noAssertion, noAssertion, noAssertion
	d.doc.Packages = append(d.doc.Packages, p)
	return p.ID
}

func (d *builder) relate(from, how, to string) {
	d.doc.Relations = append(d.doc.Relations, relation{from, how, to})
}

func (d *builder) bundle() {
	m := d.manifest
	d.root = d.add(pkg{
		Name: m.Name, VersionInfo: m.Kubernetes, File: m.Name + "-" + m.Arch + ".tar.gz", Purpose: "ARCHIVE",
		Comment: fmt.Sprintf("Kubernetes %s with what it needs on %s %s (%s)", m.Kubernetes, m.OS.ID, m.OS.Release,
			m.Arch),
	}, "bundle", m.Name, m.Arch)
	d.relate(d.doc.ID, "DESCRIBES", d.root)
}

func (d *builder) member(e bundle.Member) string {
	p := pkg{Name: e.Name, VersionInfo: e.Version, File: path.Base(e.Path), Location: location(e.Source),
		Sums: sums(e.SHA256)}
	if p.Name == "" {
		p.Name = path.Base(e.Path)
	}
	switch e.Kind {
	case bundle.Deb:
		p.Purpose, p.Refs = "INSTALL", purl(debURL(d.manifest, e))
	case bundle.RPM:
		p.Purpose, p.Refs = "INSTALL", purl(rpmURL(d.manifest, e))
	case bundle.Binary:
		p.Purpose, p.Refs = "APPLICATION", purl(genericURL(p.Name, e.Version, p.Location, e.SHA256))
	case bundle.Addon:
		p.Purpose, p.Refs = "INSTALL", purl(genericURL(p.Name, e.Version, p.Location, e.SHA256))
	default:
		p.Purpose = "FILE"
	}
	id := d.add(p, string(e.Kind), path.Base(e.Path))
	d.relate(d.root, "CONTAINS", id)
	return id
}

func (d *builder) origin(member string, o Origin) {
	p := pkg{Name: o.Name, VersionInfo: o.Version, Location: location(o.Source), Sums: sums(o.SHA256),
		Purpose: "SOURCE"}
	p.Refs = purl(genericURL(o.Name, o.Version, p.Location, o.SHA256))
	d.relate(member, "GENERATED_FROM", d.add(p, "origin", o.Name, o.Version))
}

// image lists an image and those of its layers that no image before it had; layers has their IDs.
func (d *builder) image(im bundle.Image, layers map[string]string) {
	url, tag := imageURL(d.manifest.Arch, im)
	hex := strings.TrimPrefix(im.Digest, "sha256:")
	p := pkg{Name: im.Name, VersionInfo: tag, Sums: sums(hex), Purpose: "CONTAINER", Refs: purl(url)}
	if p.VersionInfo == "" {
		p.VersionInfo = im.Digest
	}
	id := d.add(p, "image", im.Name)
	d.relate(d.root, "CONTAINS", id)
	mine := map[string]bool{}
	for _, l := range im.Layers {
		if mine[l] {
			continue
		}
		mine[l] = true
		if layers[l] == "" {
			hex := strings.TrimPrefix(l, "sha256:")
			layers[l] = d.add(pkg{Name: l, Sums: sums(hex), Purpose: "ARCHIVE"}, "layer", hex)
		}
		d.relate(id, "CONTAINS", layers[l])
	}
}

// location is the URL without credentials, or that nothing is said of it.
func location(source string) string {
	u, err := url.Parse(source)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return noAssertion
	}
	u.User = nil
	return u.String()
}

func sums(hex string) []checksum {
	if hex == "" {
		return nil
	}
	return []checksum{{"SHA256", hex}}
}

func purl(s string) []reference { return []reference{{"PACKAGE-MANAGER", "purl", s}} }

// idString keeps what an SPDX identifier may have.
func idString(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		}
		return '-'
	}, s)
}
