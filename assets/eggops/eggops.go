// Package eggops holds the manifests of the operator: definitions, rights, and the policies that refuse deletions.
package eggops

import (
	"embed"
	"io/fs"
)

//go:embed namespace.yaml rbac.yaml roles.yaml policies.yaml crds everywhere/secrets.yaml
var files embed.FS

// Files returns the manifests by their path beneath assets/eggops.
func Files() fs.FS { return files }
