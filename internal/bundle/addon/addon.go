// Package addon knows what is applied to a cluster beside Kubernetes itself: which images manifests name, which ones a
// version of Kubernetes needs, how a Helm chart becomes a manifest, what of a directory is taken. It fetches nothing
// and changes no manifest that it is given.
//
// Images are found by what Kubernetes' API says of pods
// (https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/), in whatever object a pod's template
// stands; by hints, which say where custom resources and ConfigMaps carry them; and by guessing from arguments and
// environment variables. Names are compared as containerd and docker read them (github.com/distribution/reference).
//
// Helm's libraries write warnings about odd values with the standard log package; the program decides where that goes.
package addon

import (
	"strconv"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Bounds of what comes from outside.
const (
	maxManifest = 64 << 20 // bytes of a manifest, a rendered chart, all files of a directory
	maxMarks    = 1 << 20  // signs of YAML that begin a node; a node takes some 200 bytes of memory
	maxDepth    = 100      // of nested maps and lists
	maxSteps    = 4 << 20  // nodes read in one manifest, an alias each time
	maxFound    = 20_000   // images in one manifest
	maxPath     = 1024     // bytes of a path shown; longer ones are cut
	maxFiles    = 10_000   // of a chart or a directory
)

func fault(code string, err error, kv ...string) *event.Fault {
	return event.NewFault(event.ClassFailed, code, err, kv...)
}

func mib(n int64) string { return strconv.FormatInt(n>>20, 10) + " MiB" }
