package deb

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// MetaOf returns a package's stanza as it is in the Packages file of a flat repository (files at its root) in which the
// package's file is called member: all fields of its repository's stanza in their order, except Filename, which is "./"
// and member, and Phased-Update-Percentage, by which apt would not install an update on most machines: what is in a
// bundle was chosen already. The last line has its newline; there is no empty line after it. Control characters, what
// is not UTF-8, and a field's second occurrence are dropped.
func MetaOf(p *Package, member string) string { return metaOf(p, member, false) }

func metaOf(p *Package, member string, phased bool) string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, f := range p.Stanza {
		lower := strings.ToLower(f.Name)
		if seen[lower] || !validField(f.Name) || !phased && lower == "phased-update-percentage" {
			continue
		}
		seen[lower] = true
		if f.Value = cleanValue(f.Value); lower == "filename" {
			f.Value = "./" + member
		}
		f.writeTo(&b)
	}
	return b.String()
}

// validField is policy's rule for names of fields.
func validField(n string) bool {
	for i := 0; i < len(n); i++ {
		if n[i] <= ' ' || n[i] > '~' || n[i] == ':' {
			return false
		}
	}
	return n != "" && n[0] != '#' && n[0] != '-'
}

func control(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 }

// cleanValue drops what may not stand in a value, and lines that would be empty without it.
func cleanValue(v string) string {
	if utf8.ValidString(v) && !strings.ContainsFunc(v, control) {
		return v
	}
	v = strings.Map(func(r rune) rune {
		if control(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(v, "\uFFFD"))
	first, rest, more := strings.Cut(v, "\n")
	v = strings.TrimSpace(first)
	for more {
		var line string
		line, rest, more = strings.Cut(rest, "\n")
		if strings.TrimSpace(line) != "" {
			v += "\n" + line
		}
	}
	return v
}

// maxMetas bounds the whole of a bundle's metadata, in bytes.
const maxMetas = 256 << 20

// PackagesFromMetas makes the Packages file of a flat repository, which apt reads, of what MetaOf returned, in this
// release or an earlier one, which kept Phased-Update-Percentage. The metas may come from anywhere: each must be
// exactly one stanza, with each field once and no control characters, whole, for a file at the root, and no two for the
// same file. Fault "deb.meta".
func PackagesFromMetas(metas []string) ([]byte, error) {
	var out bytes.Buffer
	files := map[string]bool{}
	for _, m := range metas {
		p, err := parseMeta(m)
		if err == nil && files[p.Filename] {
			err = fmt.Errorf("a second one for %s", p.Filename)
		}
		if err == nil && out.Len()+len(m) > maxMetas {
			err = fmt.Errorf("more than %d bytes", maxMetas)
		}
		if err != nil {
			return nil, event.NewFault(event.ClassFailed, "deb.meta", err)
		}
		files[p.Filename] = true
		out.WriteString(MetaOf(p, strings.TrimPrefix(p.Filename, "./")) + "\n")
	}
	return out.Bytes(), nil
}

// CheckMeta holds a meta against what else is known of the file: its name in the bundle, its sum and its size in bytes.
// It returns the package, whose architecture the caller knows to expect or not. Fault "deb.meta".
func CheckMeta(meta, member, sha256 string, size int64) (*Package, error) {
	p, err := parseMeta(meta)
	switch {
	case err != nil:
	case p.Filename != "./"+member:
		err = fmt.Errorf("Filename %q is not %q", p.Filename, "./"+member)
	case p.SHA256 != sha256 || p.Size != size:
		err = fmt.Errorf("%s: another sum or size", p)
	}
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "deb.meta", err)
	}
	return p, nil
}

func parseMeta(m string) (*Package, error) {
	if err := checkMeta(m); err != nil {
		return nil, err
	}
	var s Stanza
	err := ReadStanzas(strings.NewReader(m), func(t Stanza) error {
		if s != nil {
			return errors.New("two paragraphs")
		}
		s = t
		return nil
	})
	if err != nil {
		return nil, err
	}
	p, err := parsePackage(s, s.Get("Architecture"))
	if err != nil {
		return nil, err
	}
	file, ok := strings.CutPrefix(p.Filename, "./")
	if !ok || strings.ContainsAny(file, "/:%") {
		return nil, fmt.Errorf("Filename %q", p.Filename)
	}
	if metaOf(p, file, true) != m {
		return nil, fmt.Errorf("package %s: not as it is written", p.Name)
	}
	return p, nil
}

// checkMeta refuses what could be read as more or as something else than one stanza.
func checkMeta(m string) error {
	switch {
	case len(m) > maxEntry+maxLine:
		return fmt.Errorf("more than %d bytes", maxEntry)
	case !strings.HasSuffix(m, "\n"):
		return errors.New("no newline at the end")
	case !utf8.ValidString(m):
		return errors.New("not UTF-8")
	case strings.ContainsFunc(m, control):
		return errors.New("a control character")
	}
	seen := map[string]bool{}
	for line := range strings.SplitSeq(strings.TrimSuffix(m, "\n"), "\n") {
		name, _, ok := strings.Cut(line, ":")
		switch {
		case strings.TrimSpace(line) == "":
			return errors.New("an empty line")
		case line[0] == ' ' || line[0] == '\t':
		case !ok || !validField(name):
			return fmt.Errorf("line %.40q", line)
		case seen[strings.ToLower(name)]:
			return fmt.Errorf("a second field %.40q", name)
		default:
			seen[strings.ToLower(name)] = true
		}
	}
	return nil
}

// redacted is a URL without its password.
func redacted(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "?"
	}
	return u.Redacted()
}
