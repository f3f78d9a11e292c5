// Package pod describes the pod of a run: where it finds logins, bundles and state, and the Job that makes it. The
// controllers make the objects, the program of the pod reads the same paths. Begin reading at Run.
package pod

import (
	"path"
	"strings"

	eggov1 "github.com/eggo-k8s/eggo/api/v1"
)

// Directories of the pod.
const (
	// StateDir is in memory; the runner fills it from the Secrets with the state.
	StateDir = "/var/lib/eggo"
	// BundlesDir has the bundles: claims are mounted below it, others are fetched there.
	BundlesDir = "/bundles"
	// StageDir has the unpacked bundles, on disk.
	StageDir = BundlesDir + "/stage"
	// SnapshotsDir is the claim for snapshots of etcd; missing: there is none.
	SnapshotsDir = "/snapshots"
	// BackupsDir is the claim for backups; missing: there is none.
	BackupsDir = "/backups"
	// PullDir has a directory for each Secret with a login for a registry or a server of bundles.
	PullDir = "/etc/eggo/pull"
	// SignersFile has the keys that bundles have to be signed with; missing: any bundle will do.
	SignersFile = signersDir + "/" + eggov1.SignersKey

	signersDir = "/etc/eggo/signers"
	tempDir    = "/tmp"
)

// InputPod is the key of an InputSecret with an Input as JSON.
const InputPod = "pod.json"

// Input names what a pod needs beside its request.
type Input struct {
	// Bundles are those that the deploy.yaml and the request name.
	Bundles []Source `json:"bundles,omitempty"`
	// Logins are the names of the Secrets that the deploy.yaml names files of.
	Logins []string `json:"logins,omitempty"`
	// Signers is the name of the ConfigMap with the keys that bundles have to be signed with; "" for none.
	Signers string `json:"signers,omitempty"`
}

// Source is a bundle. Exactly one of Claim, Image and URL is set; the runner fetches the latter two.
type Source struct {
	Path   string `json:"path"`            // in the pod, as deploy.yaml names it
	Claim  string `json:"claim,omitempty"` // that it is in
	Image  string `json:"image,omitempty"`
	URL    string `json:"url,omitempty"`
	SHA256 string `json:"sha256,omitempty"` // of the file behind URL, hexadecimal
	// PullSecret is the name of a directory of PullDir; "" for none.
	PullSecret string `json:"pullSecret,omitempty"`
	// Size in bytes; 0: it is not known.
	Size int64 `json:"size,omitempty"`
}

// BundlePath returns the file of a bundle in the pod. It contains the digest of what is fetched, so that the saved
// deploy.yaml names one file for ever.
func BundlePath(b eggov1.BundleSource) string {
	switch {
	case b.Claim != nil:
		return path.Join(BundlesDir, "claim", b.Claim.Name, b.Claim.Path)
	case b.Image != "":
		_, digest, _ := strings.Cut(b.Image, "@sha256:")
		return path.Join(BundlesDir, "oci", "sha256-"+digest, "bundle.tar.gz")
	}
	return path.Join(BundlesDir, "url", b.SHA256, "bundle.tar.gz")
}

// SourceOf returns a bundle as a pod gets it.
func SourceOf(b eggov1.BundleSource) Source {
	s := Source{Path: BundlePath(b), Image: b.Image, URL: b.URL, SHA256: b.SHA256}
	if b.Claim != nil {
		s.Claim = b.Claim.Name
	}
	if b.PullSecretRef != nil {
		s.PullSecret = b.PullSecretRef.Name
	}
	return s
}
