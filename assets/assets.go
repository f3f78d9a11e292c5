// Package assets holds the files that the programs carry with them: the default bundle spec and the keys of package archives.
package assets

import (
	"embed"
	"io/fs"
)

// BundleSpec is the spec that eggo-bundle build uses when none is given.
//
//go:embed bundle.yaml
var BundleSpec []byte

//go:embed keys
var keys embed.FS

// Keyring returns an embedded OpenPGP keyring by its file name.
func Keyring(name string) ([]byte, error) { return fs.ReadFile(keys, "keys/"+name) }
