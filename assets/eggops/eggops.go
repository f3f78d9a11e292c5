// Package eggops holds the manifests of the operator: definitions, rights, the Deployment, and the policies that refuse
// deletions.
package eggops

import (
	"embed"
	"io/fs"
)

//go:embed namespace.yaml manager.yaml rbac.yaml roles.yaml policies.yaml crds everywhere/secrets.yaml
var files embed.FS

// Files returns the manifests by their path beneath assets/eggops.
func Files() fs.FS { return files }
