// Package assets holds the files that the programs carry with them: the default bundle spec and the keys of package
// archives.
package assets

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed bundle.yaml
var bundleSpec string

//go:embed os
var systems embed.FS

// osMark is the line of bundle.yaml in whose place the part of an operating system stands.
const osMark = "#@os\n"

// BundleSpec is the spec of the default cluster for nodes of an operating system: debian-12, openeuler-24.03.
func BundleSpec(system string) ([]byte, error) {
	part, err := fs.ReadFile(systems, "os/"+system+".yaml")
	if err != nil {
		return nil, err
	}
	return []byte(strings.Replace(bundleSpec, osMark, string(part), 1)), nil
}

// Systems are the operating systems that BundleSpec knows, sorted.
func Systems() []string { return names(systems, "os", ".yaml") }

// names are the files of a directory, sorted, without their ending.
func names(dir embed.FS, name, ending string) []string {
	list, err := dir.ReadDir(name)
	if err != nil {
		panic(err) // embedded: it is there
	}
	var out []string
	for _, e := range list {
		out = append(out, strings.TrimSuffix(e.Name(), ending))
	}
	return out
}

//go:embed mirrors
var mirrors embed.FS

// MirrorPreset is a list of public mirrors, one FROM=TO in a line: cn.
func MirrorPreset(name string) ([]byte, error) { return fs.ReadFile(mirrors, "mirrors/"+name+".txt") }

// MirrorPresets are the lists that there are, sorted.
func MirrorPresets() []string { return names(mirrors, "mirrors", ".txt") }

//go:embed examples
var examples embed.FS

// Example is a spec to be laid over the default one: docker, containerd-2.
func Example(name string) ([]byte, error) { return examples.ReadFile("examples/" + name + ".yaml") }

//go:embed keys
var keys embed.FS

// Keyring returns an embedded OpenPGP keyring by its file name.
func Keyring(name string) ([]byte, error) { return fs.ReadFile(keys, "keys/"+name) }

//go:embed demo/install.jsonl.gz
var demoRun []byte

// DemoRun is the event log, gzipped, of a real install on five machines: three control planes, a load balancer on one
// of two workers. The disk of the other worker fills up on the way, and the step that failed is retried. Directories,
// the host's name and addresses were replaced, notices of the lab's limits dropped, nothing else: test/e2e/cmd/story.
func DemoRun() []byte { return demoRun }
