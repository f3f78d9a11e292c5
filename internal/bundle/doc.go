// Package bundle is the offline bundle: its spec, lock and manifest, how it is fetched and written, read and verified.
// The format is described in docs/bundle-format.md. Paths on a node (nodepath) and JSON Schemas (schema) are here too,
// because config and bundles share them.
//
// It may import run/event. Begin with manifest.go, then open.go for how a bundle is read and build for how one is made.
package bundle
