// Package bundle is the offline bundle: its spec, lock and manifest, how it is fetched and written, read and verified.
// The format is described in docs/bundle-format.md. Paths on a node (nodepath) and JSON Schemas (schema) are here too,
// because config and bundles share them.
//
// It may import run/event; build may also import assets, for the keys of the default spec. Start with manifest.go, then
// open.go, which reads a bundle, and build, which makes one.
package bundle
