package sbom

import (
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// WriteProgram writes the document for a program that is written in Go: the modules that it is made of, as the linker
// noted them in it. version is the program's own.
func WriteProgram(w io.Writer, file, version string, created time.Time) error {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return err
	}
	sum, err := sumOf(file)
	if err != nil {
		return err
	}
	return program(info, filepath.Base(file), sum, version, created).write(w)
}

func program(info *debug.BuildInfo, name, sum, version string, created time.Time) *builder {
	d := &builder{ids: map[string]int{}, doc: document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name + "-" + version,
		Creation: creation{created.UTC().Format("2006-01-02T15:04:05Z"), []string{"Tool: eggo"}},
	}}
	d.root = d.add(pkg{
		Name: name, VersionInfo: version, File: name, Purpose: "APPLICATION", Sums: sums(sum),
		Refs: purl(moduleURL(info.Path, version)),
	}, "program", name)
	d.relate(d.doc.ID, "DESCRIBES", d.root)
	toolchain := strings.TrimPrefix(info.GoVersion, "go")
	d.module("stdlib", toolchain, "the standard library of Go")
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		d.module(m.Path, m.Version, comment(m))
	}
	return d
}

// comment has the sum of go.sum: it is over a module's files together, so it is none of the checksums that SPDX knows.
func comment(m *debug.Module) string {
	if m.Sum == "" {
		return ""
	}
	return "go.sum: " + m.Sum
}

func (d *builder) module(path, version, comment string) {
	id := d.add(pkg{
		Name: path, VersionInfo: version, Purpose: "LIBRARY", Comment: comment, Refs: purl(moduleURL(path, version)),
	}, "module", path, version)
	d.relate(d.root, "DEPENDS_ON", id)
}

// moduleURL is pkg:golang/NAMESPACE/NAME@VERSION; each segment of the path is escaped by itself.
func moduleURL(path, version string) string {
	var parts []string
	for p := range strings.SplitSeq(path, "/") {
		parts = append(parts, escape(p))
	}
	return "pkg:golang/" + strings.Join(parts, "/") + "@" + escape(version)
}

func sumOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}
